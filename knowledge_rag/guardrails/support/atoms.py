"""Finds what a claim states exactly: commands, flags, paths, hosts, names, numbers, dates.

A word outside code is an atom only if no plain word looks like it (``p95``, ``us-east-1``,
``kube_pod_info``, ``NodeNotReady``); in code every word is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.support.atom_kinds import COMMANDS, is_plain_word, kind_of
from knowledge_rag.guardrails.support.dates import MONTH_NAMES, iso_date_at, written_dates
from knowledge_rag.guardrails.support.lexemes import (
    LEXEME,
    folded,
    holds_placeholder,
    literals,
    trimmed,
)
from knowledge_rag.guardrails.support.markup import code_stretches
from knowledge_rag.guardrails.support.quantities import (
    NUMBER_WORDS,
    quantity_at,
    quantity_of_word,
)
from knowledge_rag.guardrails.support.report import AtomKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.support.dates import Date
    from knowledge_rag.guardrails.support.quantities import Measured

_TELLING_WORDS: Final = COMMANDS | NUMBER_WORDS
"""Plain words that are atoms outside code too."""

_NOWHERE: Final = 1 << 62
_SIGNS: Final = "+-~"
_PROMPT: Final = re.compile(
    r"^[ \t]*(?P<prompt>[$#] )?(?P<program>[\w-]{1,40}) [^\n]*", re.MULTILINE
)
_SHELL: Final = re.compile(r" --?[A-Za-z]|[|<>$]")


@dataclass(frozen=True, slots=True)
class Atom:
    """One exact statement of a claim.

    Args:
        kind: what it is.
        text: as it stands in the claim.
        start: offset of its first character.
        end: offset behind its last one.
        value: what to look for: a name without the punctuation around it, quantities, or a date.
        before: folded name in front of it; a placeholder behind the same name is what it fills in.
    """

    kind: AtomKind
    text: str
    start: int
    end: int
    value: str | Measured | Date
    before: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A lexeme, its offset, the folded one in front, whether it is code and the first of it."""

    lexeme: str
    start: int
    before: str
    in_code: bool
    opens: bool


def find_atoms(claim: str, plain: str) -> list[Atom]:
    """List the atoms of a claim in its order.

    Args:
        claim: the text.
        plain: the same with markup blanked, as :func:`markup.plain` gives it.
    """
    dates = [] if MONTH_NAMES.isdisjoint(re.split(r"[\s,]+", plain)) else written_dates(plain)
    atoms = [Atom(AtomKind.DATE, "", start, end, it, "") for start, end, it in dates]
    inside = iter([*dates, (_NOWHERE, _NOWHERE, None)])
    date_start, date_end, _ = next(inside)
    consumed = 0
    for place in _places(plain):
        while place.start >= date_end:
            date_start, date_end, _ = next(inside)
        if consumed <= place.start < date_start and (atom := _atom(plain, place)):
            consumed = atom.end
            atoms.append(atom)
    if dates:
        atoms.sort(key=lambda atom: atom.start)
    return [replace(atom, text=claim[atom.start : atom.end]) for atom in atoms]


def _places(plain: str) -> Iterator[_Place]:
    """Give the lexemes that may be atoms: all but plain words outside code."""
    stretches = iter([*_code(plain), (_NOWHERE, _NOWHERE)])
    code_start, code_end = next(stretches)
    before, opens = "", True
    for found in LEXEME.finditer(plain):
        lexeme, start = found[0], found.start()
        while start >= code_end:
            code_start, code_end = next(stretches)
            opens = True
        in_code = start >= code_start
        if in_code or not is_plain_word(lexeme) or lexeme in _TELLING_WORDS:
            yield _Place(lexeme, start, folded(before), in_code, opens)
            opens = opens and not in_code
        before = lexeme


def _code(plain: str) -> list[tuple[int, int]]:
    """Give the stretches of code, and of lines that are a shell's without saying so."""
    if "`" in plain:
        return code_stretches(plain)
    return [
        (found.start("program"), found.end())
        for found in _PROMPT.finditer(plain)
        if found["prompt"] or (found["program"] in COMMANDS and _SHELL.search(found[0]))
    ]


def _atom(plain: str, place: _Place) -> Atom | None:
    lexeme, start = place.lexeme, place.start
    if lexeme[0].isdigit() or (lexeme[0] in _SIGNS and lexeme[1:2].isdigit()):
        if dated := iso_date_at(plain, start):
            return Atom(AtomKind.DATE, "", start, dated[0], dated[1], place.before)
        if measured := quantity_at(plain, start):
            return _number(plain, place, measured)
    elif lexeme in NUMBER_WORDS and not place.in_code:
        return _number(plain, place, quantity_of_word(plain, start, start + len(lexeme)))
    return _name(place)


def _number(plain: str, place: _Place, measured: Measured) -> Atom:
    end = place.start + len(plain[place.start : measured.end].rstrip("-"))
    return Atom(AtomKind.NUMBER, "", place.start, end, measured, place.before)


def _name(place: _Place) -> Atom | None:
    name = trimmed(place.lexeme)
    if not any(map(str.isalnum, name)) or (holds_placeholder(name) and not literals(name)):
        return None
    # a hyphenated word behind a flag is its argument, not prose
    argument = place.before.startswith("-") and "-" in name
    kind = kind_of(name, in_code=place.in_code or argument, opens=place.opens and not argument)
    if kind is None:
        return None
    offset = place.lexeme.find(name)
    if offset < 0:  # backslashes were taken out of it
        return Atom(kind, "", place.start, place.start + len(place.lexeme), name, place.before)
    start = place.start + offset
    return Atom(kind, "", start, start + len(name), name, place.before)
