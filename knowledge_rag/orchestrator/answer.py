"""Reads a model's verified answer: its steps, similar incidents, summary and analysis.

The agent's prompt asks for a format, and models follow it more or less. So the reader accepts headings,
bold labels, numbered labels or none at all, and steps as list items, table rows or sentences.
A step without a citation is counted and left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core import grammar
from knowledge_rag.core.chunking import markdown_blocks
from knowledge_rag.core.markdown import content_offset, line_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowledge_rag.guardrails.ledger import Cited
    from knowledge_rag.guardrails.verify import Verified

MAX_DEPTH: Final = 10
"""Maximum depth of nested lists; deeper ones are text."""

_GONE: Final = "\0"
"""Stands for a reference while the words around it are cleaned up."""
_TRACE: Final = re.compile(
    r"(?<![ \t])[ \t]*+(?:\((?:see|sources?)?:?[ \t]*+\0(?:[ \t,;&]|and|\0)*+\)"
    r"|\0(?:[ \t]*+(?:[,;&]|and)?+[ \t]*+\0)*+)"
)
"""References, the words that join them, and the brackets around them."""


class Form(Enum):
    """The type of a block."""

    HEADING = auto()
    ITEM = auto()
    CODE = auto()
    TABLE = auto()
    RULE = auto()
    PROSE = auto()


class Line(NamedTuple):
    """A line of an answer, or the rest of one after its indent or list mark, and its offset."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.start + len(self.text)


class Block(NamedTuple):
    """Lines that belong together."""

    form: Form
    lines: tuple[Line, ...]


def _lines_of(verified: Verified) -> tuple[Line, ...]:
    lines, start = [], 0
    for text in verified.text.replace(_GONE, "\ufffd").split("\n"):
        lines.append(Line(start, text.removesuffix("\r")))
        start += len(text) + 1
    return tuple(lines)


def _blocks_of(lines: Sequence[Line]) -> Iterator[Block]:
    source = "".join("\n" + line.text for line in lines)
    starts, position = [], 0
    for line in lines:
        starts.append(position)
        position += len(line.text) + 1
    for start, end, _ in markdown_blocks(source, 0, len(source)):
        first, behind = bisect_left(starts, start), bisect_left(starts, end)
        own = list(lines[first:behind])
        while own and not own[-1].text.strip():
            own.pop()
        if own:
            yield Block(_form(source, start), tuple(own))


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


def _inside(item: Block) -> tuple[Line, ...]:
    first, *rest = item.lines
    match = grammar.ITEM.match("\n" + first.text)
    if match is None:
        return item.lines
    offset = min(content_offset(match), len(first.text))
    return (_cut(first, offset), *(_dedented(line, offset) for line in rest))


def _cut(line: Line, count: int) -> Line:
    return line._replace(start=line.start + count, text=line.text[count:])


def _dedented(line: Line, columns: int) -> Line:
    indent = len(line.text) - len(line.text.lstrip(" \t"))
    return _cut(line, min(indent, columns))


def _code_of(block: Block) -> tuple[str, str]:
    # returns language and text
    first, *rest = block.lines
    fence = grammar.BLOCK_START.match("\n" + first.text)
    if fence is None or fence.lastgroup != "fence":
        return "", "\n".join(_dedented(line, 4).text for line in block.lines)
    marks = fence["fence"]
    indent = len(fence["indent"])
    info = first.text[indent + len(marks) :].strip().partition(" ")[0].lower()
    if rest and grammar.fence_close(marks).fullmatch("\n" + rest[-1].text):
        rest.pop()
    return info, "\n".join(_dedented(line, indent).text for line in rest)


def _cited_in(lines: Sequence[Line], citations: Sequence[Cited]) -> tuple[Cited, ...]:
    # both are in the order of the text
    if not lines:
        return ()
    first = bisect_left(citations, lines[0].start, key=lambda cited: cited.start)
    behind = bisect_left(citations, lines[-1].end, key=lambda cited: cited.start)
    return tuple(citations[first:behind])


def _text_of(lines: Sequence[Line], citations: Sequence[Cited]) -> str:
    """Return the lines' text without references and the words that join them.

    A document named in a sentence stays, as one of its words.
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


class Section(Enum):
    """The part of an answer that a label opens."""

    OPEN = auto()
    """No label yet, or one of another kind."""
    SUMMARY = auto()
    GUIDANCE = auto()
    SIMILAR = auto()
    ANALYSIS = auto()


@dataclass(frozen=True, slots=True)
class Part:
    """A step or a similar incident.

    Args:
        cited: its citations; a part without any is left out.
        start: offset in the answer of its first line.
        end: offset after its last line.
    """

    text: str
    commands: tuple[str, ...]
    cited: tuple[Cited, ...]
    start: int
    end: int


@dataclass(slots=True)
class Answer:
    """The parts of an answer, in its order; ``uncited`` are steps and incidents without a citation."""

    steps: list[Part] = field(default_factory=list)
    similar: list[Part] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)
    analysis: list[str] = field(default_factory=list)
    uncited: list[Part] = field(default_factory=list)


_LABEL: Final = re.compile(
    r"^[ \t>]*+(?:(?P<marks>#{1,6})[ \t]+)?(?:\d{1,2}[.)][ \t]+)?(?P<bold>[*_]{2,3})?[ \t]*+"
    r"(?P<name>[A-Za-z][A-Za-z /'-]{2,40}?)[ \t]*(?=[:*_#]|$)(?P<colon>:)?[ \t]*[*_]{0,3}[ \t]*"
    r"(?P<late>:)?[ \t]*(?:#+[ \t]*$)?(?P<rest>.*)$"
)
_NAMES: Final = {
    Section.SUMMARY: r"(?:executive )?summary|overview|tl;?dr",
    Section.GUIDANCE: r"guidance|(?:recommended |resolution |diagnosis |diagnostic |next |immediate )?"
    r"(?:steps|actions)|recommendations?|resolution|diagnosis|mitigation|remediation|verification"
    r"|rollback|procedure|escalation",
    Section.SIMILAR: r"(?:similar|past|previous|related|historical|earlier) incidents?"
    r"|postmortems?|history",
    Section.ANALYSIS: r"(?:my |own )?analysis|caveats|limitations|notes?|open questions|assessment",
}
_SECTIONS: Final = {section: re.compile(names, re.IGNORECASE) for section, names in _NAMES.items()}
_LEADS: Final = re.compile(r"summary|guidance|similar incidents?|analysis", re.IGNORECASE)
"""Labels that may share a line with their text; other words there belong to a step."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])[ \t\n]+(?=[A-Z`*\"(])")
_DELIMITER: Final = re.compile(r"[ \t|:-]+")
_BETWEEN: Final = re.compile(r"(?:[\s,;&]|and)*")
_CHECKBOX: Final = re.compile(r"\A\[[ xX]\][ \t]+")
_QUOTE_MARK: Final = re.compile(r"^ {0,3}>[ \t]?", re.MULTILINE)
_QUOTED: Final = frozenset({"text", "plaintext", "quote"})
"""Languages of code blocks that quote text rather than commands."""
_NO_LEVEL: Final = 7


def read_answer(verified: Verified, is_past: Callable[[Cited], bool]) -> Answer:
    """Read the parts of a verified answer; a sentence that cites only reports (`is_past`) isn't a step."""
    lines = _lines_of(verified)
    has_steps = any(block.form in (Form.ITEM, Form.TABLE) for block in _blocks_of(lines))
    reader = _Reader(verified.citations, is_past, has_steps=has_steps)
    reader.read(lines)
    return reader.answer


def is_label(paragraph: str) -> bool:
    """Whether a paragraph is nothing but the label of a part of an answer.

    >>> is_label("**Next steps:**"), is_label("Delete all steps:"), is_label("Steps: reboot it")
    (True, False, False)
    """
    label = _LABEL.match(paragraph)
    return label is not None and not label["rest"].strip() and _section(label["name"]) is not None


class _Reader:
    def __init__(
        self, citations: Sequence[Cited], is_past: Callable[[Cited], bool], *, has_steps: bool
    ) -> None:
        self.answer = Answer()
        self._citations = citations
        self._is_past = is_past
        self._has_steps = has_steps
        self._section = Section.OPEN
        self._level = _NO_LEVEL
        self._summed_up = False
        self._depth = 0

    def read(self, lines: Sequence[Line]) -> None:
        for head, *more in _groups(self._blocks(lines), self._is_reference):
            rest = self._enter(head)
            if rest:
                self._take([rest, *more])
            if rest is not head and self._section is Section.SUMMARY and self._summed_up:
                self._section = Section.OPEN  # a summary on the label's own line ends there

    def _blocks(self, lines: Sequence[Line]) -> Iterator[Block]:
        """Yield the blocks of lines; references alone on their lines are separate blocks.

        In Markdown, a line ``2. Wait`` right below a paragraph continues it, but after a reference below a
        step's code it is the next step.
        """
        for block in _blocks_of(lines):
            count = 0
            while count < len(block.lines) and self._is_reference(
                Block(Form.PROSE, block.lines[count : count + 1])
            ):
                count += 1
            if block.form is Form.PROSE and 0 < count < len(block.lines):
                yield Block(Form.PROSE, block.lines[:count])
                yield from self._blocks(block.lines[count:])
            else:
                yield block

    def _is_reference(self, block: Block) -> bool:
        cited = _cited_in(block.lines, self._citations)
        return bool(cited) and not _text_of(block.lines, cited).strip(" \t\n.,;()")

    # labels

    def _enter(self, block: Block) -> Block | None:
        """Enter the section that a block's label names; return the rest of the block."""
        if block.form not in (Form.HEADING, Form.PROSE, Form.ITEM):
            return None if block.form is Form.RULE else block
        first, *rest = block.lines
        text = first.text.lstrip("-+* ") if block.form is Form.ITEM else first.text
        label = _LABEL.match(text)
        section = _section(label["name"]) if label else None
        if block.form is Form.HEADING:
            self._enter_heading(section, label["marks"] if label else "#")
            return None
        if label is None or section is None or not _is_label(label, alone=not rest):
            return block
        self._section, self._level = section, _NO_LEVEL
        self._summed_up = bool(label["rest"].strip()) or len(rest) > 0
        return self._rest(block, label["rest"])

    def _enter_heading(self, section: Section | None, marks: str | None) -> None:
        level = len(marks or "#")
        if section is not None or level <= self._level:
            self._section = section or Section.OPEN
            self._level = level
            self._summed_up = False

    def _rest(self, block: Block, rest: str) -> Block | None:
        first, *more = _inside(block) if block.form is Form.ITEM else block.lines
        said = _cut(first, len(first.text) - len(rest))
        if block.form is Form.ITEM:
            if self._depth < MAX_DEPTH:
                self._depth += 1
                self.read([said, *more])
                self._depth -= 1
            return None
        lines = tuple(line for line in (said, *more) if line.text.strip())
        return Block(Form.PROSE, lines) if lines else None

    # content

    def _take(self, group: list[Block]) -> None:
        if self._section is Section.SUMMARY or self._section is Section.ANALYSIS:
            self._take_words(group)
        elif group[0].form is Form.ITEM:
            for part in self._of_item(group):
                self._add(part)
        elif group[0].form is Form.TABLE:
            for part in self._of_table(group[0]):
                self._add(part)
        else:
            self._take_prose(group)

    def _take_words(self, group: list[Block]) -> None:
        words = [_text_of(block.lines, self._citations) for block in group]
        said = self.answer.summary if self._section is Section.SUMMARY else self.answer.analysis
        said.append("\n\n".join(filter(None, words)))

    def _take_prose(self, group: list[Block]) -> None:
        parts = list(self._of_prose(group))
        opening = self._section is Section.OPEN and not self.answer.steps
        past = bool(parts) and all(self._is_past(it) for part in parts for it in part.cited)
        if opening and self._has_steps and len(group) == 1 and not past:
            self.answer.summary.append(_text_of(group[0].lines, self._citations))
        elif parts:
            for part in parts:
                self._add(part, past=self._section is Section.OPEN and past)
        elif group[0].form is Form.CODE or len(group) > 1:
            self.answer.uncited.append(self._part(group))
        elif self._section is Section.OPEN:
            said = self.answer.summary if opening else self.answer.analysis
            said.append(_text_of(group[0].lines, ()))

    def _add(self, part: Part, *, past: bool = False) -> None:
        if not any(map(str.isalnum, part.text)):
            return  # only references
        if not part.cited:
            self.answer.uncited.append(part)
        elif past or self._section is Section.SIMILAR:
            self.answer.similar.append(part)
        else:
            self.answer.steps.append(part)

    # steps

    def _of_item(self, group: list[Block], depth: int = 0) -> Iterator[Part]:
        blocks = [*_blocks_of(_inside(group[0])), *group[1:]]
        if not blocks:
            return
        children = [block for block in blocks if block.form is Form.ITEM]
        own = [block for block in blocks if block.form is not Form.ITEM]
        cited = any(_cited_in(child.lines, self._citations) for child in children)
        if not cited or depth == MAX_DEPTH:
            yield self._part(blocks)
            return
        if own and (part := self._part(own)).cited:
            yield part
        elif own and part.commands:
            self.answer.uncited.append(part)
        for child in children:
            yield from self._of_item([child], depth + 1)

    def _of_table(self, table: Block) -> Iterator[Part]:
        for line in table.lines[2:]:
            cited = _cited_in([line], self._citations)
            cells = _text_of([line], cited).strip().strip("|").split("|")
            text = " | ".join(filter(None, map(str.strip, cells)))
            yield Part(text, (), cited, line.start, line.end)

    def _of_prose(self, group: list[Block]) -> Iterator[Part]:
        head, *more = group
        cited = _cited_in(head.lines, self._citations)
        if not cited:
            part = self._part(group)
            if part.cited:
                yield part
            return
        sentences = list(_cited_sentences(head.lines, cited))
        for number, (text, behind) in enumerate(sentences, start=1):
            last = number == len(sentences)
            commands = tuple(filter(None, (code for _, code in _codes(more)))) if last else ()
            further = tuple(it for block in more for it in _cited_in(block.lines, self._citations))
            cites = behind + further if last else behind
            yield Part(text, commands, cites, head.lines[0].start, head.lines[-1].end)

    def _part(self, blocks: Sequence[Block]) -> Part:
        cited = tuple(it for block in blocks for it in _cited_in(block.lines, self._citations))
        words = [_text_of(block.lines, cited) for block in blocks if block.form is not Form.CODE]
        text = "\n".join(word for word in words if word.strip())
        text = _CHECKBOX.sub("", _QUOTE_MARK.sub("", text).strip()).strip()
        codes = _codes(blocks)
        if not text and codes:  # its text is code: a command alone, or a quotation
            text = codes[0][1]
            codes = codes[1:] if codes[0][0] in _QUOTED else codes
        commands = tuple(filter(None, (code for _, code in codes)))
        lines = [line for block in blocks for line in block.lines]
        return Part(text, commands, cited, lines[0].start, lines[-1].end)


def _groups(
    blocks: Iterator[Block], is_reference: Callable[[Block], bool]
) -> Iterator[list[Block]]:
    """Group code, and references alone on their lines, with the block before them."""
    group: list[Block] = []
    for block in blocks:
        follows = block.form is Form.CODE or (block.form is Form.PROSE and is_reference(block))
        if group and follows and group[0].form in (Form.ITEM, Form.PROSE, Form.CODE):
            group.append(block)
            continue
        if group:
            yield group
        group = [block]
    if group:
        yield group


def _codes(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [_code_of(block) for block in blocks if block.form is Form.CODE]


def _section(name: str) -> Section | None:
    return next((it for it, names in _SECTIONS.items() if names.fullmatch(name.strip())), None)


def _is_label(label: re.Match[str], *, alone: bool) -> bool:
    """Whether words that name a section are its label here."""
    marked = bool(label["bold"] or label["colon"] or label["late"])
    if label["rest"].strip():
        return bool(label["colon"] or label["late"]) and bool(_LEADS.fullmatch(label["name"]))
    return marked or alone


def _cited_sentences(
    lines: Sequence[Line], cited: Sequence[Cited]
) -> Iterator[tuple[str, tuple[Cited, ...]]]:
    """Yield each cited sentence of a paragraph with the references after it."""
    text = "\n".join(line.text for line in lines)
    place = _places(lines)
    places = [(place(it.start), place(it.end)) for it in cited]
    position, first = 0, 0
    for number, (_, end) in enumerate(places):
        if number + 1 < len(places) and _BETWEEN.fullmatch(text, end, places[number + 1][0]):
            continue
        said = _SENTENCE.split(text[position : places[first][0]].strip())[-1]
        said = _QUOTE_MARK.sub("", said).lstrip(".,;:) ").rstrip(" (")
        if said:
            yield said, tuple(cited[first : number + 1])
        position, first = end, number + 1


def _places(lines: Sequence[Line]) -> Callable[[int], int]:
    """Return a function from offsets in the answer to offsets in the joined lines."""
    starts = [line.start for line in lines]
    before = [0, *accumulate(len(line.text) + 1 for line in lines)]

    def place(offset: int) -> int:
        line = max(bisect_right(starts, offset) - 1, 0)
        return before[line] + min(max(offset - starts[line], 0), len(lines[line].text))

    return place
