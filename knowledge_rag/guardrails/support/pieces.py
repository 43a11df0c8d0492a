"""Cuts text into its pieces and remembers what is in each: words repeat, in and between texts.

A piece is what stands between spaces. No lexeme reaches over a space but one with a placeholder
in it (``<db id>``, ``{{ name }}``); of texts that may hold such, each lexeme is a piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.support.atom_kinds import COMMANDS, is_plain_word
from knowledge_rag.guardrails.support.lexemes import LEXEME, folded, trimmed
from knowledge_rag.guardrails.support.quantities import NUMBER_WORDS
from knowledge_rag.guardrails.support.remembered import Remembered
from knowledge_rag.guardrails.support.wording import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST_KEPT: Final = 64
"""Characters up to which a piece is remembered: longer ones seldom come again."""
MOST_KEPT: Final = 16_384

_TELLING_WORDS: Final = COMMANDS | NUMBER_WORDS
"""Plain words that are atoms outside code too."""
_DIGIT: Final = re.compile(r"\d")
_width: Final = attrgetter("width")


@dataclass(frozen=True, slots=True)
class Piece:
    """What is in a piece.

    Args:
        width: its length in characters, with the space behind it.
        words: in lower case.
        lexemes: in order.
        places: of each lexeme its offset within the piece, itself, and itself with case ignored.
        last: the last of them with case ignored; ``""`` if there is none.
        bare: the lexemes that have punctuation around them, each with what it is without.
        telling: whether any lexeme may be an atom outside code.
        digits: whether there is any.
    """

    width: int
    words: tuple[str, ...]
    lexemes: tuple[str, ...]
    places: tuple[tuple[int, str, str], ...]
    last: str
    bare: tuple[tuple[str, str], ...]
    telling: bool
    digits: bool


def pieces(text: str) -> list[Piece]:
    """Give the pieces of a text, in order."""
    if "<" in text or "{" in text:
        return [_known[lexeme] for lexeme in LEXEME.findall(text)]
    return [_known[part] for part in text.split(" ")]


def placed(text: str, cut: Sequence[Piece]) -> Iterable[tuple[int, Piece]]:
    """Give the pieces of a text, as :func:`pieces` cut it, with their offsets."""
    if "<" in text or "{" in text:
        starts = [found.start() for found in LEXEME.finditer(text)]
        return zip(starts, cut, strict=True)
    return zip(accumulate(map(_width, cut), initial=0), cut, strict=False)


def with_digits(text: str, cut: Sequence[Piece]) -> Iterator[tuple[int, str]]:
    """Give the lexemes that hold a digit, with their offsets in the text."""
    for at, piece in placed(text, cut):
        if piece.digits:
            for offset, lexeme, _ in piece.places:
                if _DIGIT.search(lexeme):
                    yield at + offset, lexeme


def _piece(text: str) -> Piece:
    if text.isascii() and text.isalpha():
        return _word(text)
    places = [(it.start(), it[0], folded(it[0])) for it in LEXEME.finditer(text)]
    lexemes = tuple([lexeme for _, lexeme, _ in places])
    return Piece(
        width=len(text) + 1,
        words=tuple(words(text)),
        lexemes=lexemes,
        places=tuple(places),
        last=places[-1][2] if places else "",
        bare=tuple([(it, bare) for it in lexemes if (bare := trimmed(it)) != it]),
        telling=not all(map(is_plain_word, lexemes)) or not _TELLING_WORDS.isdisjoint(lexemes),
        digits=_DIGIT.search(text) is not None,
    )


def _word(text: str) -> Piece:
    """Give what :func:`_piece` gives, sooner, for what most pieces are."""
    lowered = text.lower()
    telling = not is_plain_word(text) or text in _TELLING_WORDS
    place = (0, text, lowered)
    return Piece(len(text) + 1, (lowered,), (text,), (place,), lowered, (), telling, digits=False)


_known: Final = Remembered(_piece, most=MOST_KEPT, longest=LONGEST_KEPT)
