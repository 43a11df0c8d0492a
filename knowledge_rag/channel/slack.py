"""Writes a message as Block Kit, for ``chat.postMessage``.

Everything is in ``rich_text`` blocks. Their texts are literal, so a document or a model can't write a link, a mention
or markup there: the only links are elements that this module makes from citations. Commands are preformatted
elements, which copy verbatim. A quote is a model's, and nothing else is quoted.

A message that is too long for Slack continues in its thread. A step stays with the lines that govern it.

Buttons are below the last message; the one that copies commands is below each message that has some. Their labels
are plain text in which nothing can be a link, a mention or a citation, and their values are signed, see
:mod:`~knowledge_rag.channel.buttons`.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass, replace
from itertools import accumulate, chain, takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Final

from knowledge_rag.channel.buttons import Act, is_receipt
from knowledge_rag.channel.marks import Writer, citations_of, plain, rows_of, tree_of, units_of
from knowledge_rag.channel.message import BY_MODEL, document_of, lines_of, where
from knowledge_rag.channel.text import BRACKETS, numbers_of
from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markdown_it.tree import SyntaxTreeNode

    from knowledge_rag.channel.buttons import Buttons
    from knowledge_rag.channel.marks import Reference
    from knowledge_rag.channel.message import Message, Place

MAX_BLOCKS: Final = 50
MAX_CHARACTERS: Final = 3000
"""Maximum characters of a block's texts."""

MAX_BYTES: Final = 12_000
"""Maximum of a message's blocks as JSON: Slack refuses about 13,200 as ``msg_blocks_too_long``, an undocumented limit
(https://github.com/slackapi/bolt-js/issues/2509)."""

MAX_MESSAGES: Final = 5
"""Maximum messages, with those in the thread; the last one counts the parts left out."""

MAX_WHOLE: Final = 25
"""The same if somebody asked for all steps."""

MAX_LABEL: Final = 75
MAX_BUTTONS: Final = 25
"""Maximum elements of a block."""

MAX_OPTIONS: Final = 100
ACTION: Final = "knowledge-rag-"
"""Prefix of our buttons' ids; the action follows."""

TEXT_ERRORS: Final = (
    "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text",
)  # fmt: skip
"""Slack's errors about a message's text (https://docs.slack.dev/reference/methods/chat.postMessage)."""

_ROOM: Final = 4
"""Blocks reserved for the foot: sources and the receipt."""

_NUMBER: Final = re.compile(r"\[(\d+)\]")

_CODE: Final = "rich_text_preformatted"

Element = dict[str, Any]
"""An element of a ``rich_text`` block."""


def to_slack(
    message: Message, buttons: Buttons | None = None, most: int = MAX_MESSAGES
) -> list[dict[str, Any]]:
    """Return the messages to post, at most ``most``, the first in the channel and the others in its thread.

    Each has ``text`` (for notifications), ``blocks`` and the settings that keep Slack from adding links or previews.
    ``buttons`` is ``None`` if no app is running to answer them.
    """
    pages = _pages(message, buttons, most)
    told, of = f"{message.title}: {message.outcome}", len(pages)
    return [
        _settings(f"{told} ({number}/{of})" if of > 1 else told, blocks)
        for number, blocks in enumerate(pages, start=1)
    ]


def notice_blocks(words: str) -> dict[str, Any]:
    """Return a one-line message in our own words."""
    return _settings(words, [_rich([_section(list(_said(words)))])])


def refused_part(error: str, about: str = "") -> dict[str, Any]:
    """Return the replacement for a part of an answer that Slack refused, so that steps don't go missing silently."""
    to = f" to {about}" if about else ""
    return notice_blocks(
        f"Slack refused a part of the answer{to} ({error}). Steps are missing here."
    )


def _settings(text: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "text": _flat(text),
        "blocks": blocks,
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


@dataclass(frozen=True, slots=True)
class _Unit:
    """Elements that belong together: a step, with the lines that govern it, and the numbers of its citations."""

    blocks: list[dict[str, Any]]
    numbers: frozenset[int]

    def apart(self) -> Iterator[_Unit]:
        """Yield its blocks one by one, each with the numbers it shows; those inside code count for the last one."""
        shown = [self.numbers & _numbers_of(block) for block in self.blocks]
        for block, own in zip(self.blocks[:-1], shown, strict=False):
            yield _Unit([block], own)
        hidden = self.numbers.difference(*shown)
        yield _Unit(self.blocks[-1:], frozenset().union(*shown[-1:], hidden))


def _pages(message: Message, buttons: Buttons | None, most: int) -> list[list[dict[str, Any]]]:
    writer = _Writer(message)
    foot = _Foot(message, buttons)
    whole = [_head(message), *writer.units(), *_tail(message)]
    pages: list[list[_Unit]] = [[]]
    left: list[_Unit] = []
    for position, unit in enumerate(whole):
        tried = [*map(list, pages)]
        for part in [unit] if foot.fits([unit]) else unit.apart():
            if tried[-1] and not foot.fits([*tried[-1], part]):
                tried.append([])
            tried[-1].append(part)
        if len(tried) > most:  # a step is posted whole or not at all
            left = whole[position:]
            break
        pages = tried
    if left:
        pages[-1].append(_left_out(message, left))
    last = len(pages)
    return [
        foot.page(page, is_last=number == last, is_cut=bool(left))
        for number, page in enumerate(pages, start=1)
    ]


def _left_out(message: Message, left: Sequence[_Unit]) -> _Unit:
    """Return the line that says how much is missing, and where it begins."""
    line = [_words(f"{counted(len(left), 'further part')} not posted here", italic=True)]
    numbers = frozenset([min(unit.numbers) for unit in left if unit.numbers][:1])
    for number in numbers:
        line += _said(f". They begin at {where(message.places[number - 1])} ", italic=True)
        line.append(_link(message, number))
    return _Unit([_rich([_section([*line, _words(".", italic=True)])])], numbers)


@dataclass(frozen=True, slots=True)
class _Foot:
    """The foot of a page: its sources, and at the end of a message the receipt and the buttons."""

    message: Message
    buttons: Buttons | None

    def fits(self, units: Sequence[_Unit]) -> bool:
        blocks = [block for unit in units for block in unit.blocks]
        below = self.below(units, is_last=True, is_cut=True)
        count = len(blocks) + max(_ROOM, len(below) + 1)
        return count <= MAX_BLOCKS and _size(blocks) + _size(below) <= MAX_BYTES

    def page(self, units: Sequence[_Unit], *, is_last: bool, is_cut: bool) -> list[dict[str, Any]]:
        """Return the blocks of a page; one large unit loses its buttons rather than be refused."""
        blocks = [block for unit in units for block in unit.blocks]
        whole = blocks + self.below(units, is_last=is_last, is_cut=is_cut)
        if _size(whole) <= MAX_BYTES:
            return whole
        return blocks + replace(self, buttons=None).below(units, is_last=is_last, is_cut=is_cut)

    def below(self, units: Sequence[_Unit], *, is_last: bool, is_cut: bool) -> list[dict[str, Any]]:
        numbers = frozenset(chain.from_iterable(unit.numbers for unit in units))
        sources = _sources(self.message, numbers)
        if not is_last:  # above the sources, which would otherwise look like the end
            made = [_aside("The next part is in the thread."), *sources]
        elif self.message.receipt:
            made = [*sources, _aside(f"Receipt {self.message.receipt}")]
        else:
            made = sources
        if self.buttons is None or not self.message.receipt:
            return made
        commands, _ = commands_in([block for unit in units for block in unit.blocks])
        elements = list(self._of_answer(self.buttons, is_cut=is_cut)) if is_last else []
        if commands:
            copies = self.buttons.value(Act.COPY, self.message.receipt, 0, commands)
            elements.append(_button(Act.COPY, "Copy commands", copies))
        if is_last and self.message.places and is_receipt(self.message.receipt):
            wrong = self.buttons.value(Act.WRONG, self.message.receipt)
            elements.append(_button(Act.WRONG, "Wrong citation", wrong))
        return [*made, *_actions(elements)]

    def _of_answer(self, buttons: Buttons, *, is_cut: bool) -> Iterator[Element]:
        """Yield a button for each possible procedure, or for all steps if some are left out."""
        for position, it in enumerate(self.message.offers, start=1):
            act = Act.CHOOSE if it.name else Act.ALL
            if it.name or is_cut or self.message.folded:
                receipt = it.receipt or self.message.receipt
                value = buttons.value(act, receipt, it.number or position)
                label = f"{position}. {it.name}" if it.name else "Show all steps"
                yield _button(act, label, value, position)


def commands_in(
    blocks: Sequence[dict[str, Any]], read: Callable[[str], str] = str
) -> tuple[list[str], int]:
    """Return the commands in a message's blocks that are safe to show alone, and the number of destructive ones.

    Destructive commands are never shown without their step, which has the lines that guard them. ``read`` returns a text
    as displayed.
    """
    rich = (it for block in blocks if block.get("type") == "rich_text" for it in block["elements"])
    code = (it for it in rich if it.get("type") == _CODE)
    pieces = (piece for it in code for piece in it["elements"])
    texts = [read(str(it.get("text", ""))).rstrip("\n") for it in pieces]
    alone = [it for it in texts if not dangers_in(it)]
    return alone, len(texts) - len(alone)


def commands_blocks(commands: Sequence[str], destructive: int) -> dict[str, Any]:
    """Return a message of only commands, each in its own code block, and the number of those left out."""
    blocks = _blocks({"type": _CODE, "elements": [_words(it)]} for it in commands)
    left = ""
    if destructive:
        left = f"{counted(destructive, 'destructive command')} left out: copy from the step, below its conditions."
        blocks += _blocks([_section(list(_said(left)))])
    return _settings(f"{counted(len(commands), 'command')}. {left}".strip(), blocks)


def citations_blocks(places: Sequence[Place], receipt: str, buttons: Buttons) -> dict[str, Any]:
    """Return a message that asks which citation is wrong."""
    options = [
        {
            "text": _label(f"{number}. {where(cited)}", tail=True),
            "value": buttons.value(Act.WHICH, receipt, number),
        }
        for number, cited in enumerate(places[:MAX_OPTIONS], start=1)
    ]
    select = {
        "type": "static_select",
        "action_id": ACTION + Act.WHICH,
        "placeholder": _label("Which citation?"),
        "options": options,
    }
    words = "Which citation is wrong?"
    if len(places) > MAX_OPTIONS:
        words += f" The first {MAX_OPTIONS} of {len(places)} are listed."
    return _settings(words, [_rich([_section([_words(words)])]), *_actions([select])])


def _actions(elements: Sequence[Element]) -> list[dict[str, Any]]:
    return [
        {"type": "actions", "elements": list(elements[start : start + MAX_BUTTONS])}
        for start in range(0, len(elements), MAX_BUTTONS)
    ]


def _button(act: Act, label: str, value: str, number: int = 0) -> Element:
    action = f"{ACTION}{act}" + (f"-{number}" if act is Act.CHOOSE else "")
    return {"type": "button", "action_id": action, "text": _label(label), "value": value}


def _label(text: str, *, tail: bool = False) -> dict[str, Any]:
    """Return a label of at most MAX_LABEL characters, without markup, links, mentions or citations."""
    shown = _inert(plain(text)).translate(_OTHER_BRACKETS)
    units = shown.encode("utf-16-le", "replace")  # as JavaScript counts
    if len(units) > 2 * MAX_LABEL:
        kept = 2 * (MAX_LABEL - 1)
        part = (units[-kept:] if tail else units[:kept]).decode("utf-16-le", "ignore")
        shown = f"…{part}" if tail else f"{part}…"
    return {"type": "plain_text", "text": shown, "emoji": False}


_OTHER_BRACKETS: Final = str.maketrans("[]<>", "()‹›")


def _numbers_of(block: dict[str, Any]) -> frozenset[int]:
    """Return the numbers of the citations that a block shows outside code."""
    words = (it for it in block["elements"] if it["type"] != _CODE)
    pieces = (it for element in words for it in element["elements"])
    shown = (it["text"] for it in pieces if not it.get("style", {}).get("code"))
    return frozenset(int(it) for text in shown for it in _NUMBER.findall(text))


def _size(blocks: Sequence[dict[str, Any]]) -> int:
    return sum(len(json.dumps(block, ensure_ascii=True)) for block in blocks)


def _head(message: Message) -> _Unit:
    lines = [
        _said(message.title, bold=True),
        *map(_said, message.about),
        _said(message.outcome),
        *(_said(f"- {line}") for line in message.warnings),
    ]
    elements = [_section([*line, _words("\n")]) for line in lines]
    if message.by_model:
        elements.append(_section([_words(BY_MODEL, bold=True)]))
    return _Unit(_blocks(elements), frozenset())


def _tail(message: Message) -> Iterator[_Unit]:
    if message.reading:
        named = [(name, message.number(citation)) for name, citation in message.reading]
        elements = [_section([_words(f"{message.reading_title}:\n", bold=True)])]
        elements += [
            _section([*_said(f"- {name} "), _link(message, number), _words("\n")])
            for name, number in named
        ]
        yield _Unit(_blocks(elements), frozenset(number for _, number in named))
    if message.unknown:
        yield _Unit(_blocks([_section(list(_said(message.unknown)))]), frozenset())


def _sources(message: Message, numbers: frozenset[int]) -> list[dict[str, Any]]:
    """Return the list of citations: a line for each document, with the number and lines of each."""
    if not numbers:
        return []
    by_file: dict[str, list[int]] = {}
    for number in sorted(numbers):
        by_file.setdefault(document_of(message.places[number - 1]), []).append(number)
    elements = [_section([_words("Sources", bold=True), _words("\n")])]
    for document, own in by_file.items():
        line = list(_said(f"{document}: "))
        for number in own:
            line += [_link(message, number), _words(f" {lines_of(message.places[number - 1])}  ")]
        elements.append(_section([*line, _words("\n")]))
    return _blocks(elements)


def _aside(words: str) -> dict[str, Any]:
    return _rich([_section([_words(words, italic=True)])])


def _link(message: Message, number: int) -> Element:
    """Return a citation's number, linked to its lines if possible."""
    shown = f"[{number}]"
    if url := message.url(message.places[number - 1]):
        return {"type": "link", "url": url, "text": shown}
    return _words(shown)


def _flat(told: str) -> str:
    """Return the text of a notification: entities escaped, no address and no mention."""
    return _inert(html.escape(told, quote=False))[:MAX_CHARACTERS]


def _inert(text: str) -> str:
    """Return a text without addresses and mentions."""
    return text.replace("@", "@ ").replace("://", ": //")


def _words(text: str, **style: bool) -> Element:
    return {"type": "text", "text": text} | ({"style": style} if style else {})


def _said(text: str, **style: bool) -> Iterator[Element]:
    """Yield words, with their brackets as code: only citations have plain ones."""
    behind = 0
    for found in BRACKETS.finditer(text):
        if found.start() > behind:
            yield _words(text[behind : found.start()], **style)
        yield _words(found[0], **{**style, "code": True})
        behind = found.end()
    if behind < len(text):
        yield _words(text[behind:], **style)


def _section(elements: Sequence[Element]) -> Element:
    return {"type": "rich_text_section", "elements": _joined(elements)}


def _joined(elements: Iterable[Element]) -> list[Element]:
    """Join neighbours of the same style."""
    made: list[Element] = []
    for it in elements:
        plain_before = made and made[-1]["type"] == it["type"] == "text"
        if plain_before and made[-1].get("style") == it.get("style"):
            made[-1] = {**made[-1], "text": made[-1]["text"] + it["text"]}
        else:
            made.append(it)
    return made


def _rich(elements: Sequence[Element]) -> dict[str, Any]:
    return {"type": "rich_text", "elements": list(elements)}


def _blocks(elements: Iterable[Element]) -> list[dict[str, Any]]:
    """Put elements into blocks of about MAX_CHARACTERS, and cut longer ones."""
    blocks: list[dict[str, Any]] = []
    used = MAX_CHARACTERS
    for element in chain.from_iterable(map(_cut, elements)):
        size = sum(map(_length, element["elements"]))
        if used + size > MAX_CHARACTERS:
            blocks.append(_rich([]))
            used = 0
        blocks[-1]["elements"].append(element)
        used += size
    return blocks


def _length(element: Element) -> int:
    """Return an element's size in a message: as JSON, where a letter beyond ASCII has six characters or more."""
    return len(json.dumps(element))


def _cut(element: Element) -> Iterator[Element]:
    """Yield an element in pieces of at most MAX_CHARACTERS; code is cut between lines if they are short enough."""
    piece: list[Element] = []
    used = 0
    for it in element["elements"]:
        for part in _parts(it):
            if piece and used + _length(part) > MAX_CHARACTERS:
                yield {**element, "elements": piece}
                piece, used = [], 0
            piece.append(part)
            used += _length(part)
    if piece:
        yield {**element, "elements": piece}


def _parts(element: Element) -> Iterator[Element]:
    text = element["text"]
    room = MAX_CHARACTERS - _length({**element, "text": ""})
    while "url" not in element and _length({**element, "text": text}) > MAX_CHARACTERS:
        sizes = accumulate(len(json.dumps(it)) - 2 for it in text)
        fits = sum(1 for _ in takewhile(room.__ge__, sizes))
        end = text.rfind("\n", 1, fits) + 1 or fits
        yield {**element, "text": text[:end]}
        text = text[end:]
    if text:
        yield {**element, "text": text}


class _Writer(Writer[Element]):
    breaks: ClassVar = {"softbreak": _words(" "), "hardbreak": _words("\n")}

    def __init__(self, message: Message) -> None:
        super().__init__(message.references)
        self.message = message
        self._numbers: set[int] = set()
        self._line: list[Element] = []
        self._made: list[Element] = []

    def units(self) -> Iterator[_Unit]:
        """Yield the units: a step's introduction belongs to the step."""
        for unit in units_of(tree_of(self.message.marked)):
            for node in unit:
                if node.type == "list_item":
                    self._item(node, node.parent.type if node.parent else "", "")
                else:
                    self._block(node, "")
            yield self._unit()
        self._line += self.lost()
        self._end_line()
        if self._made:
            yield self._unit()

    def _unit(self) -> _Unit:
        numbers = frozenset(self._numbers)
        made, self._made = self._made, []
        self._numbers.clear()
        return _Unit(_blocks(made), numbers)

    def _end_line(self, indent: str = "") -> None:
        """Turn the line into a section, quoted if a model wrote it."""
        if self._line:
            kind = "rich_text_quote" if self.message.by_model else "rich_text_section"
            lead = [_words(indent)] if indent else []
            end = [] if self.message.by_model else [_words("\n")]
            self._made.append({"type": kind, "elements": _joined([*lead, *self._line, *end])})
            self._line = []

    def _block(self, node: SyntaxTreeNode, indent: str) -> None:
        match node.type:
            case "heading":
                self._line += self.pieces(node.children, bold=True)
                self._end_line()
            case "blockquote":  # a document's: it governs the step below
                for child in node.children:
                    self._block(child, indent)
            case "bullet_list" | "ordered_list":
                self._end_line(indent)
                for item in node.children:
                    self._item(item, node.type, indent + "    ")
            case "fence" | "code_block":
                self._end_line(indent)
                self._commands(self.as_written(node.content).removesuffix("\n"))
            case "table":
                for row in rows_of(node):
                    self._row(row, indent)
            case _:  # a rule has no words
                self._line += self.pieces(node.children)
                self._end_line(indent)

    def _row(self, row: Sequence[SyntaxTreeNode], indent: str) -> None:
        for position, cell in enumerate(row):
            self._line += [_words(" | ")] if position else []
            self._line += self.pieces(cell.children)
        self._end_line(indent)

    def _item(self, item: SyntaxTreeNode, kind: str, indent: str) -> None:
        mark = f"{item.info}{item.markup}" if kind == "ordered_list" else "•"
        self._line.append(_words(f"{indent}{mark} "))
        for child in item.children:
            self._block(child, "" if self._line else indent + "    ")
        self._end_line()

    def _commands(self, text: str) -> None:
        code = plain(text)
        if not code.strip():
            return
        if self.message.by_model:  # a command could imitate a citation as well
            self._made.append({"type": "rich_text_quote", "elements": [_words(code, code=True)]})
        else:
            self._made.append({"type": _CODE, "elements": [_words(code)]})

    def words(self, text: str, **style: bool) -> Iterator[Element]:
        return _said(plain(text), **style)

    def code(self, text: str, **style: bool) -> Iterator[Element]:
        if shown := plain(text):
            yield _words(shown, **{**style, "code": True})

    def emphasised(self, node: SyntaxTreeNode, **style: bool) -> Iterator[Element]:
        named = {"em": "italic", "strong": "bold", "s": "strike"}[node.type]
        return self.pieces(node.children, **{**style, named: True})

    def cited(self, reference: Reference) -> Iterator[Element]:
        for position, citation in enumerate(citations_of(reference)):
            own = self.message.number(citation)
            self._numbers.add(own)
            yield from [_words(" ")] if position else []
            yield _link(self.message, own)

    def in_code(self, reference: Reference) -> str:
        self._numbers |= {self.message.number(one) for one in citations_of(reference)}
        return numbers_of(self.message, reference)
