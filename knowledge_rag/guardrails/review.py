"""Reviews an answer: verifies it, judges each claim and lists all findings; also the review's JSON."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.guardrails.backing import judge
from knowledge_rag.guardrails.resolve import why_removed
from knowledge_rag.guardrails.rules import Finding, Kind, Level, Rule, in_order, log_findings
from knowledge_rag.guardrails.support.report import Change, WarningKind, described, line_ranges
from knowledge_rag.guardrails.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.guardrails.backing import Backing, Judged, Missing, Place
    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.ledger import Cited, Ledger
    from knowledge_rag.guardrails.resolve import Taken
    from knowledge_rag.guardrails.support.report import SupportWarning
    from knowledge_rag.guardrails.verify import Settings, Verified

_NOTHING: Final = re.compile(
    r"\b(?:no documented guidance|nothing (?:is )?documented)\b", re.IGNORECASE
)
_MOST_WORDS: Final = 8
"""Maximum number of a claim's missing words that a message names."""


def _false_no_match(answer: str, failed: Sequence[Reason]) -> Iterator[Finding]:
    """Find the claim that nothing is documented, if a search failed."""
    found = _NOTHING.search(answer)
    if failed and found:
        why = ", ".join(dict.fromkeys(failed))
        message = f"The knowledge base could not be searched ({why}), so it may document this."
        yield Finding(Rule.FALSE_NO_MATCH, message, *found.span())


def _wording(verified: Verified) -> Iterator[Finding]:
    for warned in verified.warnings:
        if warned.kind is not Kind.NON_EXISTENT_SOURCE:  # those are the removed references
            rule = Rule[warned.kind.name]
            yield Finding(rule, warned.message, warned.start, warned.end)


def _unbacked(backing: Backing) -> Iterator[Finding]:
    for judged in backing.claims:
        for missing in judged.missing:
            yield Finding(Rule.UNSUPPORTED_DETAIL, _detail(missing, judged), *missing.span)
        yield from _changed(judged)
        start, end = judged.claim.spans[0]
        if not judged.covered and not judged.missing:
            yield Finding(Rule.UNSUPPORTED_CLAIM, _wanting(judged), start, end)
        elif judged.doubted and judged.supported:
            yield Finding(Rule.DOUBTFUL_CLAIM, _doubtful(judged), start, end)
        if judged.report.language:
            message = (
                "not in English: only commands, names and numbers were looked for, not its words"
            )
            yield Finding(Rule.UNCHECKED_LANGUAGE, message, start, end)
        flipped = any(it.change is Change.NEGATION for it in judged.report.contradictions)
        for warning in judged.report.warnings:
            if flipped and warning.kind is WarningKind.NEGATION:
                continue  # it is reported as an error
            start, end = (judged.claim.position(at) for at in (warning.start, warning.end))
            yield Finding(_RULE_OF[warning.kind], _warned(warning, judged), start, end)


def _changed(judged: Judged) -> Iterator[Finding]:
    lost = [(it.atom.start, it.atom.end) for it in judged.missing]
    for found in judged.report.contradictions:
        if any(found.start < end and start < found.end for start, end in lost):
            continue  # it is reported as a missing detail
        rule = _RULE_OF_CHANGE[found.change] if found.certain else Rule.CHANGED_SENTENCE
        where = "" if found.change is Change.DANGER else f" ({places([judged.lines[found.line]])})"
        start, end = (judged.claim.position(at) for at in (found.start, found.end))
        yield Finding(rule, described(found, judged.claim.said) + where, start, end)


def _doubtful(judged: Judged) -> str:
    words = judged.report.missing_words
    lacks = f"; not there: {', '.join(words[:_MOST_WORDS])}" if words else ""
    return f"{judged.doubt:.0%} likely that {places(judged.lines)} doesn't support this{lacks}"


def _uncited(verified: Verified, backing: Backing) -> Iterator[Finding]:
    for start, end in backing.uncited_code:
        yield Finding(Rule.UNCITED_CODE, "No citation backs this code.", start, end)
    for start, end in backing.uncited_commands:
        message = (
            f"No citation backs {verified.text[start:end]}, and no retrieved line contains it."
        )
        yield Finding(Rule.UNCITED_COMMAND, message, start, end)


def _detail(missing: Missing, judged: Judged) -> str:
    atom = missing.atom
    found = f"; it is in {places(missing.elsewhere)}" if missing.elsewhere else ""
    return f"{atom.kind} {atom.text} is not in {places(judged.lines)}{found}"


def _wanting(judged: Judged) -> str:
    words = judged.report.missing_words
    more = ", ..." if len(words) > _MOST_WORDS else ""
    return f"not in {places(judged.lines)}: {', '.join(words[:_MOST_WORDS])}{more}"


def _warned(warning: SupportWarning, judged: Judged) -> str:
    where = places([judged.lines[warning.line]])
    if warning.kind is WarningKind.NEGATION:
        return f'"{warning.text}" is denied here or in {where}, and not in both'
    return f"{warning.text} fills in what {where} leaves open"


_RULE_OF_CHANGE: Final = {
    Change.NEGATION: Rule.FLIPPED_NEGATION,
    Change.CONDITION: Rule.DROPPED_CONDITION,
    Change.OPPOSITE: Rule.OPPOSITE_WORD,
    Change.VALUE: Rule.EXCHANGED_VALUE,
    Change.ORDER: Rule.REVERSED_ORDER,
    Change.CLAUSE: Rule.ADDED_CLAUSE,
    Change.DANGER: Rule.UNSUPPORTED_DANGER,
}
_RULE_OF: Final = {
    WarningKind.NEGATION: Rule.NEGATION,
    WarningKind.FILLED_PLACEHOLDER: Rule.FILLED_PLACEHOLDER,
}


def places(lines: Iterable[Place]) -> str:
    """Return lines in words, grouped by file; the lines of one file must be next to each other."""
    named = []
    for source_file, some in groupby(lines, key=lambda place: place.source_file):
        numbers = sorted(place.line for place in some)
        plural = "s" if len(numbers) > 1 else ""
        named.append(f"{source_file}, line{plural} {line_ranges(numbers)}")
    return "; ".join(named)


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewed answer.

    Args:
        answer: as written.
        ledger: the evidence that it was compared with.
        verified: the text that may be shown, its citations and figures.
        backing: its claims, and whether the cited lines back them.
        findings: all problems, in the order of the answer as written.
    """

    answer: str
    ledger: Ledger
    verified: Verified
    backing: Backing
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings because of which the answer must not be relied on as it is."""
        return tuple(one for one in self.findings if one.rule.level is Level.ERROR)


def review(
    answer: str,
    ledger: Ledger,
    settings: Settings | None = None,
    *,
    failed: Sequence[Reason] = (),
) -> Review:
    """Review an answer against the evidence of its request, and log each finding, without text.

    Args:
        answer: as written.
        ledger: everything that retrieval returned for this request.
        settings: for verifying it.
        failed: why searches of this request failed, if any did.
    """
    verified = verify(answer, ledger, settings)
    backing = judge(verified, ledger)
    found = [
        Finding(Rule.UNRESOLVED_REFERENCE, why_removed(taken, ledger), taken.start, taken.end)
        for taken in verified.removed
    ]
    positions = Positions(verified.removed)
    for shown in (*_wording(verified), *_unbacked(backing), *_uncited(verified, backing)):
        start, end = positions.written((shown.start, shown.end))
        found.append(Finding(shown.rule, shown.message, start, end))
    findings = in_order((*found, *_false_no_match(answer, failed)))
    log_findings(findings)
    return Review(answer, ledger, verified, backing, findings)


class Positions:
    """Maps offsets in the answer that may be shown to offsets in the answer as written.

    Args:
        removed: the removed references, in the order of the text.
    """

    def __init__(self, removed: Iterable[Taken]) -> None:
        self._starts: list[int] = []  # of each mark, in the answer that may be shown
        self._ends: list[int] = []
        self._shifts = [0]  # before the first mark, then after each
        for taken in removed:
            self._starts.append(taken.start - self._shifts[-1])
            self._ends.append(self._starts[-1] + len(taken.mark))
            self._shifts.append(self._shifts[-1] + taken.end - taken.start - len(taken.mark))

    def written(self, span: Span) -> Span:
        """Return the span of the written answer for a span of the shown one.

        It excludes text removed at its edges; an empty span stays empty.
        """
        start, end = span
        first = start + self._shifts[bisect_right(self._ends, start)]
        if start == end:
            return first, first
        return first, max(first, end + self._shifts[bisect_left(self._starts, end)])


class TextPositions:
    r"""Lines and columns of offsets in a text, both counted from 1; lines end at ``\n`` only."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        while (end := text.find("\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, in characters, of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def position(self, start: int, end: int) -> dict[str, int]:
        """Return the JSON form of a span: offsets, and line and column of its first character."""
        line, column = self.line_and_column(start)
        return {"start": start, "end": end, "line": line, "column": column}


def review_json(review: Review) -> dict[str, Any]:
    """Return the JSON form.

    Returns:
        ``text`` (the answer that may be shown), ``citations`` (positions in ``text``), ``removed``
        and ``warnings`` (positions in the answer as written; ``level`` is error or warning),
        ``claims`` and ``metrics``.
    """
    shown, written = TextPositions(review.verified.text), TextPositions(review.answer)
    return {
        "text": review.verified.text,
        "citations": [_citation(one, shown) for one in review.verified.citations],
        "removed": list(_removed(review, written)),
        "warnings": [
            _finding_json(one, written)
            for one in review.findings
            if one.rule is not Rule.UNRESOLVED_REFERENCE
        ],
        "claims": [_claim(one) for one in review.backing.claims],
        "metrics": _metrics(review),
    }


def _removed(review: Review, positions: TextPositions) -> Iterator[dict[str, Any]]:
    # both are in the order of the text
    findings = (one for one in review.findings if one.rule is Rule.UNRESOLVED_REFERENCE)
    for taken, finding in zip(review.verified.removed, findings, strict=True):
        yield {
            "reference": taken.text,
            "reason": taken.why.value,
            "message": finding.message,
            "position": positions.position(taken.start, taken.end),
        }


def _citation(cited: Cited, positions: TextPositions) -> dict[str, Any]:
    return {
        **cited.citation.to_dict(),
        "number": cited.number,
        "position": positions.position(cited.start, cited.end),
    }


def _finding_json(finding: Finding, positions: TextPositions) -> dict[str, Any]:
    return {
        "kind": finding.rule.value,
        "level": finding.rule.level.value,
        "message": finding.message,
        "position": positions.position(finding.start, finding.end),
    }


def _claim(judged: Judged) -> dict[str, Any]:
    coverage = judged.report.coverage
    return {
        "text": judged.claim.said.strip(),
        "citations": [one.citation.to_dict() for one in judged.claim.citations],
        "supported": judged.supported,
        "coverage": None if coverage is None else round(coverage, 3),
        "missing": [
            {
                "kind": missing.atom.kind.value,
                "text": missing.atom.text,
                "elsewhere": [place._asdict() for place in missing.elsewhere],
            }
            for missing in judged.missing
        ],
        "missing_words": list(judged.report.missing_words),
        "changes": [
            {
                "kind": found.change.value,
                "text": judged.claim.said[found.start : found.end],
                "lines_say": found.lines_say,
                "certain": found.certain,
            }
            for found in judged.report.contradictions
        ],
        "doubt": None if judged.report.doubt is None else round(judged.doubt, 3),
        "checked": judged.checked,
    }


def _metrics(review: Review) -> dict[str, Any]:
    metrics = review.verified.metrics
    claims = review.backing.claims
    kinds = Counter(one.rule.value for one in review.findings)
    return {
        "words": metrics.words,
        "references": metrics.references,
        "invalid_references": metrics.removed,
        "cited": metrics.references > 0,
        "density": round(metrics.density, 2),
        "sources": metrics.sources,
        "sources_cited": metrics.sources_cited,
        "source_coverage": round(metrics.coverage, 3),
        "claims": len(claims),
        "claims_supported": sum(one.supported for one in claims),
        "errors": len(review.errors),
        "warnings": len(review.findings) - len(review.errors),
        "by_kind": dict(sorted(kinds.items())),
    }
