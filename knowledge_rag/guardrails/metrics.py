"""Figures of one verified answer, and of many."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knowledge_rag.guardrails.draft import Draft, Kind, Warned


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one answer.

    Args:
        words: in the answer that may be shown, references not counted.
        references: that stayed.
        removed: references to what retrieval did not return.
        sources: that retrieval returned.
        sources_cited: how many of them the answer cites.
        warnings: how many of each kind; kinds without one are absent.
    """

    words: int
    references: int
    removed: int
    sources: int
    sources_cited: int
    warnings: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def density(self) -> float:
        """References per 100 words; 0.0 without words."""
        return 100 * self.references / self.words if self.words else 0.0

    @property
    def coverage(self) -> float:
        """Share of the sources that are cited, 0..1; 0.0 without sources."""
        return self.sources_cited / self.sources if self.sources else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of many answers.

    Args:
        answers: how many.
        citation_rate: share of those with sources that cite any, 0..1.
        density: mean references per 100 words.
        coverage: mean share of the sources cited, over answers with sources.
        removed: references taken out, in all.
        warning_rate: share of answers with a warning, 0..1.
        warnings: how many of each kind, in all.
    """

    answers: int
    citation_rate: float
    density: float
    coverage: float
    removed: int
    warning_rate: float
    warnings: Mapping[Kind, int]


def measure(draft: Draft, warnings: Iterable[Warned], cited: set[int]) -> Metrics:
    """Give the figures of one answer.

    Args:
        draft: the answer.
        warnings: of all checks.
        cited: the numbers of the ledger's entries that it cites.
    """
    kinds = Counter(warned.kind for warned in warnings)
    return Metrics(
        words=draft.words,
        references=len(draft.references),
        removed=len(draft.removed),
        sources=draft.sources,
        sources_cited=len(cited),
        warnings=dict(sorted(kinds.items())),
    )


def summarise(metrics: Sequence[Metrics]) -> Summary:
    """Give the figures of many answers; shares of nothing are 0.0."""
    sourced = [one for one in metrics if one.sources]
    warnings: Counter[Kind] = Counter()
    for one in metrics:
        warnings.update(one.warnings)
    return Summary(
        answers=len(metrics),
        citation_rate=_mean([float(one.references > 0) for one in sourced]),
        density=_mean([one.density for one in metrics]),
        coverage=_mean([one.coverage for one in sourced]),
        removed=sum(one.removed for one in metrics),
        warning_rate=_mean([float(bool(one.warnings)) for one in metrics]),
        warnings=dict(sorted(warnings.items())),
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
