"""Selects evidence from returned items: each is proven and kept, or dropped and counted by reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.metadata import finite_score, prove
from knowledge_rag.core.outcome import (
    MAX_NEAREST,
    DropReason,
    Reason,
    RetrievalOutcome,
    RetrievalResult,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.net.deadline import Deadline


class Selection:
    """Proves items one by one, keeps those that are proven, and counts the others by reason.

    Args:
        evidence_floor: lowest score that counts as evidence; an absent score always counts.
        deadline: checked before each item, if given.

    Attributes:
        kept: the results by their lines, in order of arrival.
        items: the items of these results, in the same order.
    """

    def __init__(
        self, evidence_floor: float | None = None, deadline: Deadline | None = None
    ) -> None:
        self.evidence_floor = evidence_floor
        self._deadline = deadline
        self._dropped: Counter[DropReason] = Counter()
        self._looked_at = 0
        self._doubtful = False
        self.kept: dict[tuple[str, int, int], RetrievalResult] = {}
        self.items: list[Any] = []
        self._nearest: list[RetrievalResult] = []

    def take(self, items: Sequence[Any], *, most: int, first: int) -> None:
        """Prove up to ``first`` items, until ``most`` results are kept in all.

        Items are the service's, of any type, or results and drop reasons that are known already.

        Raises:
            DeadlineExceeded: the deadline passed before the last item.
        """
        for index, item in enumerate(items):
            if len(self.kept) == most or index == first:
                self._dropped[DropReason.OVER_LIMIT] += len(items) - index
                break
            if self._deadline is not None:
                self._deadline.remaining()
            self._look_at(item)
        self._looked_at += len(items)

    def _look_at(self, item: object) -> None:
        below = is_below(item, self.evidence_floor)
        proven = item if isinstance(item, RetrievalResult | DropReason) else _prove(item)
        if isinstance(proven, RetrievalResult):
            reason = self._leave(proven) if below else self._keep(proven)
        else:
            reason = proven
            self._doubtful |= not below and proven is not DropReason.BELOW_FLOOR
        if reason is None:
            self.items.append(item)
        else:
            self._dropped[reason] += 1

    def _keep(self, result: RetrievalResult) -> DropReason | None:
        cited = result.citation
        lines = (cited.source_file, cited.start_line, cited.end_line)
        if lines in self.kept:
            return DropReason.DUPLICATE
        self.kept[lines] = result
        return None

    def _leave(self, result: RetrievalResult) -> DropReason:
        if len(self._nearest) < MAX_NEAREST:
            self._nearest.append(result)
        return DropReason.BELOW_FLOOR

    def outcome(
        self, results: tuple[RetrievalResult, ...] | None = None, notice: str | None = None
    ) -> RetrievalOutcome:
        """Return the outcome with the kept results, or some of them in the given order.

        Without results it is ``no_match`` only if all dropped items scored below the floor: an item at
        or above it that can't be proven might have been the answer.
        """
        if results is None:
            results = tuple(self.kept.values())
        dropped = Counter(self._dropped)
        if len(results) < len(self.kept):
            dropped[DropReason.OVER_LIMIT] += len(self.kept) - len(results)
        if results:
            return RetrievalOutcome(Status.OK, results, dropped=dict(dropped), notice=notice)
        if self._doubtful or (self._looked_at and not dropped[DropReason.BELOW_FLOOR]):
            reason = Reason.UNVERIFIABLE_RESULTS
            return RetrievalOutcome(Status.DEGRADED, (), reason, dict(dropped), notice)
        nearest = tuple(self._nearest)
        return RetrievalOutcome(
            Status.NO_MATCH, dropped=dict(dropped), notice=notice, nearest=nearest
        )


def _prove(item: object) -> RetrievalResult | DropReason:
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(content, dict):
        return DropReason.NOT_TEXT
    if content.get("type", "TEXT") != "TEXT":
        return DropReason.NOT_TEXT
    return prove(content.get("text"), item.get("metadata"), item.get("score"))


def best_score(items: Sequence[object]) -> float | None:
    """Return the highest score of a response's items; ``None`` if none has one."""
    scores = (finite_score(_score_of(item)) for item in items)
    return max((each for each in scores if each is not None), default=None)


def _score_of(item: object) -> float | None:
    score = item.get("score") if isinstance(item, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return score


def is_below(item: object, floor: float | None) -> bool:
    """Return whether an item scores below the evidence floor; without a score or a floor it does not."""
    score = _score_of(item)
    return floor is not None and score is not None and score < floor
