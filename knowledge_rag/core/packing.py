"""Filling chunks with what belongs together, in order, up to the cap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from knowledge_rag.core import grammar
from knowledge_rag.core.blocks import (
    cuts,
    item_parts,
    markdown_blocks,
    past_blank,
    plain_blocks,
)
from knowledge_rag.core.lines import BLANKS, split_lines
from knowledge_rag.core.tokens import (
    PER_MARK,
    PER_PLAIN,
    classify,
    cost,
    fits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


_WINDOW = 8_000
"""Characters within which a run of lines reaches the cap; keeps the search for it local."""

Span = tuple[int, int, float]
"""A stretch of lines: offset of its first line, offset of the line behind its last one (blank
lines may be among the last), estimated tokens."""


class Packer:
    """Cuts sections of one text into spans that do not exceed the cap.

    Args:
        text: the document.
        cap: estimated tokens that a span may have; only a single line can exceed it.
        markdown: whether its blocks are Markdown's, or just runs of non-blank lines.

    Attributes:
        sure: characters that fit the cap whatever they are.
    """

    def __init__(self, text: str, cap: float, *, markdown: bool) -> None:
        self._text = text
        self._cap = cap
        self.sure = int(cap / PER_MARK)
        self._unlikely = int(cap / PER_PLAIN)
        self._markdown = markdown

    def fits(self, start: int, end: int) -> bool:
        """Whether a stretch costs no more than the cap."""
        return end - start <= self.sure or fits(self._text, start, end, self._cap)

    def cut(self, start: int, lead_end: int, end: int) -> list[Span]:
        """Cut a section; fences, tables, list items and paragraphs stay whole where they fit.

        Args:
            start: offset of its first line.
            lead_end: offset behind its heading lines, which stay with what follows if that fits.
            end: offset behind it.
        """
        # a longer one fits only if it is mostly indents, and then splitting gives it back whole
        if end - start <= self._unlikely and fits(self._text, start, end, self._cap):
            return [(start, end, 0.0)]
        return _Section(self._text, start, end, self._cap, markdown=self._markdown).split(lead_end)


class _Section:
    """A section that may have to be split; offsets inside count from its start.

    Args:
        text: the document.
        start: offset of the section's first line.
        end: offset behind it.
        cap: estimated tokens that a span may have.
        markdown: whether its blocks are Markdown's.
    """

    def __init__(self, text: str, start: int, end: int, cap: float, *, markdown: bool) -> None:
        self._start = start
        self._source = "\n" + text[start:end]
        self._classes = classify(text, start, end)
        self._cap = cap
        self._markdown = markdown

    def split(self, lead_end: int) -> list[Span]:
        """Split it into spans of the text; ``lead_end`` is the offset behind its heading lines."""
        classes, cap = self._classes, self._cap
        lead_end -= self._start
        units: list[Span] = []
        start = 0
        for end in self._bounds(lead_end):
            tokens = cost(classes, start, end)
            if tokens <= cap:
                units.append((start, end, tokens))
            else:
                units += self._parts(start, max(start, lead_end), end)
            start = end
        return self._pack(units)

    def _bounds(self, lead_end: int) -> list[int]:
        """Give where a cut parts no fence, table, list item or HTML block, and the end."""
        seams = grammar.SEAM if self._markdown else grammar.PLAIN_SEAM
        end = len(self._source) - 1
        bounds = cuts(seams, self._source, lead_end, end)
        if bounds and not self._source[lead_end + 1 : bounds[0]].strip(BLANKS):
            del bounds[0]  # what follows a heading directly is no place to cut
        bounds.append(end)
        return bounds

    def _parts(self, start: int, lead_end: int, end: int) -> Iterator[Span]:
        """Take apart what alone exceeds the cap: heading, blocks, their parts, their lines."""
        lead = cost(self._classes, start, lead_end)
        if lead_end > start:
            yield from self._runs(start, lead_end, lead, self._cap)
        room = self._cap - lead if lead <= self._cap else self._cap
        blocks = markdown_blocks if self._markdown else plain_blocks
        for first, behind, is_item in blocks(self._source, lead_end, end):
            yield from self._fitting(first, behind, room, is_item=is_item)
            room = self._cap

    def _fitting(self, start: int, end: int, room: float, *, is_item: bool) -> Iterator[Span]:
        """Give a block whole if it fits the cap, else its parts; the first of them within ``room``."""
        tokens = cost(self._classes, start, end)
        if is_item and tokens > self._cap:
            for part, behind in item_parts(self._source, start, end):
                yield from self._fitting(part, behind, room, is_item=False)
                room = self._cap
        else:
            yield from self._runs(start, end, tokens, room)

    def _runs(self, start: int, end: int, remaining: float, room: float) -> Iterator[Span]:
        """Cut a stretch that costs ``remaining`` into runs of lines, the first within ``room``."""
        if remaining > self._cap:
            ends = self._line_ends(start, end)
            while start < end and remaining > self._cap:
                behind = self._reach(ends, start, room)
                tokens = cost(self._classes, start, behind)
                yield start, behind, tokens
                start = past_blank(self._source, behind)
                remaining -= tokens
                if remaining < 2 * self._cap:  # costs are only nearly additive: count the rest anew
                    remaining = cost(self._classes, start, end)
                room = self._cap
        if start < end:
            yield start, end, remaining

    def _line_ends(self, start: int, end: int) -> list[int]:
        lines = split_lines(self._source[start + 1 : end + 1])
        return list(accumulate([len(line) + 1 for line in lines], initial=start))

    def _reach(self, ends: list[int], start: int, room: float) -> int:
        """Give the last of ``ends`` up to which the lines from ``start`` cost at most ``room``."""
        second = bisect_right(ends, start) + 1
        last = bisect_left(ends, start + _WINDOW)
        fit = bisect_right(
            ends,
            room,
            second,
            min(last + 1, len(ends)),
            key=lambda end: cost(self._classes, start, end),
        )
        return ends[fit - 1]

    def _pack(self, units: list[Span]) -> list[Span]:
        """Join units up to the cap; what ends in a colon stays with what follows, if both fit."""
        spans: list[Span] = []
        cap = self._cap
        first, total, before = 0, 0.0, 0.0
        for index, (_, _, tokens) in enumerate(units):
            if total + tokens > cap and index > first:
                alone = index - 1 == first or before + tokens > cap
                behind = index if alone or not self._introduces(units[index - 1]) else index - 1
                spans.append(self._joined(units, first, behind, total))
                first, total = behind, before if behind < index else 0.0
            total += tokens
            before = tokens
        if units:
            spans.append(self._joined(units, first, len(units), total))
        return spans

    def _introduces(self, unit: Span) -> bool:
        start, end, _ = unit
        return self._source[max(start, end - 8) + 1 : end + 1].rstrip(BLANKS).endswith(":")

    def _joined(self, units: list[Span], first: int, behind: int, tokens: float) -> Span:
        return self._start + units[first][0], self._start + units[behind - 1][1], tokens
