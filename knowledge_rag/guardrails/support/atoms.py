"""Finds the exact details of a claim: commands, flags, paths, hosts, names, numbers, dates.

A word outside code is an atom only if no plain word looks like it (``p95``, ``us-east-1``,
``kube_pod_info``, ``NodeNotReady``); in code every word is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.characters import overlaps
from knowledge_rag.guardrails.support.lexemes import (
    COMMANDS,
    LEXEME,
    code_stretches,
    folded,
    holds_placeholder,
    kind_of,
    literals,
    trimmed,
    unescaped,
)
from knowledge_rag.guardrails.support.quantities import (
    MONTH_NAMES,
    NUMBER_WORDS,
    iso_date_at,
    quantity_at,
    quantity_of_word,
    written_dates,
)
from knowledge_rag.guardrails.support.report import AtomKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.support.quantities import Date, Measured

_WORD_ENDS: Final = re.compile(r"[\s,]+")
_NOWHERE: Final = 1 << 62
_SIGNS: Final = "+-~"
_PROMPT: Final = re.compile(
    r"^[ \t]*(?P<prompt>[$#] )?(?P<program>[\w-]{1,40}) [^\n]*", re.MULTILINE
)
_SHELL: Final = re.compile(r" --?[A-Za-z]|[|<>$]")

_Place = tuple[str, int, str, bool, bool]
"""A lexeme, its offset, the folded one before it, whether it is code, and whether it is the first of a command."""


class Atom(NamedTuple):
    """One exact detail of a claim.

    Args:
        kind: of the detail.
        start: offset of its first character in the claim.
        end: offset after its last one.
        value: to search for: a name without the punctuation around it, quantities, or a date.
        before: the folded name before it; the atom fills in a placeholder after the same name.
    """

    kind: AtomKind
    start: int
    end: int
    value: str | Measured | Date
    before: str


def find_atoms(plain: str) -> list[Atom]:
    """Return the atoms of a claim with markup blanked, in order."""
    dates = [] if MONTH_NAMES.isdisjoint(_WORD_ENDS.split(plain)) else written_dates(plain)
    atoms = [Atom(AtomKind.DATE, start, end, it, "") for start, end, it in dates]
    spans = [(start, end) for start, end, _ in dates]
    consumed = 0
    for place in _places(plain):
        start = place[1]
        is_taken = start < consumed or overlaps(start, start + 1, spans)
        if not is_taken and (atom := _atom(plain, place)):
            consumed = atom.end
            atoms.append(atom)
    return sorted(atoms, key=lambda atom: atom.start)


def _places(plain: str) -> Iterator[_Place]:
    stretches = iter([*_code(plain), (_NOWHERE, _NOWHERE)])
    code_start, code_end = next(stretches)
    before, opens = "", _is_command_line(plain, code_start, code_end)
    for found in LEXEME.finditer(plain):
        lexeme, start = found[0], found.start()
        while start >= code_end:
            code_start, code_end = next(stretches)
            opens = _is_command_line(plain, code_start, code_end)
        in_code = start >= code_start
        yield lexeme, start, before, in_code, opens
        opens = opens and not in_code
        before = folded(lexeme)


def _is_command_line(plain: str, start: int, end: int) -> bool:
    """Whether code begins with a command: a single name is just a name."""
    return len(plain[start:end].split(None, 1)) > 1


def _code(plain: str) -> list[tuple[int, int]]:
    """Return the stretches of code; in a claim without backticks, those of shell commands."""
    if "`" in plain:
        return code_stretches(plain)
    return [
        (found.start("program"), found.end())
        for found in _PROMPT.finditer(plain)
        if found["prompt"] or (found["program"] in COMMANDS and _SHELL.search(found[0]))
    ]


def _atom(plain: str, place: _Place) -> Atom | None:
    lexeme, start, before, in_code, opens = place
    if lexeme[0].isdigit() or (lexeme[0] in _SIGNS and lexeme[1:2].isdigit()):
        if dated := iso_date_at(plain, start):
            return Atom(AtomKind.DATE, start, dated[0], dated[1], before)
        if measured := quantity_at(plain, start):
            return _number(plain, start, before, measured)
    elif lexeme in NUMBER_WORDS and not in_code:
        measured = quantity_of_word(plain, start, start + len(lexeme))
        return _number(plain, start, before, measured)
    if found := _name(lexeme, in_code=in_code, opens=opens, behind_flag=before[:1] == "-"):
        kind, offset, end, name = found
        return Atom(kind, start + offset, start + end, name, before)
    return None


def _number(plain: str, start: int, before: str, measured: Measured) -> Atom:
    end = start + len(plain[start : measured.end].rstrip("-"))
    return Atom(AtomKind.NUMBER, start, end, measured, before)


def _name(
    lexeme: str, *, in_code: bool, opens: bool, behind_flag: bool
) -> tuple[AtomKind, int, int, str] | None:
    """Return the name in a lexeme, if it has one: kind, start and end within it, name."""
    name = trimmed(unescaped(lexeme))
    if not name.isalnum() and not any(map(str.isalnum, name)):
        return None
    if holds_placeholder(name) and not literals(name):
        return None
    # a hyphenated word after a flag is its argument, not prose
    argument = behind_flag and "-" in name
    kind = kind_of(name, in_code=in_code or argument, opens=opens and not argument)
    if kind is None:
        return None
    start = lexeme.find(name)
    if start < 0:  # backslashes were removed
        return kind, 0, len(lexeme), name
    return kind, start, start + len(name), name
