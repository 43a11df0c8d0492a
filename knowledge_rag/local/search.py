"""Exact search over an index: vectors, keywords, and both combined."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from knowledge_rag.core.field_words import COMMON
from knowledge_rag.core.languages import LANGUAGES_OF_OTHER_SCRIPTS
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.core.stemming import stem
from knowledge_rag.local.keywords import MAX_QUERY_TERMS, pairs_of, words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.local.embeddings import Vector
    from knowledge_rag.local.index import Index, Mask, Numbers
    from knowledge_rag.local.keywords import Scores

_COMMON: Final = frozenset(map(stem, COMMON))
VECTOR_WEIGHT: Final = 0.5
KEYWORD_WEIGHT: Final = 1.0 - VECTOR_WEIGHT
PAIR_WEIGHT: Final = 0.25
"""Weight of a pair of words that a chunk shares with the question, relative to a word."""
MEANT_WEIGHT: Final = 0.25
"""Weight of a word that was meant and not typed, relative to a typed one."""
SUPPORTING_SHARE: Final = 0.8
"""A question is supported if one chunk scores this share of its weight ..."""
SUPPORTING_WORDS: Final = 3.5
"""... or as much as this many rare words: no chunk has most of the words of a pasted alert."""
BY_SCORE_ALONE: Final = 3
"""First places, which go to the best scores: an incident needs several parts of one page."""
FOLLOWING_SHARE: Final = 0.9
"""After them, a chunk that isn't the best of its document is ranked by this share of its score: five
parts of one page are less likely to contain the answer than parts of several."""


HYBRID_SCALE: Final = ((0.0, 0.19, 0.30, 0.51), (0.0, 0.157, 0.45, 1.0))
"""Maps scores of a question that the multilingual model embedded to the scale of the thresholds: below the
first value it is off topic, from the second on the section found is advice."""
SEMANTIC_SCALE: Final = ((0.0, 0.30, 1.0), (0.0, 0.213, 1.0))
"""The same for the cosine alone."""
_NAME: Final = re.compile(r"[a-z]{3,}")


@dataclass(frozen=True, slots=True)
class Question:
    """A question prepared for the search.

    ``language`` is that of a question that the multilingual model embedded, whose words need not occur in the
    documents; ``""`` for any other. ``meant`` are terms that nobody typed: the technical ones for everyday words.
    """

    vector: Vector
    terms: Mapping[str, int]
    language: str = ""
    meant: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WordScores:
    """A question's words and their counts; BM25 of the known ones, each once, and of those meant; shape (chunks,)."""

    words: Mapping[str, int]
    once: Scores
    meant: Scores | None = None


def rank(
    index: Index,
    question: Question,
    *,
    limit: int,
    search_type: SearchType = SearchType.HYBRID,
    mask: Mask | None = None,
) -> list[tuple[int, float]]:
    """Return row and score of the best chunks, at most ``limit``, >= 1, for which ``mask`` is true.

    Equal ones are in order of file and line, so the same state and question always give the same list. Scores
    are 0..1 and never rise.
    """
    words = word_scores(index, question)
    if search_type is SearchType.HYBRID:
        scores = _hybrid_scores(index, question, words)
        found = _best_of_each_first(scores, index.documents, limit, mask)
    else:
        found = _best(cosines(index, question), limit, mask)
    if question.language:
        names = _names_support(index, words, question.language, mask)
        known = HYBRID_SCALE if search_type is SearchType.HYBRID else SEMANTIC_SCALE
        return [(row, float(np.interp(names * score, *known))) for row, score in found]
    # a question in everyday words shares few words with the page that answers it: half of them
    # missing must cost less than half of the score
    support = math.sqrt(keyword_support(index, words, mask))
    # the order is by score even if nothing is supported and all scores become 0
    return [(row, support * score) for row, score in found]


def cosines(index: Index, question: Question) -> Scores:
    """Return the cosine of each chunk, negative ones as 0.

    In one thread and row by row. BLAS's product uses all processors, and waits if another program runs on
    one of them: 28 ms instead of 0.8 for 10,000 chunks. It also rounds a row by its position, so that
    equal vectors would score differently.
    """
    cosine: Scores = np.vecdot(index.vectors, question.vector)
    return np.clip(cosine, 0.0, 1.0, out=cosine)


def word_scores(index: Index, question: Question) -> WordScores:
    """Score the words of a question."""
    keywords = index.keywords
    words = words_of(question.terms)
    # only by known words: a pasted log has more unknown words than the limit allows
    once = keywords.score(dict.fromkeys(keywords.known(words), 1))
    if not (meant := keywords.known(question.meant)):
        return WordScores(words, once)
    return WordScores(words, once, np.float32(MEANT_WEIGHT) * keywords.score(meant))


def counted_scores(index: Index, scored: WordScores) -> Scores:
    """Return BM25 with each word counted as often as it occurs; it may be ``scored.once`` itself."""
    if len(scored.words) > MAX_QUERY_TERMS:  # then not the same words
        return index.keywords.score(scored.words)
    said_again = {word: count - 1 for word, count in scored.words.items() if count > 1}
    return scored.once + index.keywords.score(said_again) if said_again else scored.once


def keyword_support(index: Index, scored: WordScores, mask: Mask | None = None) -> float:
    """Return whether the documents have the words of a question, 0..1; 0 if they have none.

    A question about a related product is near in meaning to much of the corpus; its words set it apart.
    One factor for the whole question lowers the scores of a search and keeps its order. Each word
    counts once: a question that names one thing three times names one thing. Words that any question
    may have ("tomorrow", "somebody") don't count, unless there are no others.
    """
    keywords = index.keywords
    said = dict.fromkeys(scored.words, 1)
    counting = {word: 1 for word in said if word not in _COMMON} or said
    weight = keywords.weight(counting)
    enough = min(SUPPORTING_SHARE * weight, SUPPORTING_WORDS * keywords.unheard)
    once = scored.once if len(counting) == len(said) else keywords.score(keywords.known(counting))
    scores = once if scored.meant is None else once + scored.meant
    if mask is not None:
        scores = scores[mask]
    return min(1.0, float(scores.max(initial=0.0)) / enough) if enough > 0 else 0.0


def _names_support(index: Index, scored: WordScores, language: str, mask: Mask | None) -> float:
    """Return :func:`keyword_support` of a question's words in Latin letters, if its language has other letters; else 1.

    They are names of products: one that no document has is off topic.
    """
    if language not in LANGUAGES_OF_OTHER_SCRIPTS:
        return 1.0
    names = {word: count for word, count in scored.words.items() if _NAME.fullmatch(word)}
    if not names:
        return 1.0
    once = index.keywords.score(dict.fromkeys(index.keywords.known(names), 1))
    return keyword_support(index, WordScores(names, once), mask)


def keyword_coverage(index: Index, question: Question, scored: WordScores) -> Scores:
    """Return BM25 as a share, 0..1, of the most that any text could score for the question's words.

    Pairs count extra: few texts repeat them, so requiring them would make every share small.
    """
    most = index.keywords.most(scored.words)
    counted = counted_scores(index, scored)
    if scored.meant is not None:
        counted = counted + scored.meant
    if not most:
        return counted
    scores = index.keywords.score(pairs_of(question.terms))
    scores *= np.float32(PAIR_WEIGHT)
    scores += counted
    scores /= np.float32(most)
    return np.minimum(scores, 1.0, out=scores)


def _hybrid_scores(index: Index, question: Question, scored: WordScores) -> Scores:
    scores = cosines(index, question)
    scores *= np.float32(VECTOR_WEIGHT)
    scores += np.float32(KEYWORD_WEIGHT) * keyword_coverage(index, question, scored)
    return scores


def _best(scores: Scores, limit: int, mask: Mask | None) -> list[tuple[int, float]]:
    rows, scores = _candidates(scores, limit, mask)
    order = np.argsort(-scores, kind="stable")[:limit]
    return [(int(rows[i]), float(scores[i])) for i in order]


def _best_of_each_first(
    scores: Scores, documents: Numbers, limit: int, mask: Mask | None
) -> list[tuple[int, float]]:
    """Rank the best chunk of each document before its others, after the first places.

    Only the order changes. A score says how much evidence a chunk is, which doesn't depend on the other
    chunks of its document; so that scores never rise, it is capped at the one above it.
    """
    rows, scores = _candidates(scores, limit, mask, FOLLOWING_SHARE)
    order = np.argsort(-scores, kind="stable")
    _, first = np.unique(documents[rows[order]], return_index=True)
    worth = np.float32(FOLLOWING_SHARE) * scores
    worth[order[first]] = scores[order[first]]
    leading = order[:BY_SCORE_ALONE]
    worth[leading] = scores[leading]
    ranked = np.argsort(-worth, kind="stable")[:limit]
    falling = np.minimum.accumulate(scores[ranked])
    return [(int(rows[i]), float(score)) for i, score in zip(ranked, falling, strict=True)]


def _candidates(
    scores: Scores, limit: int, mask: Mask | None, share: float = 1.0
) -> tuple[Numbers, Scores]:
    """Return the rows that match and score the last place's share or more, ties included."""
    rows: Numbers = np.arange(len(scores)) if mask is None else np.flatnonzero(mask)
    if mask is not None:
        scores = scores[rows]
    if len(scores) > limit:
        last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        kept = np.flatnonzero(scores >= np.float32(share) * last)
        rows, scores = rows[kept], scores[kept]
    return rows, scores
