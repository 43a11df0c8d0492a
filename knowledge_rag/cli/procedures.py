"""Shows one procedure on a terminal: its steps, their guards, and notes on the lines not shown."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Final

from knowledge_rag.cli.prose import CODE, Markup, begins_block, heads_of, labelled, laid_out, table
from knowledge_rag.core.formats import OFFICE_SUFFIXES, is_markdown
from knowledge_rag.core.lines import cells_of
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.governing import NEVER, Governs
from knowledge_rag.orchestrator.outline import plain_words
from knowledge_rag.orchestrator.showing import LABELS, common_path, headed, missing_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.cli.prose import Line
    from knowledge_rag.orchestrator.procedures import NotShown
    from knowledge_rag.orchestrator.recommendation import CitedLines, Guard, Section, Step

INDENT: Final = "  "
HEADING: Final = "bold underline"
CITATION: Final = "cyan"
ALARMING: Final = "bold white on red"
CAREFUL: Final = "bold yellow"

_LABEL_STYLES: Final = {
    Governs.CAUTION: CAREFUL,
    Governs.PRECONDITION: CAREFUL,
    Governs.CONDITION: "bold",
    Governs.PROHIBITED: ALARMING,
    Governs.OBSOLETE: ALARMING,
}
_CROSS: Final = "x "
"""Left of each further line of a prohibition, so that no such command can be pasted by mistake."""

_OWN_LABEL: Final = re.compile(
    r"^[^\w*_]*([*_]{0,3})(?:warning|caution|danger|important|attention)\b[^\w`<*_]*\1[^\w`<*_]*(?=[\w`<*_])",
    re.IGNORECASE,
)
"""The author's own label of a caution, replaced by ours."""

_SMALL: Final = 2
"""Maximum lines of a step, with its citation, without a blank line after it."""


class _Last(StrEnum):
    """The last thing on the page, which decides whether a blank line follows."""

    HEADING = "heading"
    GUARD = "guard"
    FORBIDDEN = "forbidden"  # a blank line follows: no step may look like part of it
    SMALL = "small step"
    LARGE = "large step"
    REMARK = "remark"


def procedure_lines(
    section: Section, steps: Sequence[Step], width: int | None, markdown: Markup = Markup.MARKED
) -> list[Line]:
    """Return a procedure line by line."""
    return _Procedure(section, steps, width, markdown).lines()


def markup_of(source_file: str, markdown: Markup) -> Markup:
    """Return how to treat a document's Markdown: ignored, if it has none."""
    return markdown if is_markdown(source_file) else Markup.NONE


def danger(step: Step) -> Line:
    """Return the mark of a destructive step."""
    if not step.destructive:
        return []
    return [(f"[destructive: {', '.join(step.destructive)}]", ALARMING), (" ", "")]


def command_lines(code: str, indent: str) -> Iterator[Line]:
    """Yield a code block, its lines as they are."""
    for line in neutralise(code).split("\n"):
        yield [(indent + INDENT, ""), (line, CODE)] if line.strip() else []


def source_lines(
    cited: Iterable[CitedLines], indent: str, *, with_heading: bool = False
) -> Iterator[Line]:
    """Yield ``path:start-end`` for each range of cited lines; editors and terminals open it.

    Ranges of one file with at most a blank line between them are joined.
    """
    ranges: list[tuple[str, int, int, str]] = []
    for one in cited:
        it = one.citation
        if ranges and ranges[-1][0] == it.source_file:
            name, start, end, header = ranges[-1]
            if start <= it.start_line <= end + 2:
                ranges[-1] = (name, start, max(end, it.end_line), header)
                continue
        ranges.append((it.source_file, it.start_line, it.end_line, it.section_header))
    for name, start, end, header in ranges:
        heading = heading_words(header) if with_heading else ""
        section = f"  ({heading})" if heading else ""
        yield [(indent, ""), (place(name, start, end), CITATION), (section, "dim")]


def place(source_file: str, start: int, end: int) -> str:
    """Return the place of lines: in editors' form, or in the text extracted from a file.

    >>> place("runbooks/rds.md", 3, 9), place("runbooks/rds.md", 3, 3)
    ('runbooks/rds.md:3-9', 'runbooks/rds.md:3')
    >>> place("vault.docx", 3, 9)
    'extracted text, lines 3-9 of vault.docx'
    """
    if source_file.lower().endswith(OFFICE_SUFFIXES):
        lines = f"lines {start}-{end}" if end > start else f"line {start}"
        return f"extracted text, {lines} of {source_file}"
    return f"{source_file}:{start}-{end}" if end > start else f"{source_file}:{start}"


class _Procedure:
    def __init__(
        self, section: Section, steps: Sequence[Step], width: int | None, markdown: Markup
    ) -> None:
        self._section = section
        self._steps = steps
        self._width = width
        self._markdown = markup_of(section.source_file, markdown)
        self._base = section.path or common_path(steps)[:1]
        self._under = self._base
        self._heading: list[Line] = []  # until there is something to show below it
        self._not_shown = sorted(section.not_shown, key=self._line)
        # guards of all steps
        self._of_all = [
            it for it in _conditions(steps[0]) if all(it in step.guards for step in steps)
        ]
        self._forbidden = _lists_below(steps)
        self._shown_head: Guard | None = None
        self._page: list[Line] = []
        self._last = _Last.REMARK

    def lines(self) -> list[Line]:
        heading = headed(replace(self._section, path=self._base))
        self._put(_Last.HEADING, self._sentence(heading, "", HEADING))
        known: Sequence[Guard] = ()
        for run, made, is_loose in self._made():
            self._leave_out(_own(run[0])[0].citation.start_line)
            self._above(run[0], known)
            self._put(_Last.LARGE if is_loose else _Last.SMALL, made)
            for step in run:
                for guard in step.guards:
                    if guard.after and guard not in known and not self._is_in_a_list(guard):
                        self._put(_Last.REMARK, self._guard(guard, self._indent(step)))
            known = run[-1].guards
        self._leave_out(None)
        return self._page

    def _made(self) -> Iterator[tuple[Sequence[Step], list[Line], bool]]:
        """Yield runs of steps, their lines, and whether blank lines separate them (if any of the list's is long)."""
        for _, runs in groupby(self._runs(), lambda run: (run[0].path, _conditions(run[0]))):
            made = [(run, list(self._run(run))) for run in runs]
            is_loose = any(len(lines) > _SMALL for _, lines in made)
            yield from ((run, lines, is_loose) for run, lines in made)

    def _run(self, run: Sequence[Step]) -> Iterator[Line]:
        indent = self._indent(run[0])
        return self._table(run, indent) if len(run) > 1 else self._step(run[0], indent)

    def _indent(self, step: Step, guard: Guard | None = None) -> str:
        """Return the margin of a step or a guard: conditions that don't apply to all steps indent it."""
        return INDENT * (1 + sum(it not in self._of_all for it in _conditions(step, guard)))

    def _sentence(self, words: str, indent: str, style: str) -> Iterator[Line]:
        first: Line = [(indent, "")]
        rest = indent + INDENT
        return laid_out(
            words, self._width, first=first, rest=rest, style=style, markdown=Markup.NONE
        )

    def _put(self, what: _Last, lines: Iterable[Line]) -> None:
        last = self._last
        if (
            what is _Last.HEADING
            or (what is _Last.REMARK and last is not _Last.HEADING)
            or (what is _Last.GUARD and last not in (_Last.HEADING, _Last.GUARD, _Last.FORBIDDEN))
            or (what is _Last.SMALL and last in (_Last.LARGE, _Last.REMARK, _Last.FORBIDDEN))
            or (what is _Last.LARGE and last not in (_Last.HEADING, _Last.GUARD))
        ):
            self._page.append([])
        self._page += lines
        self._last = what

    def _runs(self) -> Iterator[Sequence[Step]]:
        """Yield the steps one by one, with a table's rows together."""
        position = 0
        while position < len(self._steps):
            behind = position + 1
            if head := _table_head(self._steps[position]):
                while behind < len(self._steps) and self._is_row(behind, head):
                    behind += 1
            yield self._steps[position:behind]
            position = behind

    def _is_row(self, position: int, head: Guard) -> bool:
        """Whether a step is the table's next row, with nothing in between."""
        before, step = self._steps[position - 1], self._steps[position]
        return (
            _table_head(step) == head
            and not any(it.after for it in before.guards)
            and all(it.after or it in before.guards for it in step.guards)
        )

    def _leave_out(self, before: int | None) -> None:
        """Add the notes on lines that aren't shown, those above a line or all."""
        while self._not_shown and (before is None or self._line(self._not_shown[0]) < before):
            it = self._not_shown.pop(0)
            style = "yellow" if it.is_missed else ""
            self._put(_Last.REMARK, self._sentence(missing_line(it), INDENT, style))

    def _line(self, it: NotShown) -> float:
        """Return the place of lines that aren't shown; infinity if in another document, or unknown."""
        here = it.source_file == self._section.source_file and it.start
        return it.start if here else math.inf

    def _above(self, step: Step, known: Sequence[Guard]) -> None:
        """Add new headings and guards above a step."""
        for guard in step.guards:
            if guard.after or guard in known or guard == _table_head(step):
                continue
            if self._is_in_a_list(guard):
                continue
            level = _level(guard, step)
            if level > len(self._base):
                self._head(step.path[:level], guard.kind)
            elif not level and guard.kind is Governs.NOTE and _ANY_HEADING.fullmatch(guard.text):
                self._heading = list(self._sentence(_heading_words(guard.text), "", "bold"))
            elif not level or guard.kind is not Governs.NOTE:
                self._put_heading()
                self._put(_Last.GUARD, self._guard(guard, self._indent(step, guard)))
                if guard.kind in NEVER:
                    self._last = _Last.FORBIDDEN
        if step.path != self._under:
            self._head(step.path, Governs.NOTE)
        self._put_heading()

    def _head(self, path: tuple[str, ...], kind: Governs) -> None:
        # back from a section inside: its heading no longer applies
        words = " > ".join(path[len(self._base) :] or path[-1:])
        label = " (condition)" if kind is Governs.CONDITION else ""
        self._heading = list(self._sentence(words + label, "", "bold")) if words else []
        self._under = path

    def _put_heading(self) -> None:
        if self._heading:
            self._put(_Last.HEADING, self._heading)
            self._heading = []

    def _is_in_a_list(self, guard: Guard) -> bool:
        return guard in self._forbidden.values()

    def _guard(self, guard: Guard, indent: str) -> Iterator[Line]:
        text = guard.text.strip("\n")
        if guard in self._forbidden:
            text += "\n" + self._forbidden[guard].text.strip("\n")
        if _ANY_HEADING.fullmatch(text):
            text = _heading_words(text)
        elif "\n" not in text and _ROW.fullmatch(text):
            text = " | ".join(filter(None, cells_of(text)))
        label = f"{LABELS[guard.kind]}: " if LABELS[guard.kind] else ""
        if not label:
            # a list's introduction, and runnable code, are more than background
            is_background = not text.endswith(":") and not _COMMAND.search(text)
            style = "dim" if is_background else ""
            yield from self._laid_out(text, [(indent, "")], indent, style)
            return
        if guard.kind in (Governs.CAUTION, Governs.PROHIBITED):
            text = _OWN_LABEL.sub("", text, count=1)
        never = guard.kind in NEVER
        hanging = " " * (len(label) if len(label) <= _MAX_HANGING else len(INDENT) * 2)
        rest = indent + (_CROSS.ljust(len(hanging)) if never else hanging)
        margin: Line = [(indent, ""), (label, _LABEL_STYLES[guard.kind])]
        if begins_block(text):
            yield [(indent, ""), (label.rstrip(), _LABEL_STYLES[guard.kind])]
            rest = margin[0][0] + (_CROSS if never else INDENT)
            margin = [(rest, "")]
        markdown = Markup.NONE if never else self._markdown
        for line in laid_out(text, self._width, first=margin, rest=rest, markdown=markdown):
            # without its mark, a gap would end the prohibition
            is_gap = never and not any(part.strip() for part, _ in line)
            yield [(rest.rstrip(), "")] if is_gap else line

    # steps

    def _step(self, step: Step, indent: str) -> Iterator[Line]:
        mark = f"{step.number or '-'} "
        rest = indent + " " * len(mark)
        margin: Line = [(indent + mark, ""), *danger(step)]
        if cells := _cells_of(step):
            heads = _heads(_table_head(step))
            yield from labelled(
                heads, cells, self._width, first=margin, rest=rest, markdown=self._markdown
            )
        for part in () if cells else step.parts:
            if not part.is_code:
                yield from self._laid_out(part.text, margin, rest)
            elif margin == [(indent + mark, "")]:
                first, *others = command_lines(part.text, rest)
                yield from ([*margin, (INDENT, ""), *first[1:]], *others)
            else:
                yield from [margin[:-1]] if len(margin) > 1 else []
                yield from command_lines(part.text, rest)
            margin = [(rest, "")]
        yield from self._cited([step], rest)

    def _laid_out(self, text: str, first: Line, rest: str, style: str = "") -> Iterator[Line]:
        return laid_out(
            text, self._width, first=first, rest=rest, style=style, markdown=self._markdown
        )

    def _cited(self, steps: Sequence[Step], indent: str) -> Iterator[Line]:
        lines = [one.citation for step in steps for one in _own(step)]
        start, end = min(it.start_line for it in lines), max(it.end_line for it in lines)
        yield [(indent, ""), (place(lines[0].source_file, start, end), CITATION)]

    def _table(self, rows: Sequence[Step], indent: str) -> Iterator[Line]:
        """Yield the rows of a table with one citation, or step by step if one of them is destructive."""
        head = _table_head(rows[0])
        cells = [_cells_of(step) for step in rows]
        if any(step.destructive for step in rows) or not all(cells):
            for number, step in enumerate(rows):
                yield from [[]] if number else []
                yield from self._step(step, indent)
            return
        yield from table(
            [_heads(head), *cells],
            self._width,
            indent=indent,
            markdown=self._markdown,
            with_head=head != self._shown_head,
        )
        self._shown_head = head
        yield from self._cited(rows, indent)


_ANY_HEADING: Final = re.compile(r"[ \t]*#{1,6}[ \t][^\n]*|[^\n]+\n[ \t]*(?:=+|-+)[ \t]*")
_ROW: Final = re.compile(r"[ \t]*\|.*\|[ \t]*")
_COMMAND: Final = re.compile(r"`[^`\n]*\S [^`\n]+`")
_MAX_HANGING: Final = 11
"""Maximum columns of a label for further lines to be aligned with the words after it."""


def _heading_words(text: str) -> str:
    return plain_words(text.lstrip("# \t").partition("\n")[0])


def _own(step: Step) -> Sequence[CitedLines]:
    """Return the citations of a step's own lines."""
    governing = {one for guard in step.guards for one in guard.citations}
    return [it for it in step.citations if it not in governing] or step.citations[:1]


def _lists_below(steps: Sequence[Step]) -> dict[Guard, Guard]:
    """Return the forbidden list or code below each sentence that forbids it: they are shown together."""
    never = dict.fromkeys(it for step in steps for it in step.guards if it.kind in NEVER)
    return {
        lead: it
        for lead in never
        if lead.text.rstrip(" *_").endswith(":")
        for it in never
        if 0 < it.citations[0].citation.start_line - lead.citations[-1].citation.end_line <= 2
    }


def _level(guard: Guard, step: Step) -> int:
    """Return a guard's level among the headings of a step's path, 1 for the outermost; 0 if it is not a heading."""
    said = guard.text.lstrip("# \t").partition("\n")[0]
    names = {plain_words(said).strip(" *:#"), said.strip(" *:#")}
    levels = (n for n, it in enumerate(step.path, start=1) if it.strip(" *:#") in names)
    return max(levels, default=0)


def _conditions(step: Step, above: Guard | None = None) -> list[Guard]:
    """Return the conditions of a step, without headings, up to a guard if one is given."""
    found: list[Guard] = []
    for guard in step.guards:
        if guard == above:
            break
        if guard.kind is Governs.CONDITION and not guard.after and not _level(guard, step):
            found.append(guard)
    return found


# tables


def _table_head(step: Step) -> Guard | None:
    return next((it for it in step.guards if it.kind is Governs.NOTE and _heads(it)), None)


def _heads(guard: Guard | None) -> list[str]:
    return heads_of(guard.text) if guard else []


def _cells_of(step: Step) -> list[str]:
    """Return the non-empty cells of a table's row of the form ``head: cell | head: cell``; else nothing."""
    heads = _heads(_table_head(step))
    if not heads or len(step.parts) != 1:
        return []
    text = step.parts[0].text
    cells = []
    for place, head in enumerate(heads):
        if not head or not text.startswith(f"{head}: "):
            cells.append("")
            continue
        text = text.removeprefix(f"{head}: ")
        ends = [text.find(f" | {it}: ") for it in heads[place + 1 :] if it]
        end = min((it for it in ends if it >= 0), default=len(text))
        cells.append(text[:end])
        text = text[end:].removeprefix(" | ")
    return [] if text else cells
