"""Running text: what stands within a paragraph, a heading or a cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.html_tree import walk
from knowledge_rag.extract.wrapping import GLUE

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from knowledge_rag.extract.html_tree import Selection

CODE: Final = frozenset(("code", "kbd", "samp", "tt"))
STRUCK: Final = frozenset(("del", "s", "strike"))
"""What is struck out: said no more, and so never to be read as if it were."""
STRIKE: Final = "~~"
"""How Markdown marks it."""
INLINE: Final = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "data", "del", "dfn", "em", "font",
     "i", "ins", "label", "mark", "nobr", "output", "q", "rb", "rp", "rt", "ruby", "s", "slot", "small",
     "span", "strike", "strong", "sub", "sup", "time", "u", "var", "wbr", *CODE)
)  # fmt: skip
"""Elements that do not end a line, but for ``br``; any other one does."""

_SPACE: Final = re.compile(r"[ \t\n\r\f\u00a0]+")
_BACKTICKS: Final = re.compile(r"`+")


class Inline:
    """Collects running text, with code in backticks and what is struck out between tildes."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._code = 0  # how deep in code
        self._code_start = 0

    def meet(self, node: LexborNode, selection: Selection) -> bool | None:
        """Take a node that a walk comes to, if it belongs to running text.

        Returns:
            Whether what is below it is to be visited; ``None`` for an element that ends the line.
        """
        if node.is_text_node:
            self.text(node.text_content or "")
            return False
        if not node.is_element_node or not selection.takes(node):
            return False
        tag = node.tag or ""
        if tag not in INLINE:
            return None
        self._enter(tag)
        return tag != "br"

    def text(self, text: str) -> None:
        """Add text as it stands in the page; its blanks count as one."""
        self._parts.append(_SPACE.sub(" ", text.replace(GLUE, "\ufffd")))

    def _enter(self, tag: str) -> None:
        """Begin an element of running text."""
        if tag == "br":
            self._parts.append("\n")
        elif tag == "q":
            self._parts.append('"')
        elif tag in STRUCK:
            self._parts.append(STRIKE)
        elif tag in CODE:
            if not self._code:
                self._code_start = len(self._parts)
            self._code += 1

    def leave(self, tag: str) -> None:
        """End an element of running text."""
        if tag == "q":
            self._parts.append('"')
        elif tag in STRUCK:
            self._parts.append(STRIKE)
        elif tag in CODE:
            self._code -= 1
            if not self._code:
                self._close_code()

    def take(self) -> list[str]:
        """Give what was collected, a string for each line that the page itself breaks; empty it."""
        if self._code:  # a block within code: what comes behind it is code still
            self._close_code()
            self._code_start = 0
        whole = "".join(self._parts).replace(STRIKE + STRIKE, "")
        self._parts.clear()
        if whole.strip() == STRIKE:  # a block within what is struck out
            whole = ""
        lines = (" ".join(part.split(" ")) for part in whole.split("\n"))
        return [line for part in lines if (line := _SPACE.sub(" ", part).strip(" "))]

    def one_line(self) -> str:
        """Give what was collected as one line."""
        return " ".join(self.take()).replace(GLUE, " ")

    def _close_code(self) -> None:
        inside = "".join(self._parts[self._code_start :]).replace("\n", " ")
        del self._parts[self._code_start :]
        code = _SPACE.sub(" ", inside)
        if code.strip():
            before, after = code[0] == " ", code[-1] == " "
            self._parts.append(" " * before + _code_span(code.strip()) + " " * after)
        elif code:
            self._parts.append(" ")


def read_inline(root: LexborNode, selection: Selection) -> str:
    """Give all text below an element as one line."""
    inline = Inline()

    def enter(node: LexborNode) -> bool:
        met = inline.meet(node, selection)
        if met is None:
            inline.text(" ")
        return met is not False

    def leave(node: LexborNode) -> None:
        inline.leave(node.tag or "")
        if node.tag not in INLINE:
            inline.text(" ")

    walk(root, enter, leave)
    return inline.one_line()


def _code_span(code: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(code)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if code[0] == "`" or code[-1] == "`" else ""
    return (ticks + pad + code + pad + ticks).replace(" ", GLUE)
