"""Finds phrases and numbers in an answer: what a pattern alone would find, many times faster.

A case-insensitive pattern is tried at every character. Here it is tried only where the literal text
of its matches stands in a case-folded copy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ALSO_ASCII: Final = "\u0130\u0131\u017f\u212a"
"""What passes for an ASCII letter where case is ignored, beside the letter's own two cases."""


def fold(text: str) -> bytes | None:
    """Return a text's ASCII characters in lower case, one byte for each character of any kind.

    Returns:
        ``None`` if a character passes for an ASCII letter without being one.
    """
    if not text.isascii() and any(character in text for character in _ALSO_ASCII):
        return None
    return text.encode("ascii", "replace").lower()


def matches_at(
    pattern: re.Pattern[str], text: str, starts: Iterable[int]
) -> Iterator[re.Match[str]]:
    """Return what ``pattern.finditer(text)`` would.

    Args:
        pattern: that never matches the empty text.
        text: to search.
        starts: indexes in order, those of all its matches among them.
    """
    end = 0
    for start in starts:
        if start >= end and (found := pattern.match(text, start)):
            end = found.end()
            yield found


def places(part: bytes, folded: bytes) -> Iterator[int]:
    """Return every index at which ``part`` stands, in order."""
    at = folded.find(part)
    while at >= 0:
        yield at
        at = folded.find(part, at + 1)


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases to look for, whatever their case, white space and apostrophes.

    Args:
        pattern: of any of them.
        parts: for each phrase, literal text that it consists of, folded, beginning with its start;
            ``None`` if one can't be looked for in a folded text.
    """

    pattern: re.Pattern[str]
    parts: Sequence[Sequence[bytes]] | None

    def find(self, text: str, folded: bytes | None) -> Iterator[re.Match[str]]:
        """Find the phrases in a text, from left to right, none overlapping another.

        Args:
            text: to search.
            folded: what :func:`fold` gives for it.
        """
        if folded is None or self.parts is None:
            return self.pattern.finditer(text)
        heads = {parts[0] for parts in self.parts if all(part in folded for part in parts)}
        starts = sorted({start for head in heads for start in places(head, folded)})
        return matches_at(self.pattern, text, starts)


@lru_cache(maxsize=64)
def phrases(wordings: tuple[str, ...]) -> Phrases:
    """Make phrases ready to be looked for; blank ones are none."""
    split = [wording.split() for wording in wordings if wording.strip()]
    alternatives = (
        r"\s+".join(re.escape(word).replace("'", "['\u2019]") for word in words) for words in split
    )
    pattern = re.compile(rf"\b(?:{'|'.join(alternatives) or '(?!)'})\b", re.IGNORECASE)
    parts = [_parts(words) for words in split]
    return Phrases(pattern, None if None in parts else [part for part in parts if part])


def _parts(words: Sequence[str]) -> Sequence[bytes] | None:
    parts = [part for word in words for part in word.split("'")]
    if not parts[0] or not all(part.isascii() for part in parts):
        return None
    return [part.lower().encode() for part in parts if part]


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

For a new pattern in NUMBERS, add its unit here.
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
    """Return where one of NUMBERS may begin: close before each of the units."""
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
    """Return the parts of a text, in order and apart, in which a number of one of the units may begin."""
    start = end = 0
    for unit in units:
        if unit - _LENGTH > end:
            yield start, end
            start = unit - _LENGTH
        end = unit + 1
    yield start, end


@lru_cache(maxsize=64)
def _pattern(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of any of the numbers, where it is no part of an identifier."""
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    return re.compile(rf"(?<![\w./:=-])(?:{alternatives})", re.IGNORECASE)
