"""Finds phrases and numbers in an answer: what a pattern alone would find, many times faster.

A case-insensitive pattern is tried at every character. Here it is tried only where the literal text
of its matches stands in a case-folded copy.
"""

from __future__ import annotations

import re
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


def find_phrases(
    wordings: Sequence[str], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find phrases from left to right, none overlapping another.

    Args:
        wordings: phrases, whatever their case, white space and apostrophes; blank ones are none.
        text: to search.
        folded: what :func:`fold` returns for it.
    """
    possible = tuple(one for one in wordings if one.strip() and _may_hold(folded, one))
    return _phrases(possible).finditer(text) if possible else iter(())


def _may_hold(folded: bytes | None, wording: str) -> bool:
    """Whether a folded text holds all words of a phrase, wherever."""
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
"""Of which each of them has one."""
NUMBERS: Final = (
    rf"{_AMOUNT}[ \u00a0]?(?:%|(?:{_UNITS})\b)",
    rf"(?:US\$|[$\u20ac\u00a3])[ \u00a0]?{_AMOUNT}",
)
"""What to look for where settings say nothing else. Regular expressions."""

_APART: Final = r"[\w./:=-]"
"""A number that stands behind one of these is part of an identifier."""
_OF_ONE: Final = rf"(?<!{_APART}.)(?<=(?={'|'.join(NUMBERS)}).)"
_BEGINS: Final = re.compile(rf"[\d$\u20ac\u00a3Uu]{_OF_ONE}", re.IGNORECASE)
"""The first character of one of NUMBERS: a set of characters is looked for many times faster."""
_BEGINS_IN_ASCII: Final = re.compile(rf"[0-9$](?i:{_OF_ONE})")
"""The same in ASCII, but for ``US$``: that set takes half the time."""


def find_numbers(
    patterns: tuple[str, ...], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find numbers from left to right, none overlapping another, where they are no identifier's.

    Args:
        patterns: regular expressions of them; case is ignored.
        text: to search.
        folded: what :func:`fold` returns for it.
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
