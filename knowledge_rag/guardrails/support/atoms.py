"""Finds what a claim states exactly: commands, flags, paths, hosts, names, numbers, dates.

A word outside code is an atom only if no plain word looks like it (``p95``, ``us-east-1``,
``kube_pod_info``, ``NodeNotReady``); in code every word is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.support.atom_kinds import COMMANDS, is_plain_word, kind_of
from knowledge_rag.guardrails.support.dates import MONTH_NAMES, iso_date_at, written_dates
from knowledge_rag.guardrails.support.lexemes import (
    LEXEME,
    folded,
    holds_placeholder,
    literals,
    trimmed,
    unescaped,
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

_DIGIT: Final = re.compile(r"\d")
_WORD_ENDS: Final = re.compile(r"[\s,]+")
_NOWHERE: Final = 1 << 62
_SIGNS: Final = "+-~"
_PROMPT: Final = re.compile(
    r"^[ \t]*(?P<prompt>[$#] )?(?P<program>[\w-]{1,40}) [^\n]*", re.MULTILINE
)
_SHELL: Final = re.compile(r" --?[A-Za-z]|[|<>$]")


class Atom(NamedTuple):
    """One exact statement of a claim; a tuple, since a claim has many and a dataclass takes longer.

    Args:
        kind: what it is.
        start: offset of its first character in the claim.
        end: offset behind its last one.
        value: what to look for: a name without the punctuation around it, quantities, or a date.
        before: folded name in front of it; a placeholder behind the same name is what it fills in.
    """

    kind: AtomKind
    start: int
    end: int
    value: str | Measured | Date
    before: str


class _Place(NamedTuple):
    """A lexeme, its offset, the folded one in front, whether it is code and the first of it."""

    lexeme: str
    start: int
    before: str
    in_code: bool
    opens: bool


def find_atoms(plain: str) -> list[Atom]:
    """List the atoms of a claim in its order.

    Args:
        plain: the claim with markup blanked, as :func:`markup.plain` gives it.
    """
    dates = written_dates(plain) if _may_hold_dates(plain) else []
    atoms = [Atom(AtomKind.DATE, start, end, it, "") for start, end, it in dates]
    inside = iter([*dates, (_NOWHERE, _NOWHERE, None)])
    date_start, date_end, _ = next(inside)
    consumed, has_open = 0, holds_placeholder(plain)
    for place in _places(plain):
        while place.start >= date_end:
            date_start, date_end, _ = next(inside)
        if consumed <= place.start < date_start and (
            atom := _atom(plain, place, has_open=has_open)
        ):
            consumed = atom.end
            atoms.append(atom)
    return sorted(atoms, key=lambda atom: atom.start) if dates else atoms


def _may_hold_dates(plain: str) -> bool:
    return bool(_DIGIT.search(plain)) and not MONTH_NAMES.isdisjoint(_WORD_ENDS.split(plain))


def _places(plain: str) -> Iterator[_Place]:
    """Give the lexemes that may be atoms: all but plain words outside code."""
    stretches = iter([*_code(plain), (_NOWHERE, _NOWHERE)])
    code_start, code_end = next(stretches)
    before, opens = "", _is_command_line(plain, code_start, code_end)
    for found in LEXEME.finditer(plain):
        lexeme, start = found[0], found.start()
        # most words are neither in code nor telling: they go by quickly
        if start >= code_start or not is_plain_word(lexeme) or lexeme in _TELLING_WORDS:
            while start >= code_end:
                code_start, code_end = next(stretches)
                opens = _is_command_line(plain, code_start, code_end)
            in_code = start >= code_start
            yield _Place(lexeme, start, folded(before), in_code, opens)
            opens = opens and not in_code
        before = lexeme


def _is_command_line(plain: str, start: int, end: int) -> bool:
    """Whether code begins with a command: a single name is just a name."""
    return len(plain[start:end].split(None, 1)) > 1


def _code(plain: str) -> list[tuple[int, int]]:
    """Give the stretches of code, and of lines that are a shell's without saying so."""
    if "`" in plain:
        return code_stretches(plain)
    return [
        (found.start("program"), found.end())
        for found in _PROMPT.finditer(plain)
        if found["prompt"] or (found["program"] in COMMANDS and _SHELL.search(found[0]))
    ]


def _atom(plain: str, place: _Place, *, has_open: bool) -> Atom | None:
    lexeme, start = place.lexeme, place.start
    if lexeme[0].isdigit() or (lexeme[0] in _SIGNS and lexeme[1:2].isdigit()):
        if dated := iso_date_at(plain, start):
            return Atom(AtomKind.DATE, start, dated[0], dated[1], place.before)
        if measured := quantity_at(plain, start):
            return _number(plain, place, measured)
    elif lexeme in NUMBER_WORDS and not place.in_code:
        return _number(plain, place, quantity_of_word(plain, start, start + len(lexeme)))
    return _name(place, has_open=has_open)


def _number(plain: str, place: _Place, measured: Measured) -> Atom:
    end = place.start + len(plain[place.start : measured.end].rstrip("-"))
    return Atom(AtomKind.NUMBER, place.start, end, measured, place.before)


def _name(place: _Place, *, has_open: bool) -> Atom | None:
    name = place.lexeme
    name = trimmed(unescaped(name))
    if not name.isalnum() and not any(map(str.isalnum, name)):
        return None
    if has_open and holds_placeholder(name) and not literals(name):
        return None
    # a hyphenated word behind a flag is its argument, not prose
    argument = place.before.startswith("-") and "-" in name
    kind = kind_of(name, in_code=place.in_code or argument, opens=place.opens and not argument)
    if kind is None:
        return None
    offset = place.lexeme.find(name)
    if offset < 0:  # backslashes were taken out of it
        return Atom(kind, place.start, place.start + len(place.lexeme), name, place.before)
    start = place.start + offset
    return Atom(kind, start, start + len(name), name, place.before)
