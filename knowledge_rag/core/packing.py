"""Filling chunks with what belongs together, in order, up to the cap."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from knowledge_rag.core import grammar
from knowledge_rag.core.blocks import (
    cuts,
    item_parts,
    markdown_blocks,
    past_blank,
    plain_blocks,
    whole,
)
from knowledge_rag.core.lines import BLANK
from knowledge_rag.core.markdown import line_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.tokens import TokenMeter


_WINDOW = 8_000
"""Characters within which a run of lines reaches the cap; keeps the search for it local."""


class Span(NamedTuple):
    """A stretch of a text with its estimated tokens.

    Args:
        start: offset of its first line.
        end: offset of the line behind its last one; blank lines may be among the last.
        cost: estimated tokens.
    """

    start: int
    end: int
    cost: float


class Packer:
    """Splits stretches of one text that exceed the cap into spans that do not.

    Args:
        text: the document.
        meter: estimates its tokens.
        cap: estimated tokens that a span may have; only a single line can exceed it.
        markdown: whether its blocks are Markdown's, or just runs of non-blank lines.
    """

    def __init__(self, text: str, meter: TokenMeter, cap: float, *, markdown: bool) -> None:
        self._source = "\n" + text
        self._cost = meter.cost
        self._cap = cap
        self._markdown = markdown

    def split(self, start: int, lead_end: int, end: int) -> Iterator[Span]:
        """Split a stretch; fences, tables, list items and paragraphs stay whole where they fit.

        Args:
            start: offset of the stretch's first line.
            lead_end: offset behind its heading lines, which stay with what follows if that fits.
            end: offset behind the stretch.
        """
        units = [
            unit
            for first, behind in pairwise([start, *self._seams(lead_end, end), end])
            for unit in self._fitting(first, max(first, min(lead_end, behind)), behind)
        ]
        return self._pack(units)

    def _seams(self, position: int, end: int) -> Iterator[int]:
        """Give where a cut parts no fence, table, list item or HTML block, by one quick look."""
        seams = grammar.SEAM if self._markdown else grammar.PLAIN_SEAM
        begun = False  # what follows a heading directly is no place to cut
        for at in cuts(seams, self._source, position, end):
            if begun or self._source[position + 1 : at].strip(BLANK + "\n"):
                begun = True
                yield at

    def _fitting(self, start: int, lead_end: int, end: int) -> Iterator[Span]:
        cost = self._cost(start, end)
        if cost <= self._cap:
            yield Span(start, end, cost)
            return
        lead = self._cost(start, lead_end)
        if lead_end > start:
            yield from self._runs(start, lead_end, self._cap)
        if lead > self._cap:
            lead = 0.0
        blocks = markdown_blocks if self._markdown else plain_blocks
        for block in blocks(self._source, lead_end, end):
            parts = item_parts if block.is_item else whole
            for part in parts(self._source, block.start, block.end):
                yield from self._runs(part.start, part.end, self._cap - lead)
                lead = 0.0

    def _runs(self, start: int, end: int, room: float) -> Iterator[Span]:
        """Give the stretch whole if it fits the cap, else in runs of lines, the first in ``room``."""
        cost = self._cost(start, end)
        while cost > self._cap:
            behind = self._reach(start, end, room)
            yield Span(start, behind, self._cost(start, behind))
            start = past_blank(self._source, behind)
            cost = self._cost(start, end) if start < end else 0.0
            room = self._cap
        if start < end:
            yield Span(start, end, cost)

    def _reach(self, start: int, end: int, room: float) -> int:
        """Give the end of the longest run of lines from ``start`` that costs at most ``room``."""
        ends = []
        behind = start
        while behind < end and behind - start < _WINDOW:
            behind = line_end(self._source, behind)
            ends.append(behind)
        fit = bisect_right(ends, room, lo=1, key=lambda behind: self._cost(start, behind))
        return ends[fit - 1]

    def _pack(self, units: list[Span]) -> Iterator[Span]:
        first, cost = 0, 0.0
        for index, unit in enumerate(units):
            if index > first and cost + unit.cost > self._cap:
                behind = self._without_introduction(units, first, index)
                yield Span(units[first].start, units[behind - 1].end, cost)
                first = behind
                cost = sum(span.cost for span in units[first:index])
            cost += unit.cost
        if units:
            yield Span(units[first].start, units[-1].end, cost)

    def _without_introduction(self, units: list[Span], first: int, index: int) -> int:
        """Give where to cut before ``units[index]``: before what ends in a colon, if both fit."""
        last = units[index - 1]
        if index - 1 > first and last.cost + units[index].cost <= self._cap:
            tail = self._source[max(last.start, last.end - 8) + 1 : last.end + 1]
            if tail.rstrip(BLANK + "\n").endswith(":"):
                return index - 1
        return index
