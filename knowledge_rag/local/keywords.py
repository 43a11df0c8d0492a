"""Turns text into keyword terms, the same way for what is stored and for what is asked.

Any text gives terms and none can be wrong: there is no query language that a stray quote or a
pasted log line could break.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.context import split_words
from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYWORDS_VERSION: Final = "1"
"""Raised when the same text gives other terms: stored ones are then made again."""

CONTEXT_WEIGHT: Final = 2.0
"""A word of the context prefix (folder, file, section) counts as so many words of the lines."""

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
    """Count the terms of a question; a term that is repeated counts as often."""
    return Counter(_terms(text))


def stored_terms(context: str, lines: str) -> dict[str, float]:
    """Weigh the terms of one chunk.

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


def _terms(text: str) -> Iterator[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for run in _RUN.findall(text):
        yield from _run_terms(run)


@lru_cache(maxsize=65_536)
def _run_terms(run: str) -> tuple[str, ...]:
    """Give the words of ``KubePodCrashLooping`` or ``rds-failover``, and the whole as one term.

    The whole is written without its joints, so every spelling of an identifier meets.
    """
    words = split_words(run.replace(":", " ")).lower().split()
    terms = [term for word in words for term in _word_terms(word[:_MAX_TERM])]
    if len(words) > 1:
        terms.append("".join(words)[:_MAX_TERM])
    return tuple(terms)


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
