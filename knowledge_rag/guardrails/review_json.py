"""A review as JSON: what ``knowledge-rag verify --json`` prints and tools return."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

from knowledge_rag.guardrails.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.backing import Judged
    from knowledge_rag.guardrails.review import Review
    from knowledge_rag.guardrails.rules import Finding
    from knowledge_rag.guardrails.verify import Cited


class TextPositions:
    r"""Lines and columns of offsets in a text; lines are what ``\n`` ends, both count from 1."""

    def __init__(self, text: str) -> None:
        self._starts = [0]
        while (end := text.find("\n", self._starts[-1])) >= 0:
            self._starts.append(end + 1)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return line and column (in characters) of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def position(self, start: int, end: int) -> dict[str, int]:
        """Return the JSON form of a span: offsets, and line and column of its first character."""
        line, column = self.line_and_column(start)
        return {"start": start, "end": end, "line": line, "column": column}


def review_json(review: Review) -> dict[str, Any]:
    """Return the JSON form.

    Returns:
        ``text`` (what may be shown), ``citations`` (positions in ``text``), ``removed`` and
        ``warnings`` (positions in the answer as written; ``level`` is error or warning),
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
    """Return the removed references; the findings about it stand in the same order."""
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
    """Return the JSON form of a finding, at its place in the answer as written."""
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
                "elsewhere": [
                    {"source_file": place.source_file, "line": place.line}
                    for place in missing.elsewhere
                ],
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
    kinds: dict[str, int] = {}
    for one in review.findings:
        kinds[one.rule.value] = kinds.get(one.rule.value, 0) + 1
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
