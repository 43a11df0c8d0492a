"""What a bracket, a digit and a letter of a reference may be disguised as.

A reader, or the program that renders an answer, takes ``［１］`` and ``&#91;1&#93;`` for ``[1]``; so
does this package. Text is normalised one character at a time, so that every position in the
normalised text leads back to the text as written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# NFKC's own equivalents of the square brackets, and those that pass for them
OPENING: Final = (
    "[\uff3b\ufe47\u3010\u3014\u3016\u3018\u301a\ufe39\ufe3b\ufe5d\u2045\u27e6\u2772\u298b\u298d\u298f"
    "\ufe17\u27ec\u2997\u2e22\u2e24\u2e26\u2e55\u2e57"
)
CLOSING: Final = (
    "]\uff3d\ufe48\u3011\u3015\u3017\u3019\u301b\ufe3a\ufe3c\ufe5e\u2046\u27e7\u2773\u298c\u298e\u2990"
    "\ufe18\u27ed\u2998\u2e23\u2e25\u2e27\u2e56\u2e58"
)
MAX_ZEROS: Final = 256
"""Zeros before the number of a character reference at most: a browser reads any number of them."""
_ZEROS: Final = rf"0{{0,{MAX_ZEROS}}}+"


def _written(brackets: str) -> str:
    """Give the pattern of brackets as they are, and as their character references."""
    numbers = "|".join(str(ord(bracket)) for bracket in brackets)
    hexadecimal = "|".join(f"{ord(bracket):x}" for bracket in brackets)
    names = "|".join(sorted(name for name, value in html5.items() if value in set(brackets)))
    # browsers read a number's reference without its semicolon, too
    return (
        rf"[{re.escape(brackets)}]|&(?:\#{_ZEROS}(?:{numbers})(?:;|(?!\d))"
        rf"|\#[xX]{_ZEROS}(?i:{hexadecimal})(?:;|(?![\da-fA-F]))|(?:{names}))"
    )


OPENING_PATTERN: Final = _written(OPENING)
CLOSING_PATTERN: Final = _written(CLOSING)
MAX_NAME: Final = 18
"""Characters of a bracket's character reference behind its zeros at most: ``RightDoubleBracket``."""

_DISGUISE: Final = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
"""Marks of direction, and controls."""
_CONTROL: Final = re.compile("[\x0b\x1c-\x1f\x85]")
"""Controls that count as white space, and that a page may show as nothing."""
_INVISIBLE: Final = re.compile(
    "[\u115f\u1160\u180b-\u180f\u2060-\u206f\u2800\u3164\uffa0\U0001d159\U000e0000-\U000e0fff\\\\]"
)
"""Characters without a shape of their own that no category tells, among them Markdown's backslash."""
_SHAPELESS: Final = frozenset(("Cc", "Cf", "Mn", "Me"))
"""Categories of characters that have no shape, or none but together with the one before."""
_LOOK_ALIKE: Final = str.maketrans(
    {
        character: letter
        for letter, characters in {
            "s": "\u0455\u0405\u057d\ua731",
            "o": "\u043e\u041e\u03bf\u039f\u0585\u1d0f",
            "u": "\u03c5\u1d1c",
            "r": "\u0433\u0280",
            "c": "\u0441\u0421\u03f2\u03f9\u1d04",
            "e": "\u0435\u0415\u0395\u1d07",
            "l": "\u04cf\u04c0",
            "i": "\u0456\u0406\u03b9\u0399\u0131",
            "n": "\u0578\u0274",
        }.items()
        for character in characters
    }
)
"""Letters of other scripts with the shape of the letters in "source" and "line"."""

_TAG: Final = r"<[A-Za-z/!?][^<>]*+>?"
_SPECIAL: Final = r"<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<![A-Za-z][^>]*>"
_TAG_WITH_VALUES: Final = r"<[A-Za-z/!?](?:\"[^\"]*+\"|'[^']*+'|[^<>])*+>?"
_COMMENT: Final = r"<!--(?:-?>|.*?-->|.*)"
_MARK: Final = r"[*_~`]"
_MARKUP: Final = re.compile(rf"{_COMMENT}|{_SPECIAL}|{_TAG}|{_MARK}", re.DOTALL)
_MARKUP_WITH_VALUES: Final = re.compile(
    rf"{_COMMENT}|{_SPECIAL}|{_TAG_WITH_VALUES}|{_MARK}", re.DOTALL
)
"""The same for readers to whom a value in quotes may hold what else ends a tag."""
_MARKUP_AS_TAGS: Final = re.compile(rf"<[!?][^>]*>|{_TAG}|{_MARK}", re.DOTALL)
"""The same for readers who know of no comments."""
_NOT_AS_WRITTEN: Final = re.compile(r"[<&*_~`\\]")
_PIECE: Final = re.compile(
    rf"(?P<markup>{_COMMENT}|{_SPECIAL}|{_TAG}|{_MARK})|&#?\w{{1,31}};?|.", re.DOTALL
)
_PIECE_WITH_VALUES: Final = re.compile(
    rf"(?P<markup>{_COMMENT}|{_SPECIAL}|{_TAG_WITH_VALUES}|{_MARK})|&#?\w{{1,31}};?|.", re.DOTALL
)


class Normalised(NamedTuple):
    """A text as it would be read.

    Args:
        text: normalised.
        origin: for each of its characters, the index of the one as written that it stems from;
            ``None`` where nothing had to be changed.
        disguised: whether direction marks, controls, digits in black circles or character
            references made it read so; nobody writes a reference like that in good faith.
    """

    text: str
    origin: tuple[int, ...] | None
    disguised: bool

    def written(self, raw: str, start: int, end: int) -> str:
        """Give the part of ``raw`` that characters ``start`` to ``end`` stem from."""
        if self.origin is None:
            return raw[start:end]
        return raw[self.origin[start] : self.origin[end - 1] + 1] if start < end else ""

    @property
    def look(self) -> str:
        """The text with letters of other scripts as the ones that they look like."""
        return self.text if self.text.isascii() else self.text.translate(_LOOK_ALIKE)


def normalise(raw: str) -> Normalised:
    """Normalise what stands between two brackets: NFKC, without what has no shape."""
    if "&" in raw and (plain := html.unescape(raw)) != raw:
        return Normalised(normalise(plain).text, None, disguised=True)
    if raw.isascii() and "\\" not in raw and (raw.isprintable() or not _DISGUISE.search(raw)):
        return Normalised(raw, None, disguised=False)
    text: list[str] = []
    origin: list[int] = []
    disguised = _DISGUISE.search(raw) is not None
    for index, character in enumerate(raw):
        read = _read(character)
        disguised |= read.isdecimal() and not unicodedata.normalize("NFKC", character).isdecimal()
        text.append(read)
        origin.extend([index] * len(read))
    return Normalised("".join(text), tuple(origin), disguised)


@lru_cache(maxsize=4096)
def _read(character: str) -> str:
    """Give what one character is read as: NFKC, "" if it has no shape, a number for one in a mark."""
    category = unicodedata.category(character)
    shapeless = category in _SHAPELESS and not character.isspace()
    if shapeless or _INVISIBLE.match(character):
        return ""
    plain = unicodedata.normalize("NFKC", character)
    if plain == character and category in ("No", "Nl"):
        value = unicodedata.numeric(character)
        return str(int(value)) if value.is_integer() else plain
    return plain


_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\n]{0,1000}\)")


def without_markup(raw: str) -> Iterator[str]:
    """Yield the ways in which a page may show what stands between two brackets.

    Tags, comments and the marks of emphasis and code are not shown; some tags end a word. Of links
    their text is.
    """
    if _CONTROL.search(raw):
        raw = _CONTROL.sub("", raw)
        yield raw
    if "](" in raw:
        raw = _LINK.sub(r"\1", raw)
        yield raw
    if "<" not in raw:
        plain = _MARKUP.sub("", raw)
        if plain != raw:
            yield plain
        return
    yield _MARKUP.sub("", raw)
    yield _MARKUP_WITH_VALUES.sub("", raw)
    yield _MARKUP.sub(" ", raw)
    yield _MARKUP_AS_TAGS.sub("", raw)


def shown(raw: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield how a page shows a text: with values in tags, if that is another way, second.

    Each way is its look, and for each character the index behind what it is written as in ``raw``.
    """
    if raw.isascii() and not _NOT_AS_WRITTEN.search(raw):
        yield raw, range(1, len(raw) + 1)
        return
    yield _shown(raw, _PIECE)
    if "<" in raw and ("'" in raw or '"' in raw):
        yield _shown(raw, _PIECE_WITH_VALUES)


def _shown(raw: str, pieces: re.Pattern[str]) -> tuple[str, Sequence[int]]:
    look: list[str] = []
    ends: list[int] = []
    for piece in pieces.finditer(raw):
        if not piece["markup"]:
            read = normalise(piece[0]).look
            look.append(read)
            ends.extend([piece.end()] * len(read))
    return "".join(look), ends
