"""Turns text into keyword terms, the same way for what is stored and for what is asked.

Any text gives terms and none can be wrong: there is no query language that a stray quote or a
pasted log line could break. Terms are words and *pairs*: two words that follow each other, stop words
aside. A pair tells "certificate expired" from a text with both words far apart.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.context import split_words
from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

KEYWORDS_VERSION: Final = "2"
"""Raised when the same text gives other terms: stored ones are then made again."""

CONTEXT_WEIGHT: Final = 3.0
"""A word of the context prefix (folder, file, section) counts as so many words of the lines."""

_PAIR_MARK: Final = "+"
"""Begins the term of a pair; no word does."""
_PAIRS: Final = 1 << 16
"""Pairs are told apart by so many numbers, which bounds what a vocabulary can grow by; measured, even
a quarter of them ranks as well as the pairs themselves."""

_MAX_TERM: Final = 64
"""Longer runs (keys, base64) are cut: nobody asks for them in full, and they fill the index."""

_RUN = re.compile(r"[^\W_]+(?:[-_./:][^\W_]+)*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
_STOP_TEXT: Final = (
    "a about after all also am an and any are as at be because been before being but by can could "
    "did do does doing during each few for from further had has have having he her here him his "
    "how i if in into is it its itself just me more most my no nor not now of off on once only or "
    "other our out over own same she should so some such than that the their them then there these "
    "they this those through to too under until very was we were what when where which while "
    "who whom why will with would you your"
)
_STOP_WORDS: Final = frozenset(_STOP_TEXT.split())


def query_terms(text: str) -> Counter[str]:
    """Count the terms of a question, words and pairs; one that is repeated counts as often."""
    return Counter(_terms(text))


def stored_terms(context: str, lines: str) -> dict[str, float]:
    """Weigh the terms of one chunk, words and pairs.

    Args:
        context: its context prefix, ``""`` where it has none.
        lines: its verbatim lines.

    Returns:
        Each term with its weighted count, > 0.
    """
    weights: dict[str, float] = dict(Counter(_terms(lines)))
    for term in _terms(context):
        weights[term] = weights.get(term, 0.0) + CONTEXT_WEIGHT
    return weights


def is_pair(term: str) -> bool:
    """Whether a term is a pair of words."""
    return term.startswith(_PAIR_MARK)


def words_of(terms: Mapping[str, int]) -> dict[str, int]:
    """Give the terms that are words."""
    return {term: count for term, count in terms.items() if not is_pair(term)}


def pairs_of(terms: Mapping[str, int]) -> dict[str, int]:
    """Give the terms that are pairs of words."""
    return {term: count for term, count in terms.items() if is_pair(term)}


def _terms(text: str) -> Iterator[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    inner: list[str] = []
    for run in _RUN.findall(text):
        words, whole = _run_terms(run)
        yield from words
        yield from whole
        inner += words
    for first, second in pairwise(inner):
        number = zlib.crc32(f"{first} {second}".encode()) % _PAIRS
        yield f"{_PAIR_MARK}{number:04x}"


@lru_cache(maxsize=65_536)
def _run_terms(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Give the words of ``KubePodCrashLooping`` or ``rds-failover``, and the whole as one term.

    The whole is written without its joints, so every spelling of an identifier meets.
    """
    words = split_words(run.replace(":", " ")).lower().split()
    terms = tuple(term for word in words for term in _word_terms(word[:_MAX_TERM]))
    return terms, ("".join(words)[:_MAX_TERM],) if len(words) > 1 else ()


def _word_terms(word: str) -> list[str]:
    if word in _STOP_WORDS:
        return []
    if word.isascii() or not _CJK.search(word):
        return [stem(word)]
    # no spaces tell Chinese or Japanese words apart: pairs of characters stand in for them
    pieces: list[str] = [piece for piece in _CJK.split(word) if piece]
    for found in _CJK.findall(word):
        pieces += [found[i : i + 2] for i in range(max(1, len(found) - 1))]
    return pieces
