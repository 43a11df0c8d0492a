"""From offsets in the answer that may be shown to offsets in the answer as it was written."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.draft import Span
    from knowledge_rag.guardrails.resolve import Taken


class Positions:
    """Leads back past what was taken out.

    Args:
        removed: what was taken out of the answer, in the order of its text.
    """

    def __init__(self, removed: Iterable[Taken]) -> None:
        self._starts: list[int] = []  # of each mark, in the answer that may be shown
        self._ends: list[int] = []
        self._shifts = [0]  # behind it
        for taken in removed:
            self._starts.append(taken.start - self._shifts[-1])
            self._ends.append(self._starts[-1] + len(taken.mark))
            self._shifts.append(self._shifts[-1] + taken.end - taken.start - len(taken.mark))

    def written(self, span: Span) -> Span:
        """Return the span of the written answer that a span of the shown one stems from.

        What was taken out at its edges is left out; a span without length stays one.
        """
        start, end = span
        first = start + self._shifts[bisect_right(self._ends, start)]
        if start == end:
            return first, first
        return first, max(first, end + self._shifts[bisect_left(self._starts, end)])
