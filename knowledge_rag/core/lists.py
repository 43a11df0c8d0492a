r"""Where lists and their items end.

A *position* is the index in ``source = "\n" + text`` of the ``\n`` before a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core import grammar
from knowledge_rag.core.lines import BLANK

if TYPE_CHECKING:
    import re


_MARKER_LENGTH = 20
"""Characters that tell a list item: a newline, its indent, up to nine digits, a mark, a space."""


def line_before_is_blank(source: str, position: int) -> bool:
    """Whether the line before the one at ``position`` is blank (or there is none)."""
    before = source.rfind("\n", 0, position)
    return not source[before + 1 : position].strip(BLANK)


def list_around(source: str, start: int, position: int) -> int:
    r"""Give the position behind the list that the line at ``position`` lies in.

    Args:
        source: the text behind a ``\\n``.
        start: a position not beyond ``position`` where no list is open.
        position: the line in question.

    Returns:
        A position greater than ``position``, or -1 if the line lies in no list.
    """
    until = position + _MARKER_LENGTH
    free = start
    while (item := grammar.ITEM.search(source, start, until)) and item.start() <= position:
        start = item.end()
        if opens_list(source, item.start(), free):
            start = free = list_end(source, item.start())
            if start > position:
                return start
    return -1


def opens_list(source: str, position: int, free: int) -> bool:
    """Whether the line at ``position``, which lies in no list, starts one (CommonMark 5.3).

    Args:
        source: the text behind a newline.
        position: the line in question.
        free: a position that no paragraph reaches across.
    """
    item = grammar.ITEM.match(source, position)
    if item is None or grammar.THEMATIC_BREAK.match(source, position):
        return False
    if position == free or line_before_is_blank(source, position):
        return True
    # it interrupts a paragraph only if it has content, and counts from 1
    return item[3] is not None and (item[2] in "-+*" or item[2][:-1] == "1")


def list_end(source: str, position: int) -> int:
    """Give the position behind the list whose first item is at ``position``."""
    while True:
        position = item_end(source, position)
        if position >= len(source) or not is_item(source, position):
            return position


def is_item(source: str, position: int) -> bool:
    """Whether a list item starts at ``position``."""
    return (
        grammar.ITEM.match(source, position) is not None
        and grammar.THEMATIC_BREAK.match(source, position) is None
    )


def item_end(source: str, position: int) -> int:
    """Give the position behind the list item at ``position``: the next line that is not its own.

    A line is the item's own when it is blank, indented to the item's content, or continues a
    paragraph of it lazily.

    Raises:
        ValueError: no list item starts at ``position``.
    """
    item = grammar.ITEM.match(source, position)
    if item is None:
        raise ValueError(f"no list item at {position}")
    offset = content_offset(item)
    inside = grammar.outside_item(offset)
    at = item.end(2)
    own = grammar.FENCE_AFTER_MARKERS.match(source, position + 1)
    if own:
        at = past_fence(source, own["fence"], own.end(), offset)
    fenced = own is not None
    while found := inside.search(source, at):
        if found["out"] is None:
            at = past_fence(source, found["fence"], found.end(), offset)
            fenced = True
        elif _ends_item(source, found.start(), fenced=fenced and at == found.start()):
            return found.start()
        else:
            at = found.end()
    return len(source)


def content_offset(item: re.Match[str]) -> int:
    """Columns from the line's start to the content of a grammar.ITEM match (CommonMark 5.2)."""
    column = len(item[1]) + len(item[2])
    after = column
    for space in item[3] or " ":
        after += 4 - after % 4 if space == "\t" else 1
    return after if after - column <= 4 else column + 1


def past_fence(source: str, fence: str, at: int, offset: int) -> int:
    """Give where a fence in an item ends: behind its close, or before the line that cuts it."""
    close = grammar.fence_in_item_close(fence, offset).search(source, at)
    if close is None:
        return len(source)
    return close.start() if close["out"] is not None else close.end()


def _ends_item(source: str, position: int, *, fenced: bool) -> bool:
    """Whether the line at ``position``, indented less than the item's content, ends the item."""
    if fenced or line_before_is_blank(source, position) or is_item(source, position):
        return True
    # else it continues the item's paragraph lazily, unless it can interrupt one
    opening = grammar.BLOCK_START.match(source, position)
    return opening is not None and opening.lastgroup not in ("item", "code")
