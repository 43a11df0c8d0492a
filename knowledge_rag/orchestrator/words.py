"""Words that an incident and a document can share: stems, with names split and common words removed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.field_words import COMMON, meanings
from knowledge_rag.core.languages import (
    STOP_WORDS,
    UNSPACED,
    folded,
    is_particle,
    language_of,
    pairs_of_characters,
)
from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.orchestrator.incident import Incident

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ANY_WORD: Final = re.compile(r"[^\W_]+")
_LETTERS: Final = UNSPACED.pattern
_OTHER_WORD: Final = rf"{_WORD.pattern}|{_LETTERS}|(?:(?!{_LETTERS})[^\W\d_A-Za-z])+"
_ANY_OTHER_WORD: Final = rf"(?={_LETTERS})[^\W_]|(?:(?!{_LETTERS})[^\W_])+"
"""A word, or one letter of a script without spaces."""
_compiled: Final = cache(re.compile)
"""Compiles the patterns of other scripts for the first text that has one."""
_LONG_STEM: Final = 6
"""Minimum letters of a stem whose last ``i`` is cut: ``expiri``; ``queri`` stays."""


def word_list(texts: Iterable[str]) -> Iterator[str]:
    """Yield the stems of the meaningful words of texts, in order, with names split.

    ``expiry`` and ``expires`` are one word here: longer stems lose a last ``i`` (once a ``y``).
    """
    for text in texts:
        pattern = _WORD if text.isascii() else _compiled(_OTHER_WORD)
        for found in pattern.finditer(folded(text)):
            word = found[0].lower()
            if not word.isascii() and UNSPACED.match(word):
                yield from (it for it in pairs_of_characters(word) if not is_particle(it))
            elif word not in COMMON and len(word) > 1:
                stemmed = stem(word)
                yield stemmed[:-1] if len(stemmed) >= _LONG_STEM and stemmed[-1] == "i" else stemmed


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the distinct words of :func:`word_list`."""
    return set(word_list(texts))


def written_words(texts: Iterable[str]) -> set[str]:
    """Return the words of a document's texts, each of two parts also as a single one, as names or people have it.

    >>> written_words(["check-in host"]) >= words_of(["CheckinHostDown"]) - {"down"}
    True
    >>> written_words(["The OpenSearch domain"]) >= words_of(["opensearch domain"])
    True
    """
    texts = list(texts)
    joined = (it.replace("-", "").lower() for text in texts for it in _OF_TWO.findall(text))
    return words_of([*texts, *joined])


_OF_TWO: Final = re.compile(
    r"(?<![\w-])(?:[A-Za-z]{2,}-[a-z]{2,}|[A-Z][a-z]+[A-Z][a-z]*|[A-Z][a-z]+[A-Z]{2,})(?![\w-])"
)
"""A word of two parts: "check-in", "OpenSearch", "PostgreSQL"."""


def holds(held: set[str], word: str, letters: int) -> bool:
    """Whether a word is among others, or has at least so many letters and begins one of them.

    >>> holds({"kubernet", "node"}, "kube", 4), holds({"kubernet"}, "kub", 4)
    (True, False)
    """
    return word in held or (len(word) >= letters and any(it.startswith(word) for it in held))


def asked_words(texts: Iterable[str]) -> set[str]:
    """Return the words of a question, without the stop words of its language."""
    text = " ".join(texts)
    said = words_of([text])
    return said - words_of(STOP_WORDS.get(language_of(text), ()))


def meant_by(text: str, held: set[str]) -> set[str]:
    """Return a question's plain words that mean the same as one of the field's words in ``held``.

    >>> sorted(meant_by("the box ran out of room", words_of(["disk full on a node"])))
    ['box', 'ran', 'room']
    """
    found = (phrase for phrase, words in meanings(text) if words_of(words) & held)
    return words_of(found)


_PAIR_WEIGHT: Final = 0.5
"""Weight of a pair of characters that isn't shared: every second pair spans two words."""


def share_of(asked: set[str], held: set[str]) -> float:
    """Return the share of a question's words that are among others, 0..1; 1 if there are none."""
    shared = len(asked & held)
    missing = sum(_PAIR_WEIGHT if UNSPACED.match(it) else 1 for it in asked - held)
    return shared / (shared + missing) if asked else 1.0


def spaced_words(text: str) -> str:
    """Return the words of a text in lower case, all of them in order, each between spaces.

    >>> spaced_words("Waiting room (staff)") in spaced_words("can the waiting room: staff, go off again")
    True
    """
    pattern = _ANY_WORD if text.isascii() else _compiled(_ANY_OTHER_WORD)
    return f" {' '.join(pattern.findall(text.casefold()))} "


def told_of(incident: Incident) -> set[str]:
    """Return the words that describe an incident."""
    return words_of(
        (
            *(incident.alert_name, incident.title, incident.service, incident.description),
            *incident.signals,
        )
    )
