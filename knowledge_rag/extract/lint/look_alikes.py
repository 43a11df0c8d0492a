"""Words that mix Latin letters with Cyrillic or Greek ones of the same shape.

``pаypal`` with a Cyrillic а reads like another word, is found by no search and, in a command, runs
something else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.finding import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

_CYRILLIC: Final = "АВЕЅІЈКМНОРСТУХЗаеоірсухѕјԁһԛԝӏѵүгкмтвпн"
_GREEK: Final = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγιηκνορτυχωϲ"
_LOOK_ALIKE: Final = re.compile(f"[{_CYRILLIC}{_GREEK}]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_OTHERS: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f]")
_LATIN: Final = re.compile("[A-Za-z\u00c0-\u024f]")
_SUFFIX: Final = re.compile("[A-Za-z]{2,}[\u0400-\u052f\u0370-\u03ff]{1,3}")
_LEAST_LATIN: Final = 2


def find_look_alikes(text: str, foreign: str) -> Iterator[Hit]:
    """Find mixed words in which every letter of the other script could pass for a Latin one.

    Args:
        text: the document's.
        foreign: its characters beyond ASCII.
    """
    if not _LOOK_ALIKE.search(foreign):
        return
    for found in _WORD.finditer(text):
        word = found[0]
        if not word.isascii() and _is_disguised(word) and not _is_inflected(text, found):
            others = dict.fromkeys(_OTHERS.findall(word)[:8])
            shown = ", ".join(f"U+{ord(letter):04X}" for letter in others)
            yield Hit(*found.span(), f"word mixes Latin letters with look-alikes of them ({shown})")


def _is_disguised(word: str) -> bool:
    foreign = _OTHERS.findall(word)
    return (
        bool(foreign)
        and all(map(_LOOK_ALIKE.match, foreign))
        and len(_LATIN.findall(word)) >= _LEAST_LATIN
    )


def _is_inflected(text: str, found: re.Match[str]) -> bool:
    """Tell an English word with the ending of a Russian or Greek sentence around it."""
    if not _SUFFIX.fullmatch(found[0]):
        return False
    around = text[max(0, found.start() - 80) : found.start()] + text[found.end() : found.end() + 80]
    return any(
        len(word) > 1 and not _LATIN.search(word) and not all(map(_LOOK_ALIKE.match, word))
        for word in _WORD.findall(around)
        if _OTHERS.search(word)
    )
