"""Tables of data as rows of one-line cells; tables that only lay out a page are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.extract.html_inline import INLINE, Inline
from knowledge_rag.extract.html_tree import walk

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from knowledge_rag.extract.html_tree import Selection

_LAYOUT: Final = frozenset(
    ("table", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "pre", "blockquote", "article",
     "section", "main", "hr")
)  # fmt: skip
"""What stands in a cell that is a part of the page, and no value."""


class _LayoutFound(Exception):  # noqa: N818 - no error: it ends a walk early
    pass


class Table(NamedTuple):
    """A table of data.

    Args:
        caption: ``""`` where there is none.
        rows: of cells, blank rows left out.
    """

    caption: str
    rows: list[list[str]]


def read_table(table: LexborNode, selection: Selection) -> Table | None:
    """Read a table of data; ``None`` if it lays out blocks, or has one column only."""
    reader = _TableReader(selection)
    try:
        walk(table, reader.enter, reader.leave)
    except _LayoutFound:
        return None
    if max((len(row) for row in reader.rows), default=0) < 2:
        return None
    return Table(reader.caption, [row for row in reader.rows if any(row)])


class _TableReader:
    def __init__(self, selection: Selection) -> None:
        self.rows: list[list[str]] = []
        self.caption = ""
        self._selection = selection
        self._inline = Inline()

    def enter(self, node: LexborNode) -> bool:
        met = self._inline.meet(node, self._selection)
        if met is not None:
            return met
        if node.tag in _LAYOUT:
            raise _LayoutFound
        self._inline.text(" ")
        if node.tag == "tr":
            self.rows.append([])
        return True

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in INLINE:
            self._inline.leave(tag)
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append(self._inline.one_line())
        elif tag == "caption":
            self.caption = self._inline.one_line()
        else:
            self._inline.text(" ")
