"""HTML in retrieved lines, and the Markdown that stands within an element of it.

A reader of the rendered page sees what ``<details>`` holds folded away, and what it holds is as often
the old way as the right one. An element goes on over blank lines until it is closed, though the block
of HTML that opens it ends at the first one.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from knowledge_rag.core import grammar
from knowledge_rag.orchestrator.answer_text import (
    MAX_DEPTH,
    QUOTE_MARK,
    Form,
    blocks_of,
    cut,
    inside,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.orchestrator.answer_text import Block, Line

_ELEMENTS: Final = (
    "address|article|aside|blockquote|center|details|dialog|dir|div|dl|fieldset|figcaption|figure"
    "|footer|form|frameset|h[1-6]|header|iframe|legend|main|menu|nav|noframes|ol|optgroup|search"
    "|section|summary|table|title|ul"
)
"""Elements that hold blocks and don't end before they are closed; ``p`` and ``li`` do."""
_TAG: Final = re.compile(
    rf"<(?P<close>/?)(?P<name>{_ELEMENTS})(?=[\s/>]|\Z)[^<>]*?(?P<empty>/?)(?:>|\Z)", re.IGNORECASE
)
_NO_TAGS: Final = re.compile(
    r"(?s:<!--.*?(?:-->|\Z))|(?<!`)(?P<marks>`++)(?:(?!(?<!`)(?P=marks)(?!`))[\s\S])++(?P=marks)"
)
"""Comments and code in words: a tag in them is none."""
_HTML: Final = re.compile(r" {0,3}<[A-Za-z/!?]")
_REMARK: Final = re.compile(r"<!--.*?-->[ \t]*[^\s<]")
"""A comment with words behind it, which a reader sees."""
_DETAILS: Final = "details"


def shown(lines: Sequence[Line], within: Sequence[str] = ()) -> list[Line]:
    """Give lines with those of HTML, and those within an element of it, made blank.

    Where an element is closed that these lines don't open, all above belongs to it.

    Args:
        lines: that follow each other.
        within: names of the elements that are open before them, the outermost first.
    """
    if not within and not _may_have_tags(lines):
        return list(lines)
    folds = _Folds(within)
    folds.read(lines)
    return [
        line._replace(text="")
        if line.number <= folds.until or line.number in folds.hidden
        else line
        for line in lines
    ]


def still_open(lines: Sequence[Line], within: Sequence[str] = ()) -> tuple[str, ...]:
    """Give the names of the elements that are open behind lines, the outermost first.

    Args:
        lines: that follow each other.
        within: names of the elements that are open before them, likewise.
    """
    if not _may_have_tags(lines):
        return tuple(within)
    folds = _Folds(within)
    folds.read(lines)
    return tuple(folds.open)


def _may_have_tags(lines: Iterable[Line]) -> bool:
    return any("<" in line.text for line in lines)  # most passages have none


class _Folds:
    """What is open while lines are read.

    Args:
        within: names of what is open before them.
    """

    def __init__(self, within: Iterable[str]) -> None:
        self.open = list(within)
        self.hidden: set[int] = set()
        self.until = -1

    def read(self, lines: Sequence[Line], depth: int = 0) -> None:
        """Read lines; those of list items and quotes like those of a document."""
        for block in blocks_of(lines):
            if self.open:
                self._hide(block)
            if block.form is Form.ITEM:
                self._read_inner(inside(block), depth)
            elif block.form is Form.PROSE and QUOTE_MARK.match(block.lines[0].text):
                self._read_inner([_unquoted(line) for line in block.lines], depth)
            elif block.form is Form.PROSE:
                self._read_words(block, inner=depth > 0)

    def _read_inner(self, lines: Sequence[Line], depth: int) -> None:
        """Read what an item or a quote holds: what is opened there ends with it at the latest."""
        if depth < MAX_DEPTH:
            before = list(self.open)
            self.read(lines, depth + 1)
            same = takewhile(lambda it: it[0] == it[1], zip(before, self.open, strict=False))
            del self.open[len(list(same)) :]

    def _read_words(self, block: Block, *, inner: bool) -> None:
        """Read a block of HTML or a paragraph, in which only what folds words away is a tag.

        Within an item or a quote, words may begin with the name of something in angle brackets.
        """
        first = block.lines[0].text
        html = first.lstrip(" ") if _HTML.match(first) else ""
        if html and (not inner or _begins_html(html)):
            self._hide(block)
            if not _is_raw(html):
                self._read_tags(block, ())
        else:
            self._read_tags(block, (*self.open, _DETAILS))

    def _read_tags(self, block: Block, known: Sequence[str]) -> None:
        """Open and close elements, of these names only, if there are any."""
        text = _NO_TAGS.sub("", "\n".join(line.text for line in block.lines))
        for tag in _TAG.finditer(text):
            name = tag["name"].lower()
            if tag["empty"] or (known and name not in known):
                continue
            if not tag["close"]:
                self.open.append(name)
            elif name in self.open:
                self._hide(block)
                del self.open[len(self.open) - 1 - self.open[::-1].index(name) :]
            else:
                self.until = block.lines[-1].number

    def _hide(self, block: Block) -> None:
        self.hidden |= {line.number for line in block.lines}


def _unquoted(line: Line) -> Line:
    mark = QUOTE_MARK.match(line.text)
    return cut(line, mark.end()) if mark else line


def _begins_html(text: str) -> bool:
    """Whether a line begins a block of HTML for certain, not a placeholder or a link."""
    if _is_raw(text):
        return not _REMARK.match(text)
    return any(it.match(text) for it in (grammar.HTML_NAMED, grammar.HTML_ALONE))


def _is_raw(text: str) -> bool:
    """Whether a line begins HTML that holds no elements: a comment, a script."""
    return any(start.match(text) for start, _ in grammar.HTML_ENDS)
