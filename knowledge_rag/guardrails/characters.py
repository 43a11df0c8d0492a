"""Reads brackets, digits and letters of a reference through their disguises.

A reader, or the program that renders an answer, takes ``［１］`` and ``&#91;1&#93;`` for ``[1]``; so
does this package. Text is normalised one character at a time, so that every position in the
normalised text has its position in the text as written.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_left
from html.entities import html5
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.letters import looks_like, read_as

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]
"""Offset of the first character, and after the last one."""


def overlaps(start: int, end: int, spans: Sequence[Span]) -> bool:
    """Whether a span overlaps one of ``spans``, which are in order and don't overlap."""
    at = bisect_left(spans, (end, end)) - 1
    return at >= 0 and start < spans[at][1]


def outside(text: str, spans: Iterable[Span], start: int = 0, end: int | None = None) -> list[str]:
    """Return the parts of a text that none of the spans has, which are in order."""
    parts = []
    for first, last in spans:
        parts.append(text[start:first])
        start = max(start, last)
    return [*parts, text[start:end]]


OPENING: Final = (
    "[\u0f3a\u0f3c\u169b\u2045\u2308\u230a\u2329\u2768\u276a\u276c\u276e\u2770\u2772"
    "\u2774\u27c5\u27e6\u27e8\u27ea\u27ec\u27ee\u2983\u2985\u2987\u2989\u298b\u298d\u298f"
    "\u2991\u2993\u2995\u2997\u29d8\u29da\u29fc\u2e22\u2e24\u2e26\u2e28\u2e55\u2e57"
    "\u2e59\u2e5b\u3008\u300a\u300c\u300e\u3010\u3014\u3016\u3018\u301a\ufd3f\ufe17\ufe39"
    "\ufe3b\ufe3d\ufe3f\ufe41\ufe43\ufe47\ufe5d\uff3b\uff5f\uff62"
)
"""Unicode's opening punctuation, except round and curly brackets and quotation marks."""
CLOSING: Final = (
    "]\u0f3b\u0f3d\u169c\u2046\u2309\u230b\u232a\u2769\u276b\u276d\u276f\u2771\u2773"
    "\u2775\u27c6\u27e7\u27e9\u27eb\u27ed\u27ef\u2984\u2986\u2988\u298a\u298c\u298e\u2990"
    "\u2992\u2994\u2996\u2998\u29d9\u29db\u29fd\u2e23\u2e25\u2e27\u2e29\u2e56\u2e58\u2e5a"
    "\u2e5c\u3009\u300b\u300d\u300f\u3011\u3015\u3017\u3019\u301b\ufd3e\ufe18\ufe3a\ufe3c"
    "\ufe3e\ufe40\ufe42\ufe44\ufe48\ufe5e\uff3d\uff60\uff63"
)
"""Unicode's closing punctuation, with the same exceptions."""
MAX_ZEROS: Final = 256
"""Maximum leading zeros in the number of a character reference: a browser reads any number of them."""
_ZEROS: Final = rf"0{{0,{MAX_ZEROS}}}+"


def _written(brackets: str) -> str:
    """Return the pattern of brackets, written as such or as character references."""
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
"""Maximum characters of a bracket's character reference without leading zeros: ``RightDoubleBracket``."""

_DISGUISE: Final = re.compile(
    "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]"
)
"""Direction marks and controls."""
_CONTROL: Final = re.compile("[\x0b\x1c-\x1f\x85]")
"""Controls that count as white space, and that a page may not show at all."""
_TAG: Final = r"<[A-Za-z/!?][^<>]*+>?"
_SPECIAL: Final = r"<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<![A-Za-z][^>]*>"
_TAG_WITH_VALUES: Final = r"<[A-Za-z/!?](?:\"[^\"]*+\"|'[^']*+'|[^<>])*+>?"
_COMMENT: Final = r"<!--(?:-?>|.*?-->|.*)"
_MARK: Final = r"[*_~`]"
_MARKUP: Final = rf"{_COMMENT}|{_SPECIAL}|{_TAG}|{_MARK}"
_MARKUP_WITH_VALUES: Final = rf"{_COMMENT}|{_SPECIAL}|{_TAG_WITH_VALUES}|{_MARK}"
"""The same for readers to whom a value in quotes may contain the character that ends a tag."""
_MARKUP_AS_TAGS: Final = rf"<[!?][^>]*>|{_TAG}|{_MARK}"
"""The same for readers without comments."""
MARKUP_PATTERNS: Final = tuple(
    re.compile(markup, re.DOTALL) for markup in (_MARKUP, _MARKUP_WITH_VALUES, _MARKUP_AS_TAGS)
)
"""Patterns of a text's markup, one for each kind of reader."""
_NOT_AS_WRITTEN: Final = re.compile(r"[<&*_~`\\]")
_PIECE, _PIECE_WITH_VALUES, _PIECE_WITHOUT_TAGS = (
    re.compile(rf"(?P<markup>{markup})|&#?\w{{1,31}};?|.", re.DOTALL)
    for markup in (_MARKUP, _MARKUP_WITH_VALUES, _MARK)
)
"""Markup, a character reference, or a character."""


class Normalised(NamedTuple):
    """A text as a reader reads it.

    Args:
        text: normalised.
        origin: for each of its characters, the index of the written one that it comes from; ``None``
            if nothing had to change, or character references were resolved.
        seen: as written, with character references resolved.
        disguised: whether it has direction marks, controls, digits in black circles or character
            references; nobody writes a reference like that in good faith.
    """

    text: str
    origin: tuple[int, ...] | None
    seen: str
    disguised: bool

    def written(self, raw: str, start: int, end: int) -> str:
        """Return the part of ``raw`` that characters ``start`` to ``end`` come from."""
        if self.origin is None:
            return raw[start:end]
        return raw[self.origin[start] : self.origin[end - 1] + 1] if start < end else ""

    @property
    def look(self) -> str:
        """The text with each character replaced by the ASCII letter or digit that it looks like."""
        return self.text if self.seen.isascii() else "".join(map(looks_like, self.seen))


def normalise(raw: str) -> Normalised:
    """Normalise the text between two brackets: NFKC, without characters that have no shape."""
    if "&" in raw and (plain := html.unescape(raw)) != raw:
        return Normalised(normalise(plain).text, None, plain, disguised=True)
    if raw.isascii() and "\\" not in raw and (raw.isprintable() or not _DISGUISE.search(raw)):
        return Normalised(raw, None, raw, disguised=False)
    text: list[str] = []
    origin: list[int] = []
    disguised = _DISGUISE.search(raw) is not None
    for index, character in enumerate(raw):
        read = read_as(character)
        disguised |= read.isdecimal() and not unicodedata.normalize("NFKC", character).isdecimal()
        text.append(read)
        origin.extend([index] * len(read))
    return Normalised("".join(text), tuple(origin), raw, disguised)


def looks_of(text: str) -> str:
    """Return a text of the same length, its characters replaced by the ASCII letters that they look like."""
    if text.isascii():
        return text
    looks = {one: looks_like(one) for one in set(text) if one > "\x7f"}
    alike = {one: look for one, look in looks.items() if len(look) == 1 and look != one}
    if not alike:
        return text
    # they are few: finding them takes a fifth of the time of translating every character
    return re.sub(f"[{re.escape(''.join(alike))}]", lambda found: alike[found[0]], text)


_LINK: Final = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\n]{0,1000}\)")


def without_markup(raw: str) -> Iterator[str]:
    """Yield the forms in which a page may show the text between two brackets.

    It shows no tags, comments or marks of emphasis and code; some tags end a word. Of links it shows
    the text.
    """
    if _CONTROL.search(raw):
        raw = _CONTROL.sub("", raw)
        yield raw
    if "](" in raw:
        raw = _LINK.sub(r"\1", raw)
        yield raw
    plain, plain_with_values, plain_as_tags = (one.sub("", raw) for one in MARKUP_PATTERNS)
    if "<" in raw:
        yield from (plain, plain_with_values, MARKUP_PATTERNS[0].sub(" ", raw), plain_as_tags)
    elif plain != raw:
        yield plain


def shown(raw: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield a text as pages show it: without tags, without tags whose values may have any character, and with tags.

    Each form has its look and, for each character, the index after its source in ``raw``.
    """
    if raw.isascii() and not _NOT_AS_WRITTEN.search(raw):
        yield raw, range(1, len(raw) + 1)
        return
    yield _shown(raw, _PIECE)
    if "<" in raw:
        if "'" in raw or '"' in raw:
            yield _shown(raw, _PIECE_WITH_VALUES)
        yield _shown(raw, _PIECE_WITHOUT_TAGS)


def _shown(raw: str, pieces: re.Pattern[str]) -> tuple[str, Sequence[int]]:
    look: list[str] = []
    ends: list[int] = []
    for piece in pieces.finditer(raw):
        if not piece["markup"]:
            read = normalise(piece[0]).look
            look.append(read)
            ends.extend([piece.end()] * len(read))
    return "".join(look), ends
