"""Lines of Markdown that know where they stand, and blocks of such lines.

Used to read the verified answers of models.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core import grammar
from knowledge_rag.core.chunking import markdown_blocks
from knowledge_rag.core.markdown import content_offset, line_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.verify import Cited, Verified

MAX_DEPTH: Final = 10
"""Lists in lists that are looked into; what is deeper is text."""

_GONE: Final = "\0"
"""Stands for a reference while the words around it are mended."""
_TRACE: Final = re.compile(
    r"(?<![ \t])[ \t]*+(?:\((?:see|sources?)?:?[ \t]*+\0(?:[ \t,;&]|and|\0)*+\)"
    r"|\0(?:[ \t]*+(?:[,;&]|and)?+[ \t]*+\0)*+)"
)
"""References, what joins them, and the brackets around them."""


class Form(Enum):
    """What a block is."""

    HEADING = auto()
    ITEM = auto()
    CODE = auto()
    TABLE = auto()
    RULE = auto()
    PROSE = auto()


class Line(NamedTuple):
    """A line of a text, or the rest of one behind its indent or list mark.

    Args:
        start: offset in the text of its first character.
        text: without its end.
        number: of the line, for a reader who counts lines; 0 for one who does not.
    """

    start: int
    text: str
    number: int = 0

    @property
    def end(self) -> int:
        """Offset behind its last character."""
        return self.start + len(self.text)


class Block(NamedTuple):
    """Lines that belong together."""

    form: Form
    lines: tuple[Line, ...]


def lines_of(verified: Verified) -> tuple[Line, ...]:
    """Give the lines of an answer."""
    lines, start = [], 0
    for text in verified.text.replace(_GONE, "\ufffd").split("\n"):
        lines.append(Line(start, text.removesuffix("\r")))
        start += len(text) + 1
    return tuple(lines)


def blocks_of(lines: Sequence[Line]) -> Iterator[Block]:
    """Give the blocks of consecutive lines; blank ones belong to none."""
    source = "".join("\n" + line.text for line in lines)
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line.text) + 1
    for start, end, _ in markdown_blocks(source, 0, len(source)):
        first, behind = bisect_left(starts, start), bisect_left(starts, end)
        held = list(lines[first:behind])
        while held and not held[-1].text.strip():
            held.pop()
        if held:
            yield Block(_form(source, start), tuple(held))


def _form(source: str, start: int) -> Form:
    opening = grammar.BLOCK_START.match(source, start)
    kind = opening.lastgroup if opening else None
    if kind in _FORMS:
        return _FORMS[kind]
    return Form.TABLE if _is_table(source, start) else Form.PROSE


_FORMS: Final[dict[str | None, Form]] = {
    "atx": Form.HEADING,
    "fence": Form.CODE,
    "code": Form.CODE,
    "hr": Form.RULE,
    "item": Form.ITEM,
    "quote": Form.PROSE,
}


def _is_table(source: str, start: int) -> bool:
    return grammar.TABLE_DELIMITER.match(source, line_end(source, start)) is not None


def inside(item: Block) -> tuple[Line, ...]:
    """Give the lines of a list item without its mark and its indent."""
    first, *rest = item.lines
    match = grammar.ITEM.match("\n" + first.text)
    if match is None:
        return item.lines
    offset = min(content_offset(match), len(first.text))
    return (cut(first, offset), *(dedented(line, offset) for line in rest))


def cut(line: Line, count: int) -> Line:
    """Give the rest of a line behind ``count`` characters."""
    return line._replace(start=line.start + count, text=line.text[count:])


def dedented(line: Line, columns: int) -> Line:
    """Take off indent, at most so many characters."""
    indent = len(line.text) - len(line.text.lstrip(" \t"))
    return cut(line, min(indent, columns))


def code_of(block: Block) -> tuple[str, str]:
    """Give what a code block says it holds (``bash``, ``""``) and what it holds."""
    first, *rest = block.lines
    fence = grammar.BLOCK_START.match("\n" + first.text)
    if fence is None or fence.lastgroup != "fence":
        return "", "\n".join(dedented(line, 4).text for line in block.lines)
    marks = fence["fence"]
    indent = len(fence["indent"])
    info = first.text[indent + len(marks) :].strip().partition(" ")[0].lower()
    if rest and grammar.fence_close(marks).fullmatch("\n" + rest[-1].text):
        rest.pop()
    return info, "\n".join(dedented(line, indent).text for line in rest)


def cited_in(lines: Sequence[Line], citations: Sequence[Cited]) -> tuple[Cited, ...]:
    """Give the citations whose references stand in these lines, in their order.

    Args:
        lines: that follow each other.
        citations: in the order of the text.
    """
    if not lines:
        return ()
    first = bisect_left(citations, lines[0].start, key=lambda cited: cited.start)
    behind = bisect_left(citations, lines[-1].end, key=lambda cited: cited.start)
    return tuple(citations[first:behind])


def text_of(lines: Sequence[Line], citations: Sequence[Cited]) -> str:
    """Return the text of lines without the references in them, and without what joined those.

    Documents that a sentence names with their lines stay, but in round brackets: they are words of it.
    """
    return "\n".join(_without_references(line, citations) for line in lines).strip("\n")


def _without_references(line: Line, citations: Sequence[Cited]) -> str:
    text, position, gone = "", line.start, False
    first = bisect_right(citations, line.start, key=lambda cited: cited.end)
    behind = bisect_left(citations, line.end, key=lambda cited: cited.start)
    for start, end in dict.fromkeys((it.start, it.end) for it in citations[first:behind]):
        if _is_word(line, start):
            continue
        text += line.text[position - line.start : max(start - line.start, 0)] + _GONE
        position, gone = min(end, line.end), True
    text += line.text[position - line.start :]
    return _TRACE.sub("", text).rstrip() if gone else text


def _is_word(line: Line, start: int) -> bool:
    """Whether a reference is a document named in a sentence, rather than one in brackets."""
    at = start - line.start
    return at >= 0 and line.text[at].isalnum() and line.text[at - 1 : at] != "("
