"""Procedures: the unit of advice. A section, or what of a page belongs together, whole and in its order.

Nothing is chosen inside one: every list item, row, command and paragraph of it is an item or governs one. What
it leaves out is named by its lines: sections of another time, what was not retrieved, what exceeds a limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.governing import (
    NEVER,
    Governing,
    Governs,
    governs,
    is_obsolete,
    is_precondition,
    is_struck,
    prohibits,
    says_nothing,
    warns,
)
from knowledge_rag.orchestrator.headings import ACTIONS, Kind
from knowledge_rag.orchestrator.headings import NEVER as NEVER_SECTIONS
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Block, ListItem, Outline, Section

MAX_ITEMS: Final = 100
"""Items of one procedure that are shown; the sections behind them are named with their lines."""

_LIST_MARK: Final = re.compile(
    r"^[ \t]*(?:[-*+]|(?:\d{1,9}|[a-i])\\?[.)])(?:[ \t]+|$)(?:\[[ xX]\][ \t]+)?"
)
_QUOTE_MARKS: Final = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_FACT: Final = re.compile(
    r"^\W*(?:owners?|owned by|threshold|severity|team|alerts?|alarms?|service|dashboards?|contacts?|slack|channel|source|labels?"
    r"|last[_ ]review\w*|rev(?:ision)?|created by|status|version|author|expression|video|related|see also|references?|further reading|links?)\b[^:.]{0,40}:",
    re.IGNORECASE,
)
"""A line that states a fact of the page: nothing to do."""
_ITEM_OBSOLETE: Final = re.compile(
    r"^\W*(?:\((?:obsolete|deprecated|old|removed|superseded|no longer[^)]*)\)|(?:obsolete|deprecated|superseded|no longer (?:needed|used|necessary|valid))\b[^:]{0,40}:)"
    r"|\((?:obsolete|deprecated|superseded|no longer (?:needed|used|necessary|valid)|not needed (?:any ?more|since))[^)]{0,80}\)"
    r"|[.:;,–—-]\s*(?:this (?:step )?is )?(?:obsolete|no longer (?:needed|necessary|used)|not needed (?:any ?more|since)[^.]{0,40})[\s.]*$",
    re.IGNORECASE,
)
_INLINE_COMMAND: Final = re.compile(r"`(?:\$ ?|\./|/)?[\w./-]+ [^`\n]+`|^\s*`[^`\n]{2,}`[\s.]*$")
_HIDDEN: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAGS: Final = re.compile(r"<[^<>\n]{0,300}>")
_ROW_RULE: Final = re.compile(r"^[ \t|:-]+$")


class Why(StrEnum):
    """Why lines of a procedure are not shown."""

    NOT_RETRIEVED = "not_retrieved"
    """They may hold more of it; retrieval did not return them for this request."""
    PROHIBITED = "prohibited"
    """A section of what must not be done."""
    OBSOLETE = "obsolete"
    """A section of what was done once."""
    LIMIT = "limit"
    """More than a person can follow."""
    ELSEWHERE = "elsewhere"
    """The procedure goes on in a section or document that could not be retrieved."""
    NOT_GIVEN = "not_given"
    """A model that draws on the procedure left them out."""


@dataclass(frozen=True, slots=True)
class NotShown:
    """Lines that belong to a procedure and are not shown.

    Args:
        source_file: their document.
        start: first line, 1-based; 0 where the place is unknown.
        end: last line, inclusive.
        why: the reason.
        heading: of the section, ``""`` if it has none.
    """

    source_file: str
    start: int
    end: int
    why: Why
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """Text or code of an item, in the author's order.

    Args:
        text: without indent and list mark; of code, without its fence.
        is_code: whether it is a code block.
        language: what the fence says the code is, ``""`` if nothing.
    """

    text: str
    is_code: bool = False
    language: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """One step as its author wrote it.

    Args:
        number: the author's own mark where it counts: ``3.``, ``a)``; ``""`` for bullets and prose.
        parts: what it says and runs, in order.
        start: first line, 1-based.
        end: last line, inclusive.
        path: headings above it.
        kind: what its section is for.
        governing: what governs it, in the order of lines.
    """

    number: str
    parts: tuple[Part, ...]
    start: int
    end: int
    path: tuple[str, ...]
    kind: Kind
    governing: tuple[Governing, ...] = ()

    @property
    def text(self) -> str:
        """What it says, without its code blocks; of code alone, the code."""
        said = "\n".join(part.text for part in self.parts if not part.is_code)
        return said if said.strip() else "\n".join(part.text for part in self.parts)

    @property
    def commands(self) -> tuple[str, ...]:
        """Its code blocks."""
        return tuple(part.text for part in self.parts if part.is_code)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure of one document.

    Args:
        source_file: the document.
        path: headings of its section, outermost first.
        kind: what it is for.
        items: at least one.
        not_shown: what of it is left out.
        alert: the alert of a group that it is for; ``""`` where there is one alert only.
    """

    source_file: str
    path: tuple[str, ...]
    kind: Kind
    items: tuple[Item, ...]
    not_shown: tuple[NotShown, ...] = ()
    alert: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether all of it is shown that its author means to be done."""
        return all(it.why in (Why.PROHIBITED, Why.OBSOLETE) for it in self.not_shown)

    @property
    def lines(self) -> set[int]:
        """Numbers of all lines that its items and what governs them stand on."""
        return {
            number
            for item in self.items
            for start, end in spans(item)
            for number in range(start, end + 1)
        }


def spans(item: Item) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of an item and of what governs it, the item's own first."""
    yield item.start, item.end
    for it in item.governing:
        yield it.start, it.end


@dataclass(slots=True)
class _Collected:
    items: list[Item] = field(default_factory=list)
    pending: list[Governing] = field(default_factory=list)
    not_shown: list[NotShown] = field(default_factory=list)


def procedure_of(
    outline: Outline, section: Section, *, leave_out: Iterable[Section] = (), alert: str = ""
) -> Procedure | None:
    """Return a section, all below it included, as a procedure; ``None`` if it asks for nothing.

    Args:
        outline: the document.
        section: of it.
        leave_out: sections below it that are given elsewhere.
        alert: of a group that it is for.
    """
    out = set(map(id, leave_out))
    collected = _Collected()
    _collect(outline, section, section, out, collected)
    if not collected.items:
        return None
    _settle(collected)
    collected.not_shown += [
        NotShown(outline.source_file, a, b, Why.NOT_RETRIEVED, section.heading)
        for a, b in outline.gaps(section.start, max(section.end, section.start))
    ]
    if outline.whole is False and _may_go_on(outline, section):
        collected.not_shown.append(
            NotShown(
                outline.source_file,
                section.end + 1,
                section.end + 1,
                Why.NOT_RETRIEVED,
                section.heading,
            )
        )
    items = collected.items
    if len(items) > MAX_ITEMS:
        cut = items[MAX_ITEMS:]
        collected.not_shown.append(
            NotShown(
                outline.source_file,
                cut[0].start,
                cut[-1].end,
                Why.LIMIT,
                cut[0].path[-1] if cut[0].path else "",
            )
        )
        items = items[:MAX_ITEMS]
    kinds = [it.kind for it in items if it.kind is not Kind.OTHER]
    kind = _kind_of(section) or (kinds[0] if kinds and len(set(kinds)) == 1 else Kind.OTHER)
    return Procedure(
        outline.source_file, section.path, kind, tuple(items), tuple(collected.not_shown), alert
    )


def _may_go_on(outline: Outline, section: Section) -> bool:
    """Whether what was retrieved ends with the section, so that more of it may follow."""
    return max(outline.lines) <= section.end


def _kind_of(section: Section) -> Kind | None:
    found = (it.kind for it in (section, *section.above()) if it.kind in ACTIONS and it.level)
    return next(found, None)


def cautions_of(outline: Outline, section: Section) -> list[Governing]:
    """Return the paragraphs of a section's own text that warn or require; of its subsections none."""
    found = []
    for block in section.blocks:
        text = _plain(outline, block)
        if block.form in (Form.PARAGRAPH, Form.QUOTE) and warns(text) and not says_nothing(text):
            kind = Governs.PRECONDITION if is_precondition(text) else Governs.CAUTION
            found.append(Governing(text, kind, block.start, block.end))
    return found


def asks_for_something(outline: Outline, section: Section) -> bool:
    """Whether there is a list, a table, code, or prose of a kind that says what to do, in or below it."""
    return any(
        block.form in (Form.LIST, Form.TABLE, Form.CODE)
        or (
            part.kind in ACTIONS
            and block.form is Form.PARAGRAPH
            and not says_nothing(_plain(outline, block))
        )
        or (block.form is Form.HTML and "<li" in _raw(outline, block).casefold())
        or (
            block.form is Form.PARAGRAPH
            and "`" in _plain(outline, block)
            and part.kind is not Kind.BACKGROUND
        )
        for part in section.walk()
        if not _is_out(part, section)
        for block in part.blocks
    )


def action_lines(outline: Outline, section: Section) -> int:
    """Count the lines of lists, tables and code in and below a section."""
    return sum(
        sum(
            1
            for number in range(block.start, block.end + 1)
            if outline.lines.get(number, "").strip()
        )
        for part in section.walk()
        if not _is_out(part, section)
        for block in part.blocks
        if block.form in (Form.LIST, Form.TABLE, Form.CODE)
    )


def _is_out(part: Section, root: Section) -> bool:
    """Whether a section is, or stands below, one that describes or forbids."""
    within = [part, *(it for it in part.above() if root.holds(it))]
    return any(
        it.kind in NEVER_SECTIONS or it.kind is Kind.BACKGROUND for it in within if it is not root
    )


def _collect(
    outline: Outline, section: Section, root: Section, out: set[int], collected: _Collected
) -> None:
    if id(section) in out:
        return
    if section is not root and section.kind in NEVER_SECTIONS:
        why = Why.PROHIBITED if section.kind is Kind.PROHIBITED else Why.OBSOLETE
        collected.not_shown.append(
            NotShown(outline.source_file, section.start, section.end, why, section.heading)
        )
        return
    if section is not root and section.kind is Kind.BACKGROUND:
        collected.pending += cautions_of(outline, section)
        return
    before = len(collected.items)
    _collect_own(outline, section, collected)
    for child in section.children:
        _collect(outline, child, root, out, collected)
    if section.heading and section.level and len(collected.items) > before:
        _head(outline, section, collected, before)


def _head(outline: Outline, section: Section, collected: _Collected, before: int) -> None:
    """Let a heading govern what stands below it: all of it where it is a condition, else the first item."""
    kind = governs(section.heading)
    text = outline.text(section.start, max(section.start, section.heading_end))
    heading = Governing(text, Governs.NOTE, section.start, max(section.start, section.heading_end))
    if kind is Governs.CONDITION and section.kind not in ACTIONS:
        heading = replace(heading, kind=Governs.CONDITION)
        for place in range(before, len(collected.items)):
            collected.items[place] = governed(collected.items[place], heading)
    else:
        collected.items[before] = governed(collected.items[before], heading)


def governed(item: Item, *more: Governing) -> Item:
    known = {(it.start, it.end) for it in item.governing}
    added = [it for it in more if (it.start, it.end) not in known]
    return replace(
        item, governing=tuple(sorted((*item.governing, *added), key=lambda it: it.start))
    )


def _collect_own(outline: Outline, section: Section, collected: _Collected) -> None:
    """Go through the blocks of a section's own text."""
    prose = (section.kind in ACTIONS and section.level > 1) or not any(
        block.form in (Form.LIST, Form.TABLE, Form.CODE)
        for part in section.walk()
        for block in part.blocks
    )
    first = len(collected.items)
    blocks = section.blocks
    position = 0
    while position < len(blocks):
        block = blocks[position]
        following = blocks[position + 1] if position + 1 < len(blocks) else None
        text = _plain(outline, block)
        position += 1
        if block.form is Form.PARAGRAPH:
            if says_nothing(text):
                continue
            if following and following.form is Form.CODE:
                position = _take_introduced(outline, section, position - 1, collected)
            elif following and following.form in (Form.LIST, Form.TABLE):
                collected.pending.append(_governing(text, block))
            elif (
                prose and not _FACT.match(text) and not _only_warns(text) and section.level
            ) or _is_command(text):
                collected.items.append(_item(section, "", (Part(text),), block.start, block.end))
                _attach_pending(collected)
            else:
                _note(collected, first, _governing(text, block, plain=True), following is None)
        elif block.form is Form.QUOTE:
            _note(collected, first, _governing(text, block, plain=True), following is None)
        elif block.form is Form.LIST:
            _take_list(outline, section, block, collected)
        elif block.form is Form.TABLE:
            _take_table(outline, section, block, collected)
        elif block.form is Form.CODE:
            _take_code(outline, section, block, collected, first)
        elif block.form is Form.HTML:
            _take_html(outline, section, block, collected)


def _only_warns(text: str) -> bool:
    """Whether a paragraph of prose is a caution rather than a step: it opens with a prohibition or a mark."""
    return prohibits(text) or bool(
        re.match(r"^\W*(?:warning|caution|note|important|danger)\b", text, re.IGNORECASE)
    )


def _is_command(text: str) -> bool:
    """Whether a paragraph holds a command line in code marks, and doesn't forbid it."""
    return not prohibits(text) and bool(_INLINE_COMMAND.search(text))


def _governing(text: str, block: Block, *, plain: bool = False) -> Governing:
    """Return a paragraph as what governs; ``plain`` for one that leads into nothing."""
    kind = governs(text)
    if plain:
        if kind in NEVER and block.form is not Form.QUOTE:
            kind = Governs.CAUTION
        elif kind is Governs.CONDITION:
            kind = Governs.CAUTION if warns(text) else Governs.NOTE
        elif kind is Governs.PROHIBITED:
            kind = Governs.CAUTION
    return Governing(text, kind, block.start, block.end)


def _note(collected: _Collected, first: int, note: Governing, is_last: bool) -> None:
    """Put a note to the item before it if it is the section's last word, else to the one that follows."""
    if len(collected.items) > first and (is_last or not collected.pending):
        collected.items[-1] = governed(collected.items[-1], replace(note, after=True))
    else:
        collected.pending.append(note)


def _attach_pending(collected: _Collected) -> None:
    """Give the newest item what has waited for it."""
    collected.items[-1] = governed(collected.items[-1], *collected.pending)
    collected.pending.clear()


def _settle(collected: _Collected) -> None:
    """Give what waits for an item that never came to the last one."""
    if collected.items:
        for it in collected.pending:
            collected.items[-1] = governed(collected.items[-1], replace(it, after=True))
    collected.pending.clear()


def _item(section: Section, number: str, parts: tuple[Part, ...], start: int, end: int) -> Item:
    return Item(number, parts, start, end, section.path, _kind_of(section) or Kind.OTHER)


def _take_introduced(outline: Outline, section: Section, place: int, collected: _Collected) -> int:
    """Take a paragraph with the code right behind it as one item; return the position behind them."""
    blocks = section.blocks
    block = blocks[place]
    text = _plain(outline, block)
    kind = governs(text)
    behind = place + 1
    parts = [Part(text)]
    while behind < len(blocks) and blocks[behind].form is Form.CODE:
        parts.append(_code(outline, blocks[behind].start, blocks[behind].end))
        behind += 1
    end = blocks[behind - 1].end
    if kind in NEVER:
        collected.pending.append(_never(outline, kind, block.start, end))
    else:
        collected.items.append(_item(section, "", tuple(parts), block.start, end))
        _attach_pending(collected)
    return behind


def _never(outline: Outline, kind: Governs, start: int, end: int) -> Governing:
    return Governing(outline.text(start, end), kind, start, end)


def _take_list(outline: Outline, section: Section, block: Block, collected: _Collected) -> None:
    leads = list(collected.pending)
    lead = leads[-1] if leads and leads[-1].end + 2 >= block.start else None
    if lead and lead.kind in NEVER:
        collected.pending[-1] = replace(
            lead, text=outline.text(lead.start, block.end), end=block.end
        )
        return
    first = len(collected.items)
    before_list, collected.pending = collected.pending, []
    for item in block.items:
        parts = _parts(outline, item)
        said = next((part.text for part in parts if not part.is_code and part.text.strip()), "")
        kind = _kind_of_item(said, item, parts)
        if kind:
            # a prohibition stays in its place: before the item that it stands in front of
            collected.pending.append(_never(outline, kind, item.start, item.end))
            continue
        if says_nothing(said) and not any(part.is_code for part in parts):
            continue
        number = item.mark if item.is_numbered else ""
        collected.items.append(_item(section, number, parts, item.start, item.end))
        _attach_pending(collected)
    left, collected.pending = collected.pending, []
    if len(collected.items) > first:
        for it in left:
            collected.items[-1] = governed(collected.items[-1], replace(it, after=True))
        governing_all = [it for it in before_list if it is lead and it.kind is not Governs.NOTE]
        collected.items[first] = governed(collected.items[first], *before_list)
        for place in range(first + 1, len(collected.items)):
            collected.items[place] = governed(collected.items[place], *governing_all)
    else:
        collected.pending = before_list + left


def _kind_of_item(said: str, item: ListItem, parts: Sequence[Part]) -> Governs | None:
    """Return why an item is never a step: struck out, marked obsolete, or a prohibition of what is in it."""
    first, _, rest = said.partition("\n")
    if is_struck(said) or (is_struck(first) and not rest.strip()):
        return Governs.OBSOLETE
    if _ITEM_OBSOLETE.search(first):
        return Governs.OBSOLETE
    has_more = (
        len(parts) > 1
        or bool(_LIST_MARK.match(rest.lstrip("\n")))
        or any(_LIST_MARK.match(line) for line in rest.split("\n"))
    )
    if (
        governs(first) is Governs.PROHIBITED
        and has_more
        and (first.rstrip(" *_").endswith(":") or item.code)
    ):
        return Governs.PROHIBITED
    return None


def _take_table(outline: Outline, section: Section, block: Block, collected: _Collected) -> None:
    rows = [
        number
        for number in range(block.start, block.end + 1)
        if outline.lines.get(number, "").strip()
    ]
    header, body = rows[:2], rows[2:]
    heads = _cells(outline.lines.get(header[0], "")) if header else []
    lead = collected.pending[-1] if collected.pending else None
    if lead and lead.kind in NEVER:
        collected.pending[-1] = replace(
            lead, text=outline.text(lead.start, block.end), end=block.end
        )
        return
    head = Governing(outline.text(block.start, header[-1]), Governs.NOTE, block.start, header[-1])
    for number in body:
        cells = _cells(outline.lines.get(number, ""))
        said = " | ".join(
            f"{heads[place]}: {cell}" if place < len(heads) and heads[place] else cell
            for place, cell in enumerate(cells)
            if cell
        )
        if not said.strip():
            continue
        collected.items.append(_item(section, "", (Part(said),), number, number))
        _attach_pending(collected)
        collected.items[-1] = governed(collected.items[-1], head)


def _cells(row: str) -> list[str]:
    return [
        cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))
    ]


def _take_code(
    outline: Outline, section: Section, block: Block, collected: _Collected, first: int
) -> None:
    """Take code that no paragraph introduces: with the item right above it, else as an item of its own."""
    code = _code(outline, block.start, block.end)
    above = collected.items[-1] if len(collected.items) > first else None
    if above is not None and above.end + 2 >= block.start and not collected.pending:
        collected.items[-1] = replace(above, parts=(*above.parts, code), end=block.end)
        return
    if not code.text.strip():
        return
    collected.items.append(_item(section, "", (code,), block.start, block.end))
    _attach_pending(collected)


def _take_html(outline: Outline, section: Section, block: Block, collected: _Collected) -> None:
    text = _HIDDEN.sub("", outline.text(block.start, block.end))
    plain = _TAGS.sub(" ", text)
    if not plain.strip() or _FACT.match(" ".join(plain.split())):
        return
    if re.search(r"<(?:li|pre|td)\b", text, re.IGNORECASE):
        words = "\n".join(" ".join(line.split()) for line in plain.split("\n") if line.strip())
        struck = re.fullmatch(
            r"\s*(?:<[^<>]*>\s*)*<(?:del|s|strike)>.*</(?:del|s|strike)>\s*(?:<[^<>]*>\s*)*",
            text,
            re.DOTALL,
        )
        if struck:
            collected.pending.append(_never(outline, Governs.OBSOLETE, block.start, block.end))
            return
        collected.items.append(_item(section, "", (Part(words),), block.start, block.end))
        _attach_pending(collected)
    elif warns(plain):
        collected.pending.append(
            Governing(" ".join(plain.split()), Governs.CAUTION, block.start, block.end)
        )


def _plain(outline: Outline, block: Block) -> str:
    """Return a block's text; a quote's without its marks."""
    text = outline.text(block.start, block.end)
    return _QUOTE_MARKS.sub("", text).strip("\n") if block.form is Form.QUOTE else _dedented(text)


def _raw(outline: Outline, block: Block) -> str:
    return outline.text(block.start, block.end)


def _dedented(text: str) -> str:
    lines = text.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)


def _parts(outline: Outline, item: ListItem) -> tuple[Part, ...]:
    """Cut an item into text and code, in its order; text loses the list mark and the indent."""
    first = outline.lines.get(item.start, "")
    mark = _LIST_MARK.match(first)
    indent = len(mark[0]) if mark else 0
    if mark and len(mark[0].rstrip()) != len(mark[0]):
        indent = len(mark[0])
    edges = [(item.start - 1, item.start - 1), *item.code, (item.end + 1, item.end + 1)]
    parts: list[Part] = []
    for (_, before), (start, end) in pairwise(edges):
        lines = []
        for number in range(before + 1, start):
            line = outline.lines.get(number, "")
            if number == item.start:
                line = line[indent:]
            else:
                line = line[min(len(line) - len(line.lstrip(" \t")), indent) :]
            lines.append(line)
        text = "\n".join(lines).strip("\n")
        if text.strip():
            parts.append(Part(text.rstrip()))
        if end <= item.end and start >= item.start and end >= start:
            code = _code(outline, start, end, skip=indent if start == item.start else 0)
            if code.text.strip():
                parts.append(code)
    return tuple(parts)


def _code(outline: Outline, start: int, end: int, skip: int = 0) -> Part:
    """Return a code block without its fence or indent."""
    lines = [outline.lines.get(number, "") for number in range(start, end + 1)]
    lines[0] = " " * skip + lines[0][skip:]
    lines = _dedented("\n".join(lines)).split("\n")
    opening = re.match(r"\s*(`{3,}|~{3,})\s*([\w+#.-]*)", lines[0])
    if opening is None:
        return Part("\n".join(lines), is_code=True)
    body = lines[1:]
    if body and re.fullmatch(rf"\s*{re.escape(opening[1][0])}{{{len(opening[1])},}}\s*", body[-1]):
        body = body[:-1]
    return Part(_dedented("\n".join(body)), is_code=True, language=opening[2].lower())


__all__ = [
    "LABEL_LEVEL",
    "MAX_ITEMS",
    "Governing",
    "Governs",
    "Item",
    "NotShown",
    "Part",
    "Procedure",
    "Why",
    "action_lines",
    "asks_for_something",
    "cautions_of",
    "is_obsolete",
    "procedure_of",
    "spans",
]
