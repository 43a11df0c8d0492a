r"""The blocks of a section that is too long for one chunk, and the parts of a block that is.

A *position* is the index in ``source = "\n" + text`` of the ``\n`` before a line, which is that
line's offset in ``text``; so the spans given here are offsets in ``text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from knowledge_rag.core import grammar
from knowledge_rag.core.lists import item_end
from knowledge_rag.core.markdown import fence_end, html_end, line_end

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


class Block(NamedTuple):
    """Lines that belong together.

    Args:
        start: offset of the first line, which is not blank.
        end: offset of the line behind the last one; blank lines may be among the last.
        is_item: true for a list item, which has parts of its own.
    """

    start: int
    end: int
    is_item: bool = False


def markdown_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Give the blocks between two positions: paragraphs, fences, tables, single list items ..."""
    while (position := _past_blank(source, position)) < end:
        opening = grammar.BLOCK_START.match(source, position)
        behind = min(end, _block_end(source, position, opening))
        is_item = opening is not None and opening.lastgroup == "item"
        yield Block(position, behind, is_item)
        position = behind


def plain_blocks(source: str, position: int, end: int) -> Iterator[Block]:
    """Give the runs of non-blank lines between two positions."""
    while (position := _past_blank(source, position)) < end:
        behind = min(end, _next_blank(source, position))
        yield Block(position, behind)
        position = behind


def item_parts(source: str, position: int, end: int) -> Iterator[Block]:
    """Cut a list item before its inner items and behind its blank lines; fences stay whole."""
    start = position
    for boundary in grammar.ITEM_PART.finditer(source, position + 1, end):
        if boundary["fence"]:
            continue
        if boundary.start() > start:
            yield Block(start, boundary.start())
            start = boundary.start()
    yield Block(start, end)


def lines(source: str, position: int, end: int) -> Iterator[Block]:
    """Give each line between two positions as a block of its own, blank ones left out."""
    while (position := _past_blank(source, position)) < end:
        behind = line_end(source, position)
        yield Block(position, behind)
        position = behind


def _past_blank(source: str, position: int) -> int:
    blank = grammar.BLANK_LINES.match(source, position)
    return blank.end() if blank else position


def _next_blank(source: str, position: int) -> int:
    blank = grammar.BLANK_LINE.search(source, position + 1)
    return blank.start() if blank else len(source)


def _block_end(source: str, position: int, opening: re.Match[str] | None) -> int:
    kind = opening.lastgroup if opening else None
    if opening is None or kind is None:
        return _paragraph_end(source, position)
    if kind == "fence":
        return fence_end(source, opening)
    if kind == "html":
        return html_end(source, position)
    if kind == "item":
        return item_end(source, position)
    if kind == "quote":
        return _run_end(grammar.NOT_QUOTE, source, position)
    if kind == "code":
        return _run_end(grammar.NOT_CODE, source, position)
    return line_end(source, position)


def _run_end(other: re.Pattern[str], source: str, position: int) -> int:
    found = other.search(source, position + 1)
    return found.start() if found else len(source)


def _paragraph_end(source: str, position: int) -> int:
    second = line_end(source, position)
    if grammar.TABLE_DELIMITER.match(source, second):
        return _next_blank(source, position)
    return _run_end(grammar.PARAGRAPH_BREAK, source, position)
