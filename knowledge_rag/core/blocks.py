r"""The blocks of a section that is too long for one chunk, and the parts of a block that is.

A *position* is the index in ``source = "\n" + text`` of the ``\n`` before a line, which is that
line's offset in ``text``; so the spans given here are offsets in ``text``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import grammar
from knowledge_rag.core.lists import item_end
from knowledge_rag.core.markdown import fence_end, html_end, line_end

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


Block = tuple[int, int, bool]
"""Lines that belong together: offset of the first one, which is not blank; offset of the line
behind the last one (blank lines may be among the last); whether it is a list item, which has parts
of its own."""


def markdown_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Give the blocks between two positions: paragraphs, fences, tables, single list items ..."""
    while (position := past_blank(source, position)) < end:
        opening = grammar.BLOCK_START.match(source, position)
        behind = min(end, _block_end(source, position, opening))
        yield position, behind, opening is not None and opening.lastgroup == "item"
        position = behind


def plain_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Give the runs of non-blank lines between two positions."""
    while (position := past_blank(source, position)) < end:
        behind = min(end, _next_blank(source, position))
        yield position, behind, False
        position = behind


def cuts(pattern: re.Pattern[str], source: str, position: int, end: int) -> list[int]:
    """Give the positions that a pattern like grammar.SEAM finds for a cut, in their order."""
    # one character more, so that a blank run's end shows that another line follows
    found = [
        match.end() if kind == "blank" else match.start()
        for match in pattern.finditer(source, position, end + 1)
        if (kind := match.lastgroup) in grammar.CUTS
    ]
    unique = dict.fromkeys(found)
    unique.pop(end, None)
    return list(unique)


def item_parts(source: str, position: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a list item before its inner items and behind its blank lines; fences stay whole."""
    return pairwise([position, *cuts(grammar.ITEM_PART, source, position + 1, end), end])


def past_blank(source: str, position: int) -> int:
    """Give the position of the first line from ``position`` on that is not blank, or the end."""
    if source[position + 1 : position + 2] not in "\n \t\r":
        return position
    blank = grammar.BLANK_LINES.match(source, position)
    return blank.end() if blank else position


def _next_blank(source: str, position: int) -> int:
    blank = grammar.BLANK_LINE.search(source, position + 1)
    return blank.start() if blank else len(source)


def _block_end(source: str, position: int, opening: re.Match[str] | None) -> int:
    if opening is None:
        return _paragraph_end(source, position)
    kind = opening.lastgroup
    if kind == "fence":
        return fence_end(source, opening)
    if kind in _RUNS:
        return _run_end(_RUNS[kind], source, position)
    ends = {"html": html_end, "item": item_end}.get(kind or "", line_end)
    return ends(source, position)


_RUNS: Final = {"quote": grammar.NOT_QUOTE, "code": grammar.NOT_CODE}
"""Blocks that go on while their lines look alike: what the first other line looks like."""


def _run_end(other: re.Pattern[str], source: str, position: int) -> int:
    found = other.search(source, position + 1)
    return found.start() if found else len(source)


def _paragraph_end(source: str, position: int) -> int:
    second = line_end(source, position)
    if grammar.TABLE_DELIMITER.match(source, second):
        return _run_end(grammar.TABLE_BREAK, source, second)
    return _run_end(grammar.PARAGRAPH_BREAK, source, position)
