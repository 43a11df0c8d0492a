"""How a character reads, and the ASCII letters that it looks like."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_INVISIBLE: Final = re.compile(
    "[\u115f\u1160\u180b-\u180f\u2060-\u206f\u2800\u3164\uffa0\U0001d159\U000e0000-\U000e0fff\\\\]"
)
"""Invisible characters that no category marks as such, among them Markdown's backslash."""
_SHAPELESS: Final = frozenset(("Cc", "Cf", "Mn", "Me"))
"""Categories of characters with no shape, or with one only together with the previous character."""
_LEFT_TO_RIGHT: Final = "\u200e"
"""Stands around right-to-left characters in Unicode's data."""


@lru_cache(maxsize=4096)
def read_as(character: str) -> str:
    """Return how one character reads: NFKC, "" if it has no shape, the number for an enclosed one."""
    category = unicodedata.category(character)
    shapeless = category in _SHAPELESS and not character.isspace()
    if shapeless or _INVISIBLE.match(character):
        return ""
    plain = unicodedata.normalize("NFKC", character)
    if plain == character and category in ("No", "Nl"):
        value = unicodedata.numeric(character)
        return str(int(value)) if value.is_integer() else plain
    return plain


@lru_cache(maxsize=4096)
def looks_like(character: str) -> str:
    """Return the ASCII letters that one character looks like, "" if it has no shape."""
    plain = read_as(character)
    if not plain or character.isascii():
        return plain
    if character in (alike := _confusables()):
        return alike[character]
    if named := _LETTER_BY_NAME.match(unicodedata.name(character, "")):
        return named[1].lower()
    base = unicodedata.normalize("NFKD", plain)
    return "".join(alike.get(part, part) for part in base if unicodedata.category(part) != "Mn")


_LETTER_BY_NAME: Final = re.compile(
    r"(?:LATIN (?:SMALL|CAPITAL) LETTER|LATIN LETTER SMALL CAPITAL|(?:NEGATIVE|CROSSED NEGATIVE) (?:SQUARED|CIRCLED) LATIN CAPITAL LETTER"
    r"|REGIONAL INDICATOR SYMBOL LETTER) ([A-Z])(?: WITH .*)?\Z"
)
"""A letter with a hook or a stroke, or in a filled shape, which no decomposition shows."""


@cache
def _confusables() -> Mapping[str, str]:
    """Return the ASCII letter or digit for each character that Unicode lists as confusable with it."""
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415 - 0.9 MB, seldom needed

    found: dict[str, str] = {}
    for character, alike in confusables_data.items():
        shapes = (one["c"].strip(_LEFT_TO_RIGHT) for one in alike)
        letters = [one for one in shapes if len(one) == 1 and one.isascii() and one.isalnum()]
        if letters:
            found[character.strip(_LEFT_TO_RIGHT)] = letters[0]
    return found
