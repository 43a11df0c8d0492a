"""Finds the numbers of an answer that state something: shares, large numbers, sums of money."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.searches import matches_at, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NUMBERS: Final = (
    r"\d{1,15}(?:[.,]\d{1,15}){0,5}[ \u00a0]?(?:%|percent\b|per cent\b)",
    r"\d{1,15}(?:[.,]\d{1,15}){0,5}[ \u00a0]?(?:thousand|million|billion|trillion)\b",
    r"(?:US\$|[$\u20ac\u00a3])[ \u00a0]?\d{1,15}(?:[.,]\d{1,15}){0,5}",
    r"\d{1,15}(?:[.,]\d{1,15}){0,5}[ \u00a0]?(?:dollars|euros|pounds|USD|EUR|GBP)\b",
)
"""What to look for where settings say nothing else. Regular expressions."""

_BEGINS: Final = re.compile(r"[\d$\u20ac\u00a3Uu](?<![\w./:=-].)")
"""What each of NUMBERS begins with, where it is no part of an identifier."""
_LENGTH: Final = 100
"""Characters of one of NUMBERS before its unit at most."""
_UNITS: Final = (
    *(b"%", b"percent", b"per cent", b"thousand", b"illion"),
    *(b"$", b"dollars", b"pounds", b"usd", b"eur", b"gbp"),
)
"""What each of NUMBERS holds behind its digits or, a symbol, before them; in a folded text.

Whoever adds to NUMBERS adds here what the new ones hold.
"""
_BETWEEN: Final = frozenset(" \u00a0")
"""What may stand between digits and their unit."""
_SYMBOLS: Final = re.compile("[\u20ac\u00a3]")
"""Those that a folded text does not hold."""


def find_numbers(
    patterns: tuple[str, ...], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find numbers from left to right, none overlapping another, where they are no identifier's.

    Those of NUMBERS are looked for where their units stand; with any other pattern, all of them are
    looked for at every character.

    Args:
        patterns: regular expressions of them; case is ignored.
        text: to search.
        folded: what :func:`~knowledge_rag.guardrails.searches.fold` gives for it.
    """
    pattern = _pattern(patterns)
    if folded is None or not set(patterns) <= set(NUMBERS):
        return pattern.finditer(text)
    return matches_at(pattern, text, _begins(text, folded))


def _begins(text: str, folded: bytes) -> Iterator[int]:
    """Give where one of NUMBERS may begin: close before each of the units."""
    units = [
        place
        for unit in _UNITS
        if unit in folded
        for place in places(unit, folded)
        if _is_next_to_digit(text, place, unit)
    ]
    if not text.isascii():
        units.extend(found.start() for found in _SYMBOLS.finditer(text))
    for start, end in _stretches(sorted(units)):
        for begun in _BEGINS.finditer(text, start, end):
            yield begun.start()


def _is_next_to_digit(text: str, place: int, unit: bytes) -> bool:
    """Whether a digit stands where the number of a unit has one: before it, or behind a symbol."""
    if unit == b"$":
        digit = text[place + 1 : place + 2]
        return (text[place + 2 : place + 3] if digit in _BETWEEN else digit).isdecimal()
    if unit == b"illion":  # of m, b and tr
        place -= 2 if text[place - 1 : place] in "rR" else 1
    digit = text[place - 1 : place]
    return (text[place - 2 : place - 1] if digit in _BETWEEN else digit).isdecimal()


def _stretches(units: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Give the parts of a text, in order and apart, in which a number of one of the units may begin."""
    start = end = 0
    for unit in units:
        if unit - _LENGTH > end:
            yield start, end
            start = unit - _LENGTH
        end = unit + 1
    yield start, end


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Give the pattern of any of the numbers, where it is no part of an identifier."""
    ways = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    return re.compile(rf"(?<![\w./:=-])(?:{ways})", re.IGNORECASE)
