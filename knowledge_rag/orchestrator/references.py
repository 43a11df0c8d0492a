"""Adds what a procedure's steps refer to on their page: footnotes, links by name, variables, tables, lines at its end."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.governing import Governing, Governs, forbids, warns
from knowledge_rag.orchestrator.outline import Form
from knowledge_rag.orchestrator.procedures import governed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.outline import Block, Outline
    from knowledge_rag.orchestrator.procedures import Procedure


def with_references(outline: Outline, procedures: Sequence[Procedure]) -> Iterator[Procedure]:
    """Yield procedures whose items include the lines that they refer to, wherever those are on the page.

    These are footnotes, links by name, "the table above", and lines "at the end of this page"; and for the first use of a
    variable or an alias in a command, the line that defines it, unless its procedure does.
    """
    aliases = {it for line in outline.lines.values() for it in _ALIAS.findall(line)}
    known: set[str] = set()
    for procedure in procedures:
        shown = procedure.lines
        text = "\n".join(outline.lines.get(number, "") for number in sorted(shown))
        items = []
        for item in procedure.items:
            said = outline.text(item.start, item.end)
            used = {*_VARIABLE.findall(said), *aliases.intersection(_WORDS.findall(said))}
            unknown = sorted(used - known)
            known |= {*unknown}
            defining = dict.fromkeys(line for _, line in outline.called(said))
            referred = [_defined_at(outline, line) for line in defining if line not in shown]
            referred += (
                found
                for it in unknown
                if not _definition(it).search(text) and (found := _defined(outline, it, shown))
            )
            referred += (
                Governing(outline.text(it.start, it.end), Governs.NOTE, it.start, it.end)
                for it in _blocks_named(outline, said, item.start)
                if it.start not in shown
            )
            items.append(governed(item, *referred))
        yield replace(procedure, items=tuple(items))


def _defined_at(outline: Outline, number: int) -> Governing:
    """Return the definition of a link, or of a footnote with the lines that go on below it."""
    first, lines, end = outline.lines[number], outline.lines, number
    name, _, text = first.partition("]:")
    is_note = name.lstrip().startswith("[^")
    starts = outline.defined.values()
    while is_note and lines.get(end + 1, "").strip() and end + 1 not in starts:
        end += 1
    said = "\n".join(
        [text.strip() if is_note else first, *(lines[n] for n in range(number + 1, end + 1))]
    )
    kind = Governs.CAUTION if warns(said) or forbids(said) else Governs.NOTE
    return Governing(said, kind, number, end, after=not is_note)


_VARIABLE: Final = re.compile(r"\$\{?([A-Z][A-Z\d_]{0,40})\b")
_ALIAS: Final = re.compile(r"\balias ([\w.-]{1,40})=\S")
_WORDS: Final = re.compile(r"[\w.-]+")
_TABLE: Final = re.compile(
    r"\btable (?P<above>above)\b|\btable below\b|\b(?:(?P<upper>above)|below) table\b|\b(?P<only>(?:in|see|per|by) the table)\b(?! (?:above|below|of|in)\b)",
    re.IGNORECASE,
)


def _definition(variable: str) -> re.Pattern[str]:
    """Return the pattern of a line that defines a variable or an alias: ``B=...``, "`B` is short for ...", "`$B`: ..."."""
    return re.compile(
        rf"(?<![\w$]){re.escape(variable)}=\S|`\$?{re.escape(variable)}`(?: (?:is|means|stands for)\b| ?[=:])"
    )


def _defined(outline: Outline, variable: str, shown: set[int]) -> Governing | None:
    """Return the line of the page, outside lists and the shown lines, that defines a variable."""
    pattern = _definition(variable)
    for block in (it for section in outline.sections() for it in section.blocks):
        for number in range(block.start, block.end + 1) if block.form is not Form.LIST else ():
            line = outline.lines.get(number, "")
            if number not in shown and pattern.search(line):
                return Governing(line.strip(), Governs.NOTE, number, number)
    return None


def _blocks_named(outline: Outline, text: str, line: int) -> Iterator[Block]:
    """Yield the blocks that a text names by position: the next table above its line, or below; the only one; the page's end."""
    blocks = [it for section in outline.sections() for it in section.blocks]
    tables = [it for it in blocks if it.form is Form.TABLE]
    for named in _TABLE.finditer(text):
        above = [it for it in tables if it.end < line]
        below = [it for it in tables if it.start > line]
        if named["only"]:
            yield from tables if len(tables) == 1 else ()
        else:
            yield from above[-1:] if named["above"] or named["upper"] else below[:1]
    if outline.whole and _AT_THE_END.search(text):
        yield from blocks[-1:]


_AT_THE_END: Final = re.compile(
    r"\bat the (?:end|bottom|foot) of (?:this|the) (?:page|document|runbook)\b", re.IGNORECASE
)
