"""Steps lifted out of retrieved lines, word for word, by their Markdown structure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.chunking import PLAIN_SUFFIXES
from knowledge_rag.orchestrator.advisors.folded import shown
from knowledge_rag.orchestrator.advisors.tables import is_of_steps, is_rest_of_steps, rows_of
from knowledge_rag.orchestrator.answer_text import (
    MAX_DEPTH,
    QUOTE_MARK,
    Block,
    Form,
    blocks_of,
    code_of,
    cut,
    dedented,
    inside,
    is_closed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.advisors.passages import Passage
    from knowledge_rag.orchestrator.advisors.sections import Purpose
    from knowledge_rag.orchestrator.answer_text import Line

_HEADING_MARK: Final = re.compile(r"^ {0,3}#{1,6}[ \t]+")
_MARKS: Final = {Form.PROSE: QUOTE_MARK, Form.HEADING: _HEADING_MARK}
_CHECKBOX: Final = re.compile(r"\A\[[ xX]\][ \t]+")
_ORDERED: Final = re.compile(r"[ \t]*\d{1,9}[.)][ \t]")
_FENCE: Final = re.compile(r" {0,3}(?:`{3,}|~{3,})[ \t]*[\w{]")
_ANY_FENCE: Final = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_SENTENCE_ENDS: Final = (".", ":", "!", "?", ")", "*", '"', "|", "\u3002", "\uff1a")
_UNDERLINE: Final = re.compile(r" {0,3}=+[ \t\r]*\Z")
_POINTER: Final = re.compile(r"^\W*(?:related|see also|references?)\b", re.IGNORECASE)
"""Words that lead to another document and ask for nothing."""


_NOTHING: Final = re.compile(
    r"(?:\[[^\]\n]*\]:[ \t]*+\S[^\n]*+|!?\[[^\]\n]*\]\([^)\n]*\)\W*|<?https?://\S+"
    r"|(?:to ?do|tbd|n/?a|none)\b\W*)\Z",
    re.IGNORECASE,
)
"""A bare link, where one leads, and what stands where somebody still has to write something."""


class Command(NamedTuple):
    """A code block: what it says it holds (``bash``), and what it holds."""

    language: str
    text: str


class Kind(NamedTuple):
    """How a step stands in its document: what it is read from, and how much it is worth for that."""

    name: str
    worth: float


ORDERED: Final = Kind("numbered", 0.3)
BULLET: Final = Kind("bullet", 0.25)
INTRODUCED: Final = Kind("introduced code", 0.25)
WARNING: Final = Kind("quote", 0.2)
PARAGRAPH: Final = Kind("paragraph", -0.2)
ROWS: Final = Kind("table", 0.1)
STEPS: Final = Kind("table of steps", 0.3)


@dataclass(frozen=True, slots=True)
class Lifted:
    """A step as it stands in its document.

    Args:
        action: the source's lines without list mark and indent, joined as they stand there.
        commands: the code blocks that belong to it.
        numbers: of the lines that it was lifted from, ascending.
        passage: that they stand in.
        kind: how it stands there.
    """

    action: str
    commands: tuple[Command, ...]
    numbers: tuple[int, ...]
    passage: Passage
    kind: Kind

    @property
    def source_file(self) -> str:
        """The document."""
        return self.passage.source_file

    @property
    def purpose(self) -> Purpose:
        """What its section is for."""
        return self.passage.purpose


def lifted_from(passage: Passage, told: set[str]) -> list[Lifted]:
    """Give the steps of a passage, in their order.

    A chunk may begin inside a code block; what looks like words there is code, and the other way
    round. So where the fences of a passage don't pair up, what stands up to the first one is passed
    over, and where they don't then either, or it can't be told, all of it. A code block that is cut
    off is left out.

    Args:
        passage: the lines.
        told: the words that tell of the incident: of a table only the rows that share some count.
    """
    seen = _behind_comment(passage.lines)
    if not _begins_outside_code(passage):
        whole = list(_blocks(seen))
        if not _pairs_up(whole):
            seen = _behind_first_fence(seen)
            if _is_torn(whole) or not _pairs_up(list(_blocks(seen))):
                return []
        elif _is_code(passage, whole):
            return []
    blocks = list(_blocks(shown(seen, passage.within)))
    return list(_Lifter(passage, told).lift(blocks))


def _blocks(lines: Sequence[Line]) -> Iterator[Block]:
    """Give the blocks of lines; a paragraph underlined with ``=`` is a heading, what follows is none."""
    for block in blocks_of(lines):
        below = list(block.lines)
        while block.form is Form.PROSE and (place := _underlined(below)):
            yield Block(Form.HEADING, tuple(below[:place]))
            below = below[place + 1 :]
        if below:
            yield Block(block.form, tuple(below))


def _underlined(lines: Sequence[Line]) -> int:
    """Give how many lines stand above the first one that underlines, 0 if none does."""
    if not lines or QUOTE_MARK.match(lines[0].text):
        return 0
    return next((it for it, line in enumerate(lines) if it and _UNDERLINE.match(line.text)), 0)


def _begins_outside_code(passage: Passage) -> bool:
    """Whether a passage begins where its document or section does, or has no code: plain text."""
    first = passage.lines[0]
    if first.number == 1 or passage.source_file.lower().endswith(PLAIN_SUFFIXES):
        return True
    return _HEADING_MARK.sub("", first.text).strip(" #") in passage.path


def _is_code(passage: Passage, blocks: Sequence[Block]) -> bool:
    """Whether a passage looks like the middle of a code block, of which no fence was retrieved.

    A passage is of one section, so a heading of another name is a comment; and its first words, if
    they are neither a list item nor a quote, end like a sentence unless they are code.
    """
    for block in blocks:
        mark = _HEADING_MARK.match(block.lines[0].text) if block.form is Form.HEADING else None
        if mark and block.lines[0].text[mark.end() :].strip(" #") not in passage.path:
            return True
    first = blocks[0] if blocks else None
    if first is None or first.form is not Form.PROSE:
        return False
    return QUOTE_MARK.match(first.lines[0].text) is None and not first.lines[
        -1
    ].text.rstrip().endswith(_SENTENCE_ENDS)


def _is_torn(blocks: Sequence[Block]) -> bool:
    """Whether the last fence may open code that is cut off as well as close code cut off before."""
    fences = [it for it in _nested(blocks) if it.form is Form.CODE and not is_closed(it)]
    return any(line.text.strip() for it in fences for line in it.lines[1:])


def _behind_comment(lines: Sequence[Line]) -> Sequence[Line]:
    """Give the lines behind the end of a comment that began in another chunk."""
    for place, line in enumerate(lines):
        if "<!--" in line.text:
            break
        if "-->" in line.text:
            return lines[place + 1 :]
    return lines


def _behind_first_fence(lines: Sequence[Line]) -> Sequence[Line]:
    """Give the lines behind the first fence, which ends the code that they begin in."""
    fences = (place for place, line in enumerate(lines) if _ANY_FENCE.match(line.text))
    return lines[next(fences, len(lines)) + 1 :]


def _pairs_up(blocks: Sequence[Block]) -> bool:
    """Whether no fence of a passage is taken for the end of another one."""
    for block in _nested(blocks):
        if block.form is Form.CODE:
            within = block.lines[1:-1] if is_closed(block) else block.lines[1:]
            if any(_FENCE.match(line.text) for line in within):
                return False
            if not is_closed(block) and not _FENCE.match(block.lines[0].text):
                return False
    return True


def _nested(blocks: Sequence[Block], depth: int = 0) -> Iterator[Block]:
    """Give the blocks that are no list items, those inside items included."""
    for block in blocks:
        if block.form is Form.ITEM and depth < MAX_DEPTH:
            yield from _nested(list(blocks_of(inside(block))), depth + 1)
        else:
            yield block


def _is_heading(block: Block, following: Sequence[Block]) -> bool:
    """Whether a block is a heading, one that the rule right below it underlines, or a page's title.

    A title without marks is the page's first line, alone, and ends no sentence.
    """
    if block.form is not Form.PROSE or not following:
        return block.form is Form.HEADING
    below, last = following[0], block.lines[-1]
    if below.form is Form.RULE and last.number + 1 == below.lines[0].number:
        return True
    return last.number == 1 and not last.text.rstrip().endswith(_SENTENCE_ENDS)


class _Lifter:
    """Makes steps of the blocks of one passage."""

    def __init__(self, passage: Passage, told: set[str]) -> None:
        self._passage = passage
        self._told = told

    def lift(self, blocks: Sequence[Block]) -> Iterator[Lifted]:
        """Give the steps of consecutive blocks; code goes with what stands right above it."""
        heading: Block | None = None
        position = 0
        while position < len(blocks):
            block, position = blocks[position], position + 1
            behind = position
            while behind < len(blocks) and blocks[behind].form is Form.CODE:
                behind += 1
            if block.form is Form.ITEM:
                yield from self._item(block)
            elif _is_heading(block, blocks[position:]):
                heading = block
                continue
            elif block.form is Form.CODE:
                yield from self._code(heading, [block, *blocks[position:behind]])
                position = behind
            elif block.form is not Form.RULE:
                yield from self._words(block, blocks[position:behind])
                position = behind
            heading = heading if block.form is Form.RULE else None

    def _item(self, item: Block, depth: int = 0) -> Iterator[Lifted]:
        """Give a list item, and apart from it its inner items if any of them has commands."""
        blocks = list(blocks_of(inside(item)))
        items = [block for block in blocks if block.form is Form.ITEM]
        has_code = any(it.form is Form.CODE for it in _nested(items))
        inner = items if has_code and depth < MAX_DEPTH else []
        own = [block for block in blocks if block not in inner]
        yield from self._step(own, ORDERED if _ORDERED.match(item.lines[0].text) else BULLET)
        for block in inner:
            yield from self._item(block, depth + 1)

    def _code(self, heading: Block | None, codes: Sequence[Block]) -> Iterator[Lifted]:
        """Give code that only a heading introduces; other code lost its words to another chunk.

        Where all of the code is cut off, the heading alone asks for nothing.
        """
        if heading is not None:
            steps = self._step([heading, *codes], INTRODUCED)
            yield from (step for step in steps if step.commands)

    def _words(self, head: Block, codes: Sequence[Block]) -> Iterator[Lifted]:
        if head.form is Form.TABLE:
            yield from self._step([head], STEPS if is_of_steps(head) else ROWS)
        elif QUOTE_MARK.match(head.lines[0].text):
            yield from self._step([head, *codes], WARNING)
        elif not _POINTER.match(head.lines[0].text) and not is_rest_of_steps(head):
            yield from self._step([head, *codes], INTRODUCED if codes else PARAGRAPH)

    def _step(self, blocks: Sequence[Block], kind: Kind) -> Iterator[Lifted]:
        """Make one step of blocks: their words are the action, their code the commands.

        Words that only lead to a table or list of which nothing is given are none.
        """
        words: list[Line] = []
        numbers: set[int] = set()
        commands: list[Command] = []
        for block in blocks:
            if block.form is Form.CODE:
                language, code = code_of(block)
                if code.strip() and is_closed(block) and self._is_whole(block):
                    commands.append(Command(language, code))
                    numbers |= {line.number for line in block.lines}
            else:
                words += rows_of(block, self._told) if block.form is Form.TABLE else _plain(block)
        action = _CHECKBOX.sub("", "\n".join(line.text for line in words).strip()).strip()
        leads = kind is PARAGRAPH or any(block.form is Form.TABLE for block in blocks)
        if _says_something(action) and (commands or not leads or action[-1] != ":"):
            numbers |= {line.number for line in words}
            yield Lifted(action, tuple(commands), tuple(sorted(numbers)), self._passage, kind)

    def _is_whole(self, block: Block) -> bool:
        """Whether all lines were retrieved: code is not put together over a line nobody has seen."""
        return all(line.number in self._passage.entries for line in block.lines)


def _says_something(action: str) -> bool:
    return any(map(str.isalnum, action)) and not _NOTHING.match(action)


def _plain(block: Block) -> Iterator[Line]:
    """Give the lines of a block of words without the marks of a quote or heading, and indent."""
    mark = _MARKS.get(block.form)
    for line in block.lines:
        marked = mark.match(line.text) if mark else None
        bare = cut(line, marked.end()) if marked else line
        if bare.text.strip():
            plain = bare if block.form is Form.ITEM else dedented(bare, len(bare.text))
            yield plain._replace(text=plain.text.rstrip())
