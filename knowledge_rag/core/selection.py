"""From the items of a response to what may be shown of them: proven, each once, counted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import (
    DropReason,
    Reason,
    RetrievalOutcome,
    RetrievalResult,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.deadline import Deadline


class Selection:
    """Items looked at one by one: what is proven is kept, the rest is counted.

    Args:
        evidence_floor: lowest score that counts as evidence.
        deadline: looked at before each item, if given.

    Attributes:
        kept: the results by their lines, in the order in which they came.
        items: what each of them was made from, in the same order.
    """

    def __init__(self, evidence_floor: float | None, deadline: Deadline | None) -> None:
        self._floor = evidence_floor
        self._deadline = deadline
        self._dropped: Counter[DropReason] = Counter()
        self._looked_at = 0
        self._doubtful = False
        self.kept: dict[tuple[str, int, int], RetrievalResult] = {}
        self.items: list[Any] = []

    def take(self, items: Sequence[Any], *, most: int, first: int) -> None:
        """Look at items, and count those that are not looked at.

        Args:
            items: of any type, best first.
            most: results to keep, of all that were ever taken.
            first: of the items, so many are looked at.

        Raises:
            DeadlineExceeded: it came before the last item.
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
        below = _is_below(item, self._floor)
        proven = _prove(item)
        if isinstance(proven, RetrievalResult):
            reason = DropReason.BELOW_FLOOR if below else _keep(proven, self.kept)
        else:
            reason = proven
            self._doubtful = self._doubtful or not below
        if reason is None:
            self.items.append(item)
        else:
            self._dropped[reason] += 1

    def outcome(
        self, results: tuple[RetrievalResult, ...], notice: str | None = None
    ) -> RetrievalOutcome:
        """Give the outcome that shows some of what was kept, in the order given.

        Without results it is ``no_match`` only if what was dropped scored below the floor: an item
        at or above it that can't be proven might have been the answer.
        """
        dropped = Counter(self._dropped)
        if len(results) < len(self.kept):
            dropped[DropReason.OVER_LIMIT] += len(self.kept) - len(results)
        if results:
            return RetrievalOutcome(Status.OK, results, dropped=dict(dropped), notice=notice)
        if self._doubtful or (self._looked_at and not dropped[DropReason.BELOW_FLOOR]):
            reason = Reason.UNVERIFIABLE_RESULTS
            return RetrievalOutcome(Status.DEGRADED, (), reason, dict(dropped), notice)
        return RetrievalOutcome(Status.NO_MATCH, dropped=dict(dropped), notice=notice)


def _keep(
    result: RetrievalResult, kept: dict[tuple[str, int, int], RetrievalResult]
) -> DropReason | None:
    lines = (result.citation.source_file, result.citation.start_line, result.citation.end_line)
    if lines in kept:
        return DropReason.DUPLICATE
    kept[lines] = result
    return None


def _prove(item: object) -> RetrievalResult | DropReason:
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(content, dict):
        return DropReason.NOT_TEXT
    if content.get("type", "TEXT") != "TEXT":
        return DropReason.NOT_TEXT
    return prove(content.get("text"), item.get("metadata"), item.get("score"))


def _is_below(item: object, floor: float | None) -> bool:
    score = item.get("score") if isinstance(item, dict) else None
    if floor is None or isinstance(score, bool) or not isinstance(score, int | float):
        return False
    return score < floor
