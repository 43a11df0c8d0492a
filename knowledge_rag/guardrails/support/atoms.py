"""Finds the exact details of a claim: commands, flags, paths, hosts, names, numbers, dates.

A word outside code is an atom only if no plain word looks like it (``p95``, ``us-east-1``,
``kube_pod_info``, ``NodeNotReady``); in code every word is one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.support.lexemes import (
    COMMANDS,
    LONGEST_KEPT,
    MOST_KEPT,
    code_stretches,
    holds_placeholder,
    kind_of,
    literals,
    placed,
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
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.support.lexemes import Piece
    from knowledge_rag.guardrails.support.quantities import Date, Measured

_DIGIT: Final = re.compile(r"\d")
_WORD_ENDS: Final = re.compile(r"[\s,]+")
_MONTH_WORDS: Final = frozenset(name.rstrip(".").casefold() for name in MONTH_NAMES)
_NOWHERE: Final = 1 << 62
_SIGNS: Final = "+-~"
_PROMPT: Final = re.compile(
    r"^[ \t]*(?P<prompt>[$#] )?(?P<program>[\w-]{1,40}) [^\n]*", re.MULTILINE
)
_SHELL: Final = re.compile(r" --?[A-Za-z]|[|<>$]")

_Place = tuple[str, int, str, bool, bool]
"""A lexeme, its offset, the folded one before it, whether it is code, and whether it is the first of a command."""


class Atom(NamedTuple):
    """One exact detail of a claim; a tuple, since a claim has many and a dataclass takes longer.

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


def find_atoms(plain: str, cut: Sequence[Piece], said: Iterable[str]) -> list[Atom]:
    """Return the atoms of a claim, in order.

    Args:
        plain: the claim with markup blanked, as :func:`markup.plain` returns it.
        cut: its pieces.
        said: its words.
    """
    places = _places(plain, cut)
    dates = written_dates(plain) if _may_hold_dates(plain, said) else []
    if not dates:
        return _atoms(plain, places)
    dated = [Atom(AtomKind.DATE, start, end, it, "") for start, end, it in dates]
    atoms = dated + _atoms(plain, _outside(places, dates))
    return sorted(atoms, key=lambda atom: atom.start)


def _atoms(plain: str, places: Iterable[_Place]) -> list[Atom]:
    atoms = []
    consumed = 0
    for place in places:
        if place[1] >= consumed and (atom := _atom(plain, place)):
            consumed = atom.end
            atoms.append(atom)
    return atoms


def _outside(places: Iterable[_Place], dates: Iterable[tuple[int, int, Date]]) -> Iterator[_Place]:
    """Return the lexemes that don't begin within a date."""
    inside = iter([*dates, (_NOWHERE, _NOWHERE, None)])
    start, end, _ = next(inside)
    for place in places:
        while place[1] >= end:
            start, end, _ = next(inside)
        if place[1] < start:
            yield place


def _may_hold_dates(plain: str, said: Iterable[str]) -> bool:
    if _MONTH_WORDS.isdisjoint(said):
        return False
    return bool(_DIGIT.search(plain)) and not MONTH_NAMES.isdisjoint(_WORD_ENDS.split(plain))


def _places(plain: str, cut: Sequence[Piece]) -> Iterator[_Place]:
    """Return the lexemes that may be atoms; most plain words outside code are skipped for speed."""
    stretches = iter([*_code(plain), (_NOWHERE, _NOWHERE)])
    code_start, code_end = next(stretches)
    before, opens = "", _is_command_line(plain, code_start, code_end)
    for at, piece in placed(plain, cut):
        if piece.may_be_atom or at + piece.width > code_start:
            for offset, lexeme, folded in piece.places:
                start = at + offset
                while start >= code_end:
                    code_start, code_end = next(stretches)
                    opens = _is_command_line(plain, code_start, code_end)
                in_code = start >= code_start
                yield lexeme, start, before, in_code, opens
                opens = opens and not in_code
                before = folded
        elif piece.last:
            before = piece.last


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
    named = _cached_name if len(lexeme) <= LONGEST_KEPT else _name
    if found := named(lexeme, in_code, opens, before[:1] == "-"):
        kind, offset, end, name = found
        return Atom(kind, start + offset, start + end, name, before)
    return None


def _number(plain: str, start: int, before: str, measured: Measured) -> Atom:
    end = start + len(plain[start : measured.end].rstrip("-"))
    return Atom(AtomKind.NUMBER, start, end, measured, before)


def _name(  # its arguments are positional, as the key of a cache
    lexeme: str,
    in_code: bool,  # noqa: FBT001
    opens: bool,  # noqa: FBT001
    behind_flag: bool,  # noqa: FBT001
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


_cached_name: Final = lru_cache(maxsize=MOST_KEPT)(_name)
