"""Compares a pasted or stored answer with its evidence, for a page that shows each claim in its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.documents import citation_url, result_of, stale_at_a_glance
from knowledge_rag.core.errors import UnreadableResponse
from knowledge_rag.guardrails.evidence_file import EvidenceFile, decoded_evidence, read_evidence
from knowledge_rag.guardrails.ledger import Ledger, Passage
from knowledge_rag.guardrails.review import Positions, places, review, review_json
from knowledge_rag.guardrails.rules import Level, Rule
from knowledge_rag.guardrails.staleness import CitedLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from knowledge_rag.guardrails.backing import Judged
    from knowledge_rag.guardrails.ledger import Cited
    from knowledge_rag.guardrails.review import Review
    from knowledge_rag.guardrails.rules import Finding
    from knowledge_rag.guardrails.staleness import Corpus


def pasted_evidence(text: str) -> EvidenceFile:
    """Read evidence as ``verify --evidence`` does.

    Raises:
        Refused: it isn't JSON, or has no evidence.
    """
    try:
        return read_evidence(decoded_evidence(text))
    except UnreadableResponse as error:
        raise Refused(400, f"evidence: {error}") from error


def evidence_of_cards(cards: Iterable[Mapping[str, Any]]) -> EvidenceFile:
    """Return the evidence that an answer of this console was written from."""
    return EvidenceFile(tuple(Passage(result_of(card), proven=True) for card in cards))


def verification(
    answer: str, evidence: EvidenceFile, corpus: Corpus | None, exists: Callable[[str], bool]
) -> dict[str, Any]:
    """Return the JSON form of a verified answer.

    An empty ``answer`` takes the one in the evidence. ``exists`` says whether the console has a document at a path, and
    so a page that shows it.

    Returns:
        ``pieces`` (the answer as written, split where a claim or a finding begins or ends), ``claims`` (pieces refer to
        them by number), ``passages`` (the cited lines), ``findings`` outside claims, ``evidence``, and ``verified`` and
        ``metrics`` as in ``knowledge-rag verify --json``.

    Raises:
        Refused: there is no answer.
    """
    text = answer or evidence.answer
    if not any(map(str.isalnum, text)):
        raise Refused(400, "there is no answer: paste one, or evidence that has it")
    ledger = Ledger.of([one.result for one in evidence.passages])
    reviewed = review(text, ledger, failed=evidence.reasons)
    page = _Page(reviewed)
    claims = [page.claim(judged) for judged in reviewed.backing.claims]
    told = review_json(reviewed)
    return {
        "pieces": list(page.pieces()),
        "claims": claims,
        "passages": _passages(page.cited, reviewed, corpus, exists),
        "findings": [_finding(one) for one in page.others],
        "evidence": {
            "passages": len(evidence.passages),
            "proven": sum(one.proven for one in evidence.passages),
            "dropped": sum(evidence.dropped.values()),
            "degraded": [reason.value for reason in evidence.reasons],
        },
        "verified": not reviewed.errors,
        "metrics": told["metrics"],
    }


@dataclass(slots=True)
class _Page:
    """An answer, with the claim and the reference or most severe finding of each character.

    ``cited`` are the distinct citations of its claims, in order, ``others`` the findings outside claims.
    """

    review: Review
    cited: dict[tuple[str, int, int], Cited] = field(default_factory=dict)
    others: list[Finding] = field(default_factory=list)
    _claim_at: list[int] = field(init=False)
    _mark_at: list[str] = field(init=False)
    _findings: dict[int, list[Finding]] = field(default_factory=dict)
    _next: int = 0

    def __post_init__(self) -> None:
        length = len(self.review.answer)
        self._claim_at, self._mark_at = [-1] * length, [""] * length
        positions = Positions(self.review.verified.removed)
        whole = set()
        for number, judged in enumerate(self.review.backing.claims):
            for span in judged.claim.spans:
                start, end = positions.written(span)
                whole.add((start, end))
                self._claim_at[start:end] = [number] * (end - start)
        for cited in self.review.verified.citations:
            start, end = positions.written((cited.start, cited.end))
            self._mark_at[start:end] = ["reference"] * (end - start)
        for found in sorted(self.review.findings, key=lambda one: one.rule.level is Level.ERROR):
            span = found.start, found.end
            own = self._claim_at[found.start] if found.start < length else -1
            self._findings.setdefault(own, []).append(found)
            if span not in whole:  # a finding on a whole claim is the claim's state
                mark = "removed" if found.rule is Rule.UNRESOLVED_REFERENCE else found.rule.level
                self._mark_at[found.start : found.end] = [str(mark)] * (found.end - found.start)
        self.others = self._findings.get(-1, [])

    def pieces(self) -> Iterator[dict[str, Any]]:
        """Yield the answer in pieces with one claim and one mark each."""
        at = 0
        known = zip(self._claim_at, self._mark_at, strict=True)
        for (claim, mark), same in groupby(known):
            end = at + sum(1 for _ in same)
            piece: dict[str, Any] = {"text": self.review.answer[at:end]}
            yield (
                piece | ({"claim": claim} if claim >= 0 else {}) | ({"mark": mark} if mark else {})
            )
            at = end

    def claim(self, judged: Judged) -> dict[str, Any]:
        """Return the JSON form of the next claim."""
        findings = self._findings.get(self._next, [])
        self._next += 1
        levels = {one.rule.level for one in findings}
        graver = Level.ERROR if Level.ERROR in levels or not judged.supported else Level.WARNING
        for one in judged.claim.citations:
            self.cited.setdefault(_key(one), one)
        numbers = list(self.cited)
        holding = {judged.lines[one.line] for one in judged.report.atoms if one.line is not None}
        return {
            "state": graver.value if levels or not judged.supported else "ok",
            "where": places(judged.lines),
            "checked": judged.checked,
            "passages": [
                {"passage": numbers.index(_key(one)), "lines": sorted(_within(one, holding))}
                for one in judged.claim.citations
            ],
            "atoms": [
                {
                    "kind": one.kind.value,
                    "text": one.text,
                    "where": None if one.line is None else places([judged.lines[one.line]]),
                }
                for one in judged.report.atoms
            ],
            "findings": [_finding(one) for one in findings],
        }


def _within(cited: Cited, holding: Iterable[Any]) -> Iterator[int]:
    """Yield the lines of a citation that have a detail of the claim."""
    where = cited.citation
    for place in holding:
        if place.source_file == where.source_file and (
            where.start_line <= place.line <= where.end_line
        ):
            yield place.line


def _key(cited: Cited) -> tuple[str, int, int]:
    return cited.citation.source_file, cited.citation.start_line, cited.citation.end_line


def _finding(found: Finding) -> dict[str, str]:
    return {"kind": found.rule.value, "level": found.rule.level.value, "message": found.message}


def _passages(
    cited: Mapping[Any, Cited],
    reviewed: Review,
    corpus: Corpus | None,
    exists: Callable[[str], bool],
) -> list[dict[str, Any]]:
    """Return the cited lines, each with its page and current state."""
    lines = [CitedLines.part(one, reviewed.ledger) for one in cited.values()]
    files = {one.citation.source_file for one in lines}
    known = {file for file in files if exists(file)}
    return [
        {
            "source": one.citation.source_file,
            "start": one.citation.start_line,
            "end": one.citation.end_line,
            "content": one.content,
        }
        | ({"url": citation_url(one.citation)} if one.citation.source_file in known else {})
        | ({"stale": stale["message"]} if stale else {})
        for one, stale in zip(lines, stale_at_a_glance(lines, corpus), strict=True)
    ]
