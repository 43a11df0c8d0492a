"""Filling chunks with what belongs together, in order, up to the cap."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from knowledge_rag.core import grammar
from knowledge_rag.core.blocks import (
    cuts,
    item_parts,
    markdown_blocks,
    past_blank,
    plain_blocks,
)
from knowledge_rag.core.lines import BLANK
from knowledge_rag.core.markdown import line_end
from knowledge_rag.core.tokens import PER_MARK, TokenMeter

if TYPE_CHECKING:
    from collections.abc import Iterator


_WINDOW = 8_000
"""Characters within which a run of lines reaches the cap; keeps the search for it local."""

Span = tuple[int, int, float]
"""A stretch of a text: offset of its first line, offset of the line behind its last one (blank
lines may be among the last), estimated tokens."""


class Packer:
    """Splits stretches of one text that exceed the cap into spans that do not.

    Args:
        text: the document.
        cap: estimated tokens that a span may have; only a single line can exceed it.
        markdown: whether its blocks are Markdown's, or just runs of non-blank lines.
    """

    def __init__(self, text: str, cap: float, *, markdown: bool) -> None:
        self._source = "\n" + text
        self._cost = TokenMeter(text).cost
        self._cap = cap
        self._sure = int(cap / PER_MARK)
        self._markdown = markdown

    def fits(self, start: int, end: int) -> bool:
        """Whether a stretch costs no more than the cap."""
        return end - start <= self._sure or self._cost(start, end) <= self._cap

    def split(self, start: int, lead_end: int, end: int) -> list[Span]:
        """Split a stretch; fences, tables, list items and paragraphs stay whole where they fit.

        Args:
            start: offset of the stretch's first line.
            lead_end: offset behind its heading lines, which stay with what follows if that fits.
            end: offset behind the stretch.
        """
        units: list[Span] = []
        for behind in self._bounds(lead_end, end):
            cost = self._cost(start, behind)
            if cost <= self._cap:
                units.append((start, behind, cost))
            else:
                units += self._parts(start, max(start, lead_end), behind)
            start = behind
        return self._pack(units)

    def _bounds(self, position: int, end: int) -> list[int]:
        """Give where a cut parts no fence, table, list item or HTML block, and the end."""
        seams = grammar.SEAM if self._markdown else grammar.PLAIN_SEAM
        bounds = cuts(seams, self._source, position, end)
        if bounds and not self._source[position + 1 : bounds[0]].strip(BLANK + "\n"):
            del bounds[0]  # what follows a heading directly is no place to cut
        bounds.append(end)
        return bounds

    def _parts(self, start: int, lead_end: int, end: int) -> Iterator[Span]:
        """Take apart what alone exceeds the cap: heading, blocks, their parts, their lines."""
        lead = self._cost(start, lead_end)
        if lead_end > start:
            yield from self._runs(start, lead_end, lead, self._cap)
        room = self._cap - lead if lead <= self._cap else self._cap
        blocks = markdown_blocks if self._markdown else plain_blocks
        for first, behind, is_item in blocks(self._source, lead_end, end):
            yield from self._fitting(first, behind, room, is_item=is_item)
            room = self._cap

    def _fitting(self, start: int, end: int, room: float, *, is_item: bool) -> Iterator[Span]:
        """Give a block whole if it fits the cap, else its parts; the first of them within ``room``."""
        cost = self._cost(start, end)
        if cost <= self._cap:
            yield start, end, cost
        elif is_item:
            for part, behind in item_parts(self._source, start, end):
                yield from self._fitting(part, behind, room, is_item=False)
                room = self._cap
        else:
            yield from self._runs(start, end, cost, room)

    def _runs(self, start: int, end: int, remaining: float, room: float) -> Iterator[Span]:
        """Cut a stretch that costs ``remaining`` into runs of lines, the first within ``room``."""
        while start < end and remaining > self._cap:
            behind = self._reach(start, end, room)
            cost = self._cost(start, behind)
            yield start, behind, cost
            start = past_blank(self._source, behind)
            remaining -= cost
            if remaining < 2 * self._cap:  # costs are only nearly additive: count the rest anew
                remaining = self._cost(start, end)
            room = self._cap
        if start < end:
            yield start, end, remaining

    def _reach(self, start: int, end: int, room: float) -> int:
        """Give the end of the longest run of lines from ``start`` that costs at most ``room``."""
        ends = []
        behind = start
        while behind < end and behind - start < _WINDOW:
            behind = line_end(self._source, behind)
            ends.append(behind)
        fit = bisect_right(ends, room, lo=1, key=lambda behind: self._cost(start, behind))
        return ends[fit - 1]

    def _pack(self, units: list[Span]) -> list[Span]:
        spans: list[Span] = []
        first, total, cap = 0, 0.0, self._cap
        for index, (_, _, cost) in enumerate(units):
            if total + cost > cap and index > first:
                behind = self._without_introduction(units, first, index)
                spans.append((units[first][0], units[behind - 1][1], total))
                first = behind
                total = 0.0 if behind == index else units[behind][2]
            total += cost
        if units:
            spans.append((units[first][0], units[-1][1], total))
        return spans

    def _without_introduction(self, units: list[Span], first: int, index: int) -> int:
        """Give where to cut before ``units[index]``: before what ends in a colon, if both fit."""
        start, end, cost = units[index - 1]
        if index - 1 > first and cost + units[index][2] <= self._cap:
            tail = self._source[max(start, end - 8) + 1 : end + 1]
            if tail.rstrip(BLANK + "\n").endswith(":"):
                return index - 1
        return index
