"""From a page's elements to lines, in one walk over them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.html_inline import INLINE, Inline, read_inline
from knowledge_rag.extract.html_lines import Lines
from knowledge_rag.extract.html_tables import read_table
from knowledge_rag.extract.html_tree import Selection, walk

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_VERBATIM: Final = frozenset(("pre", "listing", "xmp", "plaintext"))
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_LANGUAGE: Final = re.compile(
    r"(?:^|\s)(?:language|lang|highlight-source)-([A-Za-z0-9_+#.-]{1,20})"
)
_MAX_NUMBER: Final = 999_999


def render(root: LexborNode) -> tuple[str, list[int]]:
    r"""Give the text below an element, and how many characters each hidden element in it holds.

    Returns:
        Markdown lines ended by ``\n``, ``""`` where there is no text; and the hidden ones' lengths.
    """
    selection = Selection(root)
    renderer = _Renderer(selection)
    walk(root, renderer.enter, renderer.leave)
    renderer.flush()
    return renderer.lines.text(), list(selection.hidden.values())


class _Renderer:
    """Turns elements into lines, as a walk comes by them."""

    def __init__(self, selection: Selection) -> None:
        self.lines = Lines()
        self._selection = selection
        self._inline = Inline()
        self._lists: list[_List] = []

    def enter(self, node: LexborNode) -> bool:
        met = self._inline.meet(node, self._selection)
        if met is not None:
            return met
        self.flush()
        return self._enter_block(node, node.tag or "")

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in INLINE:
            self._inline.leave(tag)
            return
        self.flush()
        if tag in _LISTS:
            self._lists.pop()
        elif tag in ("li", "blockquote", "dd"):
            self.lines.dedent()

    def flush(self) -> None:
        self.lines.paragraph(self._inline.take())

    def _enter_block(self, node: LexborNode, tag: str) -> bool:
        """Begin a block; whether what is below it is to be visited."""
        if tag in _HEADINGS:
            self.lines.heading(_HEADINGS[tag], read_inline(node, self._selection))
            return False
        if tag in _VERBATIM:
            self.lines.code(_verbatim(node, self._selection), _language(node))
            return False
        if tag == "table":
            return not self._table(node)
        if tag in _LISTS:
            self._lists.append(_List(_first_number(node) if tag == "ol" else None))
        elif tag == "li":
            self._enter_item()
        elif tag == "blockquote":
            self.lines.indent("> ", "> ")
        elif tag == "dd":
            self.lines.close_up()
            self.lines.indent(": ", "  ")
        return True

    def _table(self, node: LexborNode) -> bool:
        """Add a table of data; whether it is one."""
        table = read_table(node, self._selection)
        if table is None:
            return False
        self.lines.paragraph([table.caption])
        if table.rows:
            self.lines.table(table.rows)
        return True

    def _enter_item(self) -> None:
        if not self._lists:
            self._lists.append(_List(None))  # an item outside of any list, which stays open
        around = self._lists[-1]
        if around.begun or len(self._lists) > 1:
            self.lines.close_up()
        marker = around.next_marker()
        self.lines.indent(marker, " " * len(marker))


class _List:
    """A list that is open.

    Args:
        number: of its next item; ``None`` for bullets.
    """

    def __init__(self, number: int | None) -> None:
        self._number = number
        self.begun = False

    def next_marker(self) -> str:
        self.begun = True
        if self._number is None:
            return "- "
        self._number += 1
        return f"{self._number - 1}. "


def _first_number(node: LexborNode) -> int:
    start = (node.attributes.get("start") or "").strip()
    good = start.isascii() and start.isdigit() and len(start) <= len(str(_MAX_NUMBER))
    return int(start) if good else 1


def _language(node: LexborNode) -> str:
    for part in (node, node.child):
        if part is not None and part.is_element_node:
            found = _LANGUAGE.search(part.attributes.get("class") or "")
            if found:
                return found[1]
    return ""


def _verbatim(node: LexborNode, selection: Selection) -> str:
    """Give the text of preformatted lines, breaks and all."""
    parts: list[str] = []

    def enter(part: LexborNode) -> bool:
        if part.is_text_node:
            parts.append(part.text_content or "")
        elif part.tag == "br":
            parts.append("\n")
        return part.is_element_node and selection.takes(part)

    def leave(part: LexborNode) -> None:
        if part.tag not in INLINE and parts and not parts[-1].endswith("\n"):
            parts.append("\n")

    walk(node, enter, leave)
    return "".join(parts)
