"""Finds phrases and numbers in an answer as a pattern alone would, many times faster.

A case-insensitive pattern is tried at every character. Here it is tried only where a case-folded copy
has the literal text of its matches.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ALSO_ASCII: Final = "\u0130\u0131\u017f\u212a"
"""Characters that match an ASCII letter if case is ignored, besides the letter's own two cases."""


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
    """Return the same matches as ``pattern.finditer(text)``.

    Args:
        pattern: one that never matches the empty text.
        text: to search.
        starts: indexes in order, including those of all matches.
    """
    end = 0
    for start in starts:
        if start >= end and (found := pattern.match(text, start)):
            end = found.end()
            yield found


def places(part: bytes, folded: bytes) -> Iterator[int]:
    """Return every index of ``part``, in order."""
    at = folded.find(part)
    while at >= 0:
        yield at
        at = folded.find(part, at + 1)


def find_phrases(
    wordings: Sequence[str], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find phrases from left to right, none overlapping another.

    Args:
        wordings: phrases; case, white space and the form of apostrophes don't matter, blank ones are ignored.
        text: to search.
        folded: the result of :func:`fold` for it.
    """
    possible = tuple(one for one in wordings if one.strip() and _may_hold(folded, one))
    return _phrases(possible).finditer(text) if possible else iter(())


def _may_hold(folded: bytes | None, wording: str) -> bool:
    """Whether a folded text may have all words of a phrase, in any place."""
    if folded is None or not (words := fold(wording)):
        return True
    return all(part in folded for part in words.replace(b"'", b" ").split())


@lru_cache(maxsize=64)
def _phrases(wordings: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = (
        r"\s+".join(re.escape(word).replace("'", "['\u2019]") for word in one.split())
        for one in wordings
    )
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


_AMOUNT: Final = r"\d{1,15}(?:[.,]\d{1,15}){0,5}"
_UNITS: Final = (
    "percent|per cent|thousand|million|billion|trillion|dollars|euros|pounds|USD|EUR|GBP"
)
_SIGNS: Final = (
    b"%",
    b"$",
    b"cent",
    b"thousand",
    b"illion",
    b"dollar",
    b"eur",
    b"pound",
    b"usd",
    b"gbp",
)
"""Each unit, and each currency's sign in ASCII, contains one of these."""
NUMBERS: Final = (
    rf"{_AMOUNT}[ \u00a0]?(?:%|(?:{_UNITS})\b)",
    rf"(?:US\$|[$\u20ac\u00a3])[ \u00a0]?{_AMOUNT}",
)
"""Regular expressions to search for by default."""

_APART: Final = r"[\w./:=-]"
"""A number after one of these is part of an identifier."""
_OF_ONE: Final = rf"(?<!{_APART}.)(?<=(?={'|'.join(NUMBERS)}).)"
_BEGINS: Final = re.compile(rf"[\d$\u20ac\u00a3Uu]{_OF_ONE}", re.IGNORECASE)
"""The first character of one of NUMBERS: searching for a set of characters is many times faster."""
_BEGINS_IN_ASCII: Final = re.compile(rf"[0-9$](?i:{_OF_ONE})")
"""The same in ASCII, without ``US$``: this set takes half the time."""


def find_numbers(
    patterns: tuple[str, ...], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find numbers from left to right, none overlapping another, except those in identifiers.

    Args:
        patterns: regular expressions of them; case is ignored.
        text: to search.
        folded: the result of :func:`fold` for it.
    """
    pattern = _numbers(patterns)
    if patterns != NUMBERS:
        return pattern.finditer(text)
    is_plain = text.isascii() and not ("S$" in text or "s$" in text)
    if folded is None or not is_plain:
        return matches_at(pattern, text, (found.start() for found in _BEGINS.finditer(text)))
    lines = _lines_with_units(folded)
    begun = (it.start() for line in lines for it in _BEGINS_IN_ASCII.finditer(text, *line))
    return matches_at(pattern, text, begun)


def _lines_with_units(folded: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of the lines that have a unit, or a currency's sign, in them."""
    end = 0
    for at in sorted(at for unit in _SIGNS for at in places(unit, folded)):
        if at >= end:
            start = folded.rfind(b"\n", 0, at) + 1
            end = folded.find(b"\n", at) + 1 or len(folded)
            yield start, end


@lru_cache(maxsize=64)
def _numbers(patterns: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    return re.compile(rf"(?<!{_APART})(?:{alternatives})", re.IGNORECASE)
