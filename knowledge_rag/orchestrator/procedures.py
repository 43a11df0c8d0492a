"""Builds procedures, the unit of advice: a section, or the parts of a page that belong together, whole and in order.

Nothing is selected inside one: each of its list items, rows, commands and paragraphs is an item or governs one.
Lines that are left out are named: sections of another time, lines not retrieved, lines beyond a limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.headings import (
    ACTIONS,
    Kind,
    is_instruction,
    kind_of_beginning,
    kind_of_label,
)
from knowledge_rag.core.headings import NEVER as NEVER_SECTIONS
from knowledge_rag.core.lines import cells_of
from knowledge_rag.orchestrator.code_lines import wrong_lines
from knowledge_rag.orchestrator.containers import shown_as
from knowledge_rag.orchestrator.governing import (
    LIST_MARK,
    NEVER,
    Governing,
    Governs,
    forbids,
    governs,
    holds_for_all,
    is_branch,
    is_gone,
    is_instead,
    is_no_way,
    is_precondition,
    is_struck,
    is_unwritten,
    leads,
    lists_open_points,
    names_the_wrong,
    prohibits,
    says_nothing,
    steps_revoked,
    warns,
)
from knowledge_rag.orchestrator.outline import LABEL_LEVEL, TAB_LEVEL, Form
from knowledge_rag.orchestrator.rows import ended_rows, is_forbidden_row, of_row, says_never

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Block, ListItem, Outline, Section

MAX_ITEMS: Final = 100
"""Maximum items of a procedure that are shown; the sections after them are named by their lines."""

MAX_INTRODUCTION: Final = 8
"""Maximum lines of a page's own text above its first section for all of it to come with each procedure of the page."""

_QUOTE_MARKS: Final = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_FACT: Final = re.compile(
    r"^(?!.*(?:→|[-=]>))\W*(?:owners?|owned by|threshold|severity|team|alerts?|alarms?|service|dashboards?|contacts?|slack|channel|source|labels?"
    r"|last[_ ]review\w*|rev(?:ision)?|created by|status|version|author|expression|video|related|see also|references?|further reading|links?)\b[^:.]{0,40}:",
    re.IGNORECASE,
)
"""A line that states a fact about the page: nothing to do, unlike "label `zone`: `a` → page"."""
_COMMAND_ALONE: Final = re.compile(r"\s*`([^`\n]{2,})`[\s.]*\Z")
_INLINE_COMMAND: Final = re.compile(r"`(?:\$ ?|\./|/)?[\w./-]+ [^`\n]+`|^\s*`[^`\n]{2,}`[\s.]*$")
_THEN: Final = re.compile(
    r"^\W*(?:and )?(?:then|next|finally|afterwards|after that)\b", re.IGNORECASE
)
"""The beginning of a paragraph after a step that is the next step."""
_MARKED: Final = re.compile(r"^\W*(?:warning|caution|note|important|danger)\b", re.IGNORECASE)
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})\s*([\w+#.-]*)")
_STRUCK_HTML: Final = re.compile(
    r"\s*(?:<[^<>]*>\s*)*<(?:del|s|strike)>.*</(?:del|s|strike)>\s*(?:<[^<>]*>\s*)*", re.DOTALL
)
_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n")
_HTML_STEPS: Final = re.compile(r"<(?:li|pre|td)\b", re.IGNORECASE)
_TAGS: Final = re.compile(r"<[^<>\n]{0,300}>")


class Why(StrEnum):
    """Why lines of a procedure are not shown."""

    NOT_RETRIEVED = "not_retrieved"
    """They may contain more of it, but retrieval did not return them for this request."""
    PROHIBITED = "prohibited"
    """A section about things that must not be done."""
    OBSOLETE = "obsolete"
    """A section about things that were done once."""
    LIMIT = "limit"
    """More than a person can follow."""
    ELSEWHERE = "elsewhere"
    """The procedure continues in a section or document that could not be retrieved."""
    OTHER = "other"
    """A section for another case than the one that the incident's labels name."""
    CASE = "case"
    """A section that destroys something, for a case that the incident's words don't name."""
    ROW = "row"
    """Rows of a table for other cases than the one in the incident's words."""
    UNWRITTEN = "unwritten"
    """A section that is still to be written: "TODO"."""
    HELD_OFF = "held_off"
    """The page says that they don't apply to the request."""
    UNDONE = "undone"
    """Steps that the shown ones undo."""
    NOT_GIVEN = "not_given"
    """A model that draws on the procedure left them out."""
    BUDGET = "budget"
    """They don't fit in the token limit."""


@dataclass(frozen=True, slots=True)
class NotShown:
    """Lines that belong to a procedure and are not shown.

    Args:
        start: first line, 1-based; 0 if the place is unknown.
    """

    source_file: str
    start: int
    end: int
    why: Why
    heading: str = ""

    @property
    def is_missed(self) -> bool:
        """Whether its author wants it done, so that the procedure isn't complete without it."""
        return self.why in (
            Why.NOT_RETRIEVED, Why.LIMIT, Why.ELSEWHERE, Why.NOT_GIVEN, Why.BUDGET,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """Text or code of an item, in the author's order.

    Args:
        text: without indent and list mark; code has no fence.
        withheld: whether it must not be done; finished items have no such part.
    """

    text: str
    is_code: bool = False
    language: str = ""
    withheld: bool = False
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One step as its author wrote it.

    Args:
        number: the author's own mark if it counts: ``3.``, ``a)``; ``""`` for bullets and prose.
        parts: its text and code, in order.
        governing: the lines that govern it, in order.
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
        """Its text without code blocks; its code if there is nothing else."""
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
        path: headings of its section, outermost first.
        items: at least one.
        alert: the alert of a group that it is for; ``""`` if there is only one alert.
    """

    source_file: str
    path: tuple[str, ...]
    kind: Kind
    items: tuple[Item, ...]
    not_shown: tuple[NotShown, ...] = ()
    alert: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether everything that its author wants done is shown."""
        return not any(it.is_missed for it in self.not_shown)

    @property
    def lines(self) -> set[int]:
        """Numbers of all lines of its items and of the lines that govern them."""
        return {
            number
            for item in self.items
            for start, end in spans(item)
            for number in range(start, end + 1)
        }


def spans(item: Item) -> Iterator[tuple[int, int]]:
    """Yield the line ranges of an item and of the lines in and around its section that govern it, the item's own first."""
    yield item.start, item.end
    for it in item.governing:
        if not it.sent_from:
            yield it.start, it.end


def procedure_of(
    outline: Outline,
    section: Section,
    *,
    leave_out: Iterable[Section] = (),
    other_rows: Container[int] = (),
    alert: str = "",
) -> Procedure | None:
    """Return a section with everything below it as a procedure; ``None`` if it asks for nothing.

    The sections of `leave_out` are shown elsewhere; `other_rows` are the first lines of
    rows and items for other cases.
    """
    collector = _Collector(outline, section, leave_out, other_rows)
    collector.take(section)
    items, not_shown = collector.settled()
    if not items:
        return None
    not_shown += [
        NotShown(outline.source_file, a, b, Why.NOT_RETRIEVED, section.heading)
        for a, b in _unknown(outline, section)
    ]
    if len(items) > MAX_ITEMS:
        cut = items[MAX_ITEMS:]
        heading = cut[0].path[-1] if cut[0].path else ""
        not_shown.append(
            NotShown(outline.source_file, cut[0].start, cut[-1].end, Why.LIMIT, heading)
        )
        items = items[:MAX_ITEMS]
    kinds = {it.kind for it in items if it.kind is not Kind.OTHER}
    kind = _kind_of(section) or (kinds.pop() if len(kinds) == 1 else Kind.OTHER)
    return Procedure(outline.source_file, section.path, kind, tuple(items), tuple(not_shown), alert)


def _unknown(outline: Outline, section: Section) -> Iterator[tuple[int, int]]:
    """Yield the line ranges that may contain more of a section, up to the next heading.

    The last range is open if nothing after the section is known: its end is its start.
    """
    if outline.whole:
        return
    last = max(section.end, section.start)
    behind = min((it.start for it in outline.sections() if it.start > last), default=0)
    yield from outline.gaps(section.start, behind - 1 if behind else last)
    if not behind:
        yield last + 1, last + 1


def _kind_of(section: Section) -> Kind | None:
    found = (it.kind for it in (section, *section.above()) if it.kind in ACTIONS and it.level)
    return next(found, None)


def cautions_of(outline: Outline, section: Section) -> list[Governing]:
    """Return the paragraphs of a section's own text that warn, require or limit, each with the list it introduces."""
    return [it for it in _own_words(outline, section) if it.kind is not Governs.NOTE]


def boxes_of(outline: Outline, section: Section) -> list[Governing]:
    """Return the boxes in a section's own text that warn, require, or are called a note or a warning."""
    boxes = {it.start for it in section.blocks if it.form is Form.QUOTE}
    said = (it for it in _own_words(outline, section) if it.start in boxes)
    return [
        it if it.kind is not Governs.NOTE else replace(it, kind=Governs.CAUTION)
        for it in said
        if it.kind is not Governs.NOTE or _MARKED.match(it.text)
    ]


def introduction_of(outline: Outline, section: Section) -> list[Governing]:
    """Return a section's text before its first subsection: all of it if it is short, else the parts that warn or require."""
    said = _own_words(outline, section)
    length = sum(it.end - it.start + 1 for it in said)
    return [it for it in said if length <= MAX_INTRODUCTION or it.kind is not Governs.NOTE]


def _own_words(outline: Outline, section: Section) -> list[Governing]:
    found: list[Governing] = []
    for place, block in enumerate(section.blocks):
        limits = list(_limiting_facts(outline, block))
        if block.form in (Form.TABLE, Form.LIST) or limits:
            found += limits
            continue
        text = _plain(outline, block)
        is_led_into = bool(found) and block.start <= found[-1].end
        if block.form not in (Form.PARAGRAPH, Form.QUOTE) or says_nothing(text) or is_led_into:
            continue
        if _THEN.match(text):
            continue
        kind = Governs.CAUTION if warns(text) else Governs.NOTE
        if is_precondition(text):
            kind = Governs.PRECONDITION
        end = block.end
        behind = section.blocks[place + 1] if place + 1 < len(section.blocks) else None
        is_led = behind and kind is not Governs.NOTE and leads(text)
        if behind and (
            behind.form is Form.CODE or (is_led and behind.form in (Form.PARAGRAPH, Form.TABLE))
        ):
            end = behind.end
        elif kind is not Governs.NOTE and behind and behind.form is Form.LIST:
            # "Before you begin" introduces the list below it even without a colon
            is_led = leads(text) or holds_for_all(text) or behind.start == block.end + 1
            end = behind.end if is_led else end
        said = text if end == block.end else outline.text(block.start, end)
        if kind is not Governs.NOTE or not _FACT.match(text):
            found.append(Governing(said, kind, block.start, end))
    return found


def _limiting_facts(outline: Outline, block: Block) -> Iterator[Governing]:
    """Yield the rows of a page's facts, each a name and a value, that say what the page applies to, or doesn't."""
    for number in range(block.start, block.end + 1):
        line = outline.lines.get(number, "")
        name, value = (it[1], it[2]) if (it := _BOLD_FACT.match(line)) else (line, "")
        if block.form is Form.TABLE and len(cells := cells_of(line)) == _FACT_CELLS:
            name, value = cells
        if value and _LIMITS.match(name):
            yield Governing(f"{name}: {value}", Governs.PRECONDITION, number, number)


_FACT_CELLS: Final = 2
_BOLD_FACT: Final = re.compile(r"\s*\*\*([^*:]{2,40}):\*\* +(\S.*)$")
_LIMITS: Final = re.compile(
    r"\W*(?:(?:valid|only|applicable|not) (?:for|on|in)|applies to|scope|(?:do not|don[’']?t|never|not to be) use\w*|preconditions?|prerequisites?)\W*$",
    re.IGNORECASE,
)


def rules_of(outline: Outline, section: Section) -> Governing:
    """Return a section of rules or prohibitions as lines that govern the sections beside it."""
    end = max(section.end, section.start)
    # a heading only says what its lines are; a label is part of the text
    is_headed = section.heading_end and section.level != LABEL_LEVEL
    start = min(section.heading_end + 1 if is_headed else section.start, end)
    while start < end and not outline.lines.get(start, "").strip():
        start += 1
    is_never = section.kind is Kind.PROHIBITED
    kind = Governs.PROHIBITED if is_never else Governs.PRECONDITION
    text = outline.text(start, end)
    if all(block.form is Form.QUOTE for it in section.walk() for block in it.blocks):
        text = _unquoted(text)
    return Governing(text, kind, start, end, withheld=is_never)


def asks_for_something(outline: Outline, section: Section) -> bool:
    """Whether a section or one below it has a list, a table, code, or prose that says what to do."""
    return any(
        block.form in (Form.LIST, Form.TABLE, Form.CODE)
        or (
            part.kind in ACTIONS
            and block.form is Form.PARAGRAPH
            and not says_nothing(_plain(outline, block))
        )
        or (block.form is Form.HTML and _HTML_STEPS.search(outline.text(block.start, block.end)))
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
    """Return the number of lines of lists, tables and code in and below a section."""
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
    """Whether a section is, or is below, one that describes or forbids."""
    within = [part, *(it for it in part.above() if root.holds(it))]
    return any(
        it.kind in NEVER_SECTIONS or it.kind is Kind.BACKGROUND for it in within if it is not root
    )


def _why_never(section: Section) -> Why | None:
    """Return why a section never has steps, whatever includes it; ``None`` if it may have some."""
    if is_unwritten(section.heading) or lists_open_points(section.heading):
        return Why.UNWRITTEN
    if is_no_way(section.heading):
        return Why.OBSOLETE
    return {Kind.PROHIBITED: Why.PROHIBITED, Kind.OBSOLETE: Why.OBSOLETE}.get(section.kind)


def held_off_by(procedure: Procedure, said: Governing) -> Procedure:
    """Return a procedure reduced to the lines that say that its steps don't apply to the request."""
    first, last = procedure.items[0], procedure.items[-1]
    heading = procedure.path[-1] if procedure.path else ""
    left = NotShown(procedure.source_file, first.start, last.end, Why.HELD_OFF, heading)
    item = Item("", (Part(said.text),), said.start, said.end, procedure.path, Kind.OTHER)
    return replace(procedure, items=(item,), not_shown=(left,))


def governed(item: Item, *more: Governing) -> Item:
    """Return an item with more lines that govern it: those that send to it, then the rest in order, each range once."""
    both: dict[tuple[int, int, str], Governing] = {}
    for it in (*item.governing, *more):
        both.setdefault((it.start, it.end, it.sent_from), it)
    ordered = sorted(both.values(), key=lambda it: (not it.sent_from, it.start))
    return replace(item, governing=tuple(ordered))


class _Collector:
    """Walks through a section in the author's order and turns its blocks into items and the lines that govern them."""

    def __init__(
        self,
        outline: Outline,
        root: Section,
        leave_out: Iterable[Section],
        other_rows: Container[int],
    ) -> None:
        self._outline = outline
        self._other_rows = other_rows
        self._root = root
        self._out = set(map(id, leave_out))
        self._items: list[Item] = []
        self._pending: list[Governing] = []
        self._not_shown: list[NotShown] = []

    def settled(self) -> tuple[list[Item], list[NotShown]]:
        """Return the items and the lines not shown; governing lines that still wait for an item go to the last one."""
        if self._items:
            left = (replace(it, after=True) for it in self._pending)
            self._items[-1] = governed(self._items[-1], *left)
        return self._items, self._not_shown

    def take(self, section: Section) -> None:
        """Collect a section and everything below it."""
        if id(section) in self._out:
            return
        if section is not self._root and (why := _why_never(section)):
            self._not_shown.append(
                NotShown(
                    self._outline.source_file, section.start, section.end, why, section.heading
                )
            )
            return
        if section is not self._root and section.kind is Kind.BACKGROUND:
            self._pending += cautions_of(self._outline, section)
            return
        before, waiting = len(self._items), len(self._pending)
        warnings = self._take_own(section)
        self._revoke(section, before)
        for child in section.children:
            self.take(child)
        if len(self._items) == before:
            self._pending += warnings
            if section.heading_end and len(self._pending) > waiting:
                # its notes go to an item of another section: the heading shows where they are from
                end = max(section.start, section.heading_end)
                text = self._outline.text(section.start, end)
                self._pending.insert(waiting, Governing(text, Governs.NOTE, section.start, end))
            return
        for place in range(before, len(self._items)):
            self._items[place] = governed(self._items[place], *warnings)
        if section.heading_end and section.level:
            self._head(section, before)

    def _revoke(self, section: Section, before: int) -> None:
        """Withhold the steps that a section's own text revokes or forbids by their numbers."""
        revoked: dict[int, Governs] = {}
        for block in section.blocks:
            if block.form in (Form.PARAGRAPH, Form.QUOTE):
                revoked |= steps_revoked(_plain(self._outline, block))
        own = self._items[before:]
        for item in own:  # an amendment below a step, which may be about that step itself
            _, *below = _PARAGRAPHS.split(item.text)
            revoked |= steps_revoked("\n\n".join(below))
        if not revoked:
            return
        self._items = self._items[:before]
        waiting: list[Governing] = []
        for item in own:
            number = item.number.strip("().")
            if kind := revoked.get(int(number)) if number.isdigit() else None:
                text = self._outline.text(item.start, item.end)
                quoted = Governing(text, kind, item.start, item.end, withheld=True)
                waiting += [*item.governing, quoted]
            else:
                self._items.append(governed(item, *waiting))
                waiting.clear()
        self._pending = [*waiting, *self._pending]

    def _head(self, section: Section, before: int) -> None:
        """Let a heading govern the items below it: all of them if it is a condition, else the first one."""
        end = max(section.start, section.heading_end)
        # of a tab, only the title is for readers
        is_tab = section.level == TAB_LEVEL
        text = section.heading if is_tab else self._outline.text(section.start, end)
        is_condition = governs(section.heading) is Governs.CONDITION and section.kind not in ACTIONS
        heading = Governing(
            text, Governs.CONDITION if is_condition else Governs.NOTE, section.start, end
        )
        for place in range(before, len(self._items) if is_condition else before + 1):
            self._items[place] = governed(self._items[place], heading)

    def _take_own(self, section: Section) -> list[Governing]:
        """Collect the blocks of a section's own text; return its warnings, which govern all of it."""
        self._section, self._first = section, len(self._items)
        self._warnings: list[Governing] = []
        self._prose = (section.kind in ACTIONS and section.level > 1) or not any(
            block.form in (Form.LIST, Form.TABLE, Form.CODE)
            for part in section.walk()
            for block in part.blocks
        )
        place = 0
        while place < len(section.blocks):
            place += self._take_block(section.blocks, place)
        return self._warnings

    def _take_block(self, blocks: Sequence[Block], place: int) -> int:
        """Collect a block, and those after it that belong to it; return their number."""
        block = blocks[place]
        if block.start in self._other_rows and not block.items:
            self._leave_out(block.start, block.end)
        elif block.form is Form.CODE and place == 0 and any(it.counts for it in blocks):
            # without an introduction: an alert's expression, or a message that the steps are for
            text = self._outline.text(block.start, block.end)
            self._note(Governing(text, Governs.NOTE, block.start, block.end), is_last=False)
        elif self._is_code(block):
            self._take_code(block)
        elif block.form is Form.PARAGRAPH:
            return self._take_paragraph(blocks, place)
        elif block.form is Form.QUOTE:
            self._take_quote(block)
        elif block.form is Form.LIST:
            self._take_list(block)
        elif block.form is Form.TABLE:
            self._take_table(block)
        else:
            self._take_html(block)
        return 1

    def _take_paragraph(self, blocks: Sequence[Block], place: int) -> int:
        block, *behind = blocks[place:]
        following = behind[0].form if behind else None
        text = _plain(self._outline, block)
        kind = governs(text)
        if says_nothing(text):
            return 1
        if behind and kind_of_label(text) is Kind.BACKGROUND:
            both = self._outline.text(block.start, behind[0].end)
            note = Governing(both, Governs.NOTE, block.start, behind[0].end)
            self._note(note, is_last=False)
            return 2
        if kind in NEVER:
            self._warn(text, kind, block, withheld=names_the_wrong(text))
            if (
                behind
                and (leads(text) or kind is Governs.OBSOLETE)
                and (following in (Form.LIST, Form.TABLE, Form.QUOTE) or self._is_code(behind[0]))
            ):
                # next to the words that forbid it, so that both are shown as one
                what = self._outline.text(behind[0].start, behind[0].end)
                quoted = Governing(what, kind, behind[0].start, behind[0].end, withheld=True)
                self._warnings.append(quoted)
                return 2
            return 1
        if commands := list(takewhile(self._is_code, behind)):
            parts = [Part(text)]
            for code in commands:
                parts += self._code(code.start, code.end)
            self._add("", parts, block.start, commands[-1].end)
            return 1 + len(commands)
        goes_on = len(self._items) > self._first and is_branch(text) and not leads(text)
        if following in (Form.LIST, Form.TABLE) and not (goes_on and _INLINE_COMMAND.search(text)):
            self._pending.append(Governing(text, kind, block.start, block.end))
        elif self._is_step(text, kind):
            self._add("", [Part(text)], block.start, block.end, kind_of_beginning(text))
        elif kind is Governs.NOTE or (
            # after a step, a branch continues it; a warning or limit applies to the whole section
            goes_on and not warns(text)
        ):
            self._note(Governing(text, kind, block.start, block.end), is_last=not behind)
        else:
            self._warn(text, kind, block)
        return 1

    def _is_code(self, block: Block) -> bool:
        """Whether a block is code, or a paragraph that is one command in code marks."""
        text = self._outline.text(block.start, block.end)
        is_command = block.form is Form.PARAGRAPH and _COMMAND_ALONE.match(text)
        return block.form is Form.CODE or bool(is_command)

    def _is_step(self, text: str, kind: Governs) -> bool:
        """Whether a paragraph that introduces nothing is itself a step."""
        if _FACT.match(text) or prohibits(text):
            return False
        if kind_of_beginning(text):
            return True
        if self._prose:
            is_part = self._section.level > 0 or not self._root.children  # no heading: notes
            return is_part and not _MARKED.match(text)
        goes_on = len(self._items) > self._first
        is_next = goes_on and _THEN.match(text) is not None
        if kind is Governs.CAUTION:
            # an instruction that also warns is done in its place, unlike a warning about the section
            may_be = not _MARKED.match(text)
            is_told = is_next or (goes_on and is_instruction(text))
        else:
            may_be = kind is Governs.NOTE or (kind is Governs.CONDITION and not warns(text))
            is_told = is_next or _INLINE_COMMAND.search(text) is not None
        return may_be and is_told and not forbids(text)

    def _take_quote(self, block: Block) -> None:
        text = _plain(self._outline, block)
        kind = governs(text)
        if kind not in NEVER and forbids(text):
            kind = Governs.PROHIBITED
        if kind is Governs.NOTE and not warns(text):
            self._note(Governing(text, kind, block.start, block.end), is_last=False)
        else:
            self._warn(text, kind, block, withheld=kind is Governs.OBSOLETE)

    def _warn(
        self, text: str, kind: Governs, block: Block | ListItem, *, withheld: bool = False
    ) -> None:
        """Add a warning, which governs its whole section wherever it is."""
        kind = (
            Governs.CAUTION if kind in (Governs.NOTE, Governs.CONDITION) and warns(text) else kind
        )
        self._warnings.append(Governing(text, kind, block.start, block.end, withheld=withheld))

    def _withhold(self, kind: Governs, start: int, end: int) -> None:
        """Add forbidden lines in their place: before the next item."""
        text = self._outline.text(start, end)
        self._pending.append(Governing(text, kind, start, end, withheld=True))

    def _note(self, note: Governing, *, is_last: bool) -> None:
        """Attach a note to the section's item before it, or to the next one if there is none.

        If other lines already wait for the next item, so does the note, unless it is the section's last block.
        """
        if len(self._items) > self._first and (is_last or not self._pending):
            self._items[-1] = governed(self._items[-1], replace(note, after=True))
        else:
            self._pending.append(note)

    def _add(
        self, number: str, parts: Sequence[Part], start: int, end: int, kind: Kind | None = None
    ) -> None:
        """Add an item, with the lines that wait for it."""
        shown, kept = _parted(parts)
        if not any(part.text.strip() for part in shown):
            return
        kind = kind or _kind_of(self._section) or Kind.OTHER
        item = Item(number, shown, start, end, self._section.path, kind)
        self._items.append(governed(item, *self._pending, *kept))
        self._pending.clear()

    def _take_list(self, block: Block) -> None:
        before, self._pending = self._pending, []
        lead = [
            it for it in before if it.end + 2 >= block.start and it.kind not in NEVER
        ]  # a blank line
        first = len(self._items)
        for item in block.items:
            if item.start in self._other_rows:
                self._leave_out(item.start, item.end)
                continue
            parts = self._parts(item)
            said = next((part.text for part in parts if not part.is_code and part.text.strip()), "")
            kind = _never(said, parts)
            if kind is Governs.PROHIBITED and len(parts) == 1 and not _has_items(said):
                self._warn(f"{item.mark} {said}" if item.is_numbered else said, kind, item)
            elif kind:
                self._withhold(kind, item.start, item.end)
            elif not is_unwritten(said) or any(part.is_code for part in parts):
                self._add(item.mark if item.is_numbered else "", parts, item.start, item.end)
        left, self._pending = self._pending, []
        if len(self._items) == first:
            self._pending = before + left
            return
        self._items[-1] = governed(self._items[-1], *(replace(it, after=True) for it in left))
        self._items[first] = governed(self._items[first], *before)
        for place in range(first + 1, len(self._items)):
            self._items[place] = governed(self._items[place], *lead)

    def _take_table(self, block: Block) -> None:
        lines = self._outline.lines
        rows = [n for n in range(block.start, block.end + 1) if lines.get(n, "").strip()]
        header, body = rows[:2], rows[2:]
        heads = cells_of(lines.get(header[0], "")) if header else []
        wrong = {it for it in heads if says_never(it)}
        if not any(is_instead(it) for it in heads if it not in wrong):
            wrong.clear()  # under "Deprecated", the cells say whether it is so
        ended = set(ended_rows(heads, {n: cells_of(lines.get(n, "")) for n in body}))
        lead, self._pending = self._pending, []
        text = self._outline.text(block.start, header[-1])
        head = Governing(text, Governs.NOTE, block.start, header[-1])
        first = len(self._items)
        for number in body:
            if number in self._other_rows:
                self._leave_out(number, number)
                continue
            cells = cells_of(lines.get(number, ""))
            labelled = [*zip(heads + [""] * len(cells), cells, strict=False)]
            if number in ended or is_forbidden_row(heads, cells):
                kind = Governs.OBSOLETE if number in ended else Governs.PROHIBITED
                self._withhold(kind, number, number)
                continue
            if never := of_row(it for it in labelled if it[0] in wrong):
                # not withheld: the step is on the same line
                self._pending.append(Governing(never, Governs.PROHIBITED, number, number))
            said = of_row(it for it in labelled if it[0] not in wrong)
            self._add("", [Part(said)], number, number)
        for place in range(first, len(self._items)):
            self._items[place] = governed(self._items[place], head, *lead)
        if len(self._items) == first:
            self._pending = lead + self._pending

    def _leave_out(self, start: int, end: int) -> None:
        """Add a row or item for another case to the lines not shown, together with those right above it."""
        last = self._not_shown[-1] if self._not_shown else None
        between = range(last.end + 1, start) if last else range(0)
        if (
            last
            and last.why is Why.ROW
            and not any(self._outline.lines.get(it, "-").strip() for it in between)
        ):
            self._not_shown[-1] = replace(last, end=end)
        else:
            self._not_shown.append(NotShown(self._outline.source_file, start, end, Why.ROW))

    def _take_code(self, block: Block) -> None:
        """Collect code without an introduction: with the item right above it, else as an item of its own."""
        code = self._code(block.start, block.end)
        above = self._items[-1] if len(self._items) > self._first else None
        if above is None or above.end + 2 < block.start or self._pending:  # more than a blank line
            self._add("", code, block.start, block.end)
            return
        shown, kept = _parted(code)
        self._items[-1] = governed(
            replace(above, parts=(*above.parts, *shown), end=block.end), *kept
        )

    def _take_html(self, block: Block) -> None:
        text = self._outline.text(block.start, block.end)
        plain = _TAGS.sub(" ", text)
        if not plain.strip() or _FACT.match(" ".join(plain.split())):
            return
        if _STRUCK_HTML.fullmatch(text):
            self._withhold(Governs.OBSOLETE, block.start, block.end)
        elif _HTML_STEPS.search(text):
            words = "\n".join(" ".join(it.split()) for it in plain.split("\n") if it.strip())
            self._add("", [Part(words)], block.start, block.end)
        elif warns(text):  # its class may say so: panel-warning
            self._warn(" ".join(plain.split()), Governs.CAUTION, block)

    def _parts(self, item: ListItem) -> list[Part]:
        """Split an item into text and code, in order; text loses the list mark and the indent."""
        mark = LIST_MARK.match(self._outline.lines.get(item.start, ""))
        indent = len(mark[0]) if mark else 0
        edges = [(item.start - 1, item.start - 1), *item.code, (item.end + 1, item.end + 1)]
        parts: list[Part] = []
        for (_, before), (start, end) in pairwise(edges):
            parts += self._text_parts(item, indent, before + 1, start)
            if item.start <= start <= end <= item.end:
                parts += self._code(start, end, skip=indent if start == item.start else 0)
        return [part for part in parts if part.text.strip()]

    def _text_parts(self, item: ListItem, indent: int, start: int, behind: int) -> list[Part]:
        """Return the text of an item between two lines, with forbidden inner items apart."""
        parts: list[Part] = []
        run: list[str] = []
        number = start
        while number < behind:
            if last := self._withheld_end(item, number, behind):
                parts.append(Part("\n".join(run).strip("\n")))
                text = _dedented(self._outline.text(number, last))
                parts.append(Part(text, withheld=True, start=number, end=last))
                run, number = [], last + 1
                continue
            line = self._outline.lines.get(number, "")
            lead = len(line) - len(line.lstrip(" \t"))
            run.append(line[indent if number == item.start else min(lead, indent) :])
            number += 1
        parts.append(Part("\n".join(run).strip("\n")))
        return [part for part in parts if part.text.strip()]

    def _withheld_end(self, item: ListItem, number: int, behind: int) -> int:
        """Return the last line of the forbidden lines that begin here in an item; 0 if none do."""
        lines = self._outline.lines
        line = lines.get(number, "")
        mark = LIST_MARK.match(line) if number > item.start else None
        last = number
        said = line[mark.end() :] if mark else ""
        if mark and (_never(said, [Part(said)]) or names_the_wrong(said)):
            while last + 1 < behind and _deeper(lines.get(last + 1, ""), line):
                last += 1
            return last
        if number > item.start and is_struck(line):
            return number
        if number > item.start and not lines.get(number - 1, "").strip() and names_the_wrong(line):
            while last + 1 < behind and lines.get(last + 1, "").strip():
                last += 1
            return last
        return 0

    def _code(self, start: int, end: int, skip: int = 0) -> list[Part]:
        """Return a code block without its fence or indent, split where a comment says that lines are wrong."""
        lines = [self._outline.lines.get(number, "") for number in range(start, end + 1)]
        lines[0] = " " * skip + lines[0][skip:]
        if command := _COMMAND_ALONE.match("\n".join(lines)):
            return [Part(command[1], is_code=True)]
        opening = _FENCE.match(lines[0])
        language, body, number = "", lines, start
        if opening:
            language, body, number = opening[2].lower(), lines[1:], start + 1
            closing = rf"\s*{re.escape(opening[1][0])}{{{len(opening[1])},}}\s*"
            if body and re.fullmatch(closing, body[-1]):
                body = body[:-1]
        return list(_cut_code(_dedented("\n".join(body)).split("\n"), number, language))


def _parted(parts: Sequence[Part]) -> tuple[tuple[Part, ...], list[Governing]]:
    """Return an item's own parts, and its forbidden ones as lines that govern it."""
    kept = [
        Governing(it.text, Governs.PROHIBITED, it.start, it.end, after=True, withheld=True)
        for it in parts
        if it.withheld
    ]
    return tuple(it for it in parts if not it.withheld), kept


def _cut_code(lines: Sequence[str], number: int, language: str) -> Iterator[Part]:
    labelled = zip(wrong_lines(lines, language), enumerate(lines, number), strict=True)
    for is_wrong, group in groupby(labelled, key=itemgetter(0)):
        run = [it for _, it in group]
        text = "\n".join(line for _, line in run).strip("\n")
        if text.strip():
            start, end = run[0][0], run[-1][0]
            yield Part(text, True, language, is_wrong, start, end)  # noqa: FBT003


def _never(said: str, parts: Sequence[Part]) -> Governs | None:
    """Return why an item is never a step: struck out, marked obsolete, or a prohibition; ``None`` if it may be one."""
    first, _, rest = said.partition("\n")
    is_all = not rest.strip() or leads(first.rstrip(" ~"))
    if is_struck(said) or (is_struck(first) and is_all):
        return Governs.OBSOLETE
    words = "\n\n".join(part.text for part in parts if not part.is_code)
    if is_gone(words) and not _has_items(said):
        return Governs.OBSOLETE
    if governs(first) is Governs.PROHIBITED:
        # if the prohibition is followed by what to do instead, the item is shown as it is
        _, _, behind = first.partition(". ")
        return (
            None if _INLINE_COMMAND.search(behind) and not forbids(behind) else Governs.PROHIBITED
        )
    return Governs.OBSOLETE if names_the_wrong(first) and leads(first) and len(parts) > 1 else None


def _has_items(said: str) -> bool:
    """Whether a text has list items after its first line."""
    return any(LIST_MARK.match(line) for line in said.split("\n")[1:])


def _deeper(line: str, than: str) -> bool:
    """Whether a line is indented more than another one, or blank."""
    return not line.strip() or len(line) - len(line.lstrip()) > len(than) - len(than.lstrip())


def _plain(outline: Outline, block: Block) -> str:
    """Return a block's text; a quote's without its marks."""
    text = outline.text(block.start, block.end)
    if block.form is Form.QUOTE:
        return _unquoted(text)
    return _dedented(text)


def _unquoted(text: str) -> str:
    return shown_as(_QUOTE_MARKS.sub("", text).strip("\n"))


def _dedented(text: str) -> str:
    lines = text.split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)
