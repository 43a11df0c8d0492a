"""The parts of a search, each on top of the ones before it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from knowledge_rag.core.metadata import CONTEXT_LENGTH
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.evaluation.floor import SHIPPED_FLOORS
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.keywords import (
    ENTRY,
    K1,
    KeywordIndex,
    is_pair,
    query_terms,
    stored_terms,
    words_of,
)
from knowledge_rag.local.search import (
    KEYWORD_WEIGHT,
    VECTOR_WEIGHT,
    keyword_coverage,
    rank,
    word_scores,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knowledge_rag.local.embeddings import Embedder, Matrix
    from knowledge_rag.local.index import Index
    from knowledge_rag.local.keywords import Scores
    from knowledge_rag.local.search import Question

DEPTH: Final = 5
"""Results per question."""
RRF_CONSTANT: Final = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

USUAL_K1: Final = 1.2
"""BM25's usual k1."""

_PLAIN: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, ready for every kind of search.

    Args:
        text: the question's text.
        question: its vector and its terms.
    """

    text: str
    question: Question


@dataclass(frozen=True, slots=True)
class Part:
    """A search that differs from another one in a single property.

    Args:
        name: name of that property.
        on: name of the part that it is compared with, ``""`` for none.
        holds: where it is available: ``local``, or ``AWS`` if a managed service does it as well.
        rank: returns the best rows for a question, best first, at most DEPTH.
    """

    name: str
    on: str
    holds: str
    rank: Callable[[Asked], list[int]]


def parts_of(index: Index, embedder: Embedder | None = None) -> list[Part]:
    """Return every part, over the chunks of a knowledge base.

    Args:
        index: the knowledge base, with the product's own index and vectors.
        embedder: model of its vectors, to embed every chunk again, without its context prefix and with it
            in the text only, which takes minutes; ``None`` skips that.
    """
    lines = [_lines(index, row) for row in range(len(index))]
    placed = _words_index(index.texts)
    weighed = _weighed_index(index.texts, lines)
    own = _cosine(index.vectors)
    text = _cosine(_vectors([*index.texts], embedder)) if embedder else own
    where = "AWS" if embedder else "local"  # the product's own vectors contain more than the text
    parts = [
        Part("plain BM25", "", "AWS", _by(_bm25(_plain_index(lines), _plain_terms))),
        Part("stems, identifiers", "plain BM25", "local", _by(_bm25(_words_index(lines), _words))),
        Part("context prefix", "stems, identifiers", "AWS", _by(_bm25(placed, _words))),
        Part("prefix threefold, k1 0.9", "context prefix", "local", _by(_bm25(weighed, _words))),
    ]
    if embedder:
        bare = _cosine(_vectors(lines, embedder))
        parts.append(Part("vectors of lines", "", "AWS", _by(bare)))
        parts.append(Part("vectors with prefix", "vectors of lines", "AWS", _by(text)))
    parts += [
        Part("vectors", "vectors with prefix" if embedder else "", "local", _by(own)),
        Part("RRF", "context prefix", where, _rrf(_bm25(placed, _words), text)),
        Part("weighted sum", "RRF", "local", _by(_sum(_bm25(weighed, _words), text))),
    ]
    if embedder:
        added = _by(_sum(_bm25(weighed, _words), own))
        parts.append(Part("prefix's own vector", "weighted sum", "local", added))
    paired = _by(_sum(_product(index), own))
    floor = SHIPPED_FLOORS[SearchType.HYBRID]
    return [
        *parts,
        Part("pairs of words", parts[-1].name, "local", paired),
        Part("best of each document", "pairs of words", "local", _search(index, 0.0)),
        Part("evidence floor", "best of each document", "local", _search(index, floor)),
    ]


def _lines(index: Index, row: int) -> str:
    length = index.metadata(row)[CONTEXT_LENGTH]
    return index.texts[row][length if isinstance(length, int) else 0 :]


def _words(text: str) -> dict[str, int]:
    return words_of(query_terms(text))


def _plain_terms(text: str) -> dict[str, int]:
    return Counter(_PLAIN.findall(text.lower()))


def _plain_index(texts: Iterable[str]) -> KeywordIndex:
    return _index(map(_plain_terms, texts), USUAL_K1)


def _words_index(texts: Iterable[str]) -> KeywordIndex:
    return _index(map(_words, texts), USUAL_K1)


def _weighed_index(texts: Iterable[str], lines: Iterable[str]) -> KeywordIndex:
    """Return the product's own index without pairs of words."""
    cut = ((text[: len(text) - len(own)], own) for text, own in zip(texts, lines, strict=True))
    terms = (stored_terms(context, own) for context, own in cut)
    return _index(({t: n for t, n in each.items() if not is_pair(t)} for each in terms), K1)


def _index(chunks: Iterable[Mapping[str, float]], k1: float) -> KeywordIndex:
    vocabulary: dict[str, int] = {}
    entries = []
    for terms in chunks:
        known = [(vocabulary.setdefault(term, len(vocabulary)), n) for term, n in terms.items()]
        entries.append(np.array(known, dtype=ENTRY))
    return KeywordIndex.of(vocabulary, entries, k1=k1)


def _vectors(texts: Sequence[str], embedder: Embedder) -> Matrix:
    matrix: Matrix = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    for row, text in enumerate(texts):
        matrix[row] = embedder.embed(text)
    return matrix


def _bm25(
    index: KeywordIndex, terms: Callable[[str], Mapping[str, int]]
) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        wanted = terms(asked.text)
        return index.score(wanted) / np.float32(index.most(wanted) or 1.0)

    return scores


def _cosine(vectors: Matrix) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        cosine: Scores = np.clip(np.vecdot(vectors, asked.question.vector), 0.0, 1.0)
        return cosine

    return scores


def _product(index: Index) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        return keyword_coverage(index, asked.question, word_scores(index, asked.question))

    return scores


def _sum(
    keywords: Callable[[Asked], Scores], vectors: Callable[[Asked], Scores]
) -> Callable[[Asked], Scores]:
    def scores(asked: Asked) -> Scores:
        both: Scores = np.float32(VECTOR_WEIGHT) * vectors(asked)
        both += np.float32(KEYWORD_WEIGHT) * keywords(asked)
        return both

    return scores


def _by(scores: Callable[[Asked], Scores]) -> Callable[[Asked], list[int]]:
    return lambda asked: _best(scores(asked))


def _best(scores: Scores) -> list[int]:
    """Return the best rows; among equal ones, the first."""
    if len(scores) > DEPTH:
        threshold = np.partition(scores, len(scores) - DEPTH)[len(scores) - DEPTH]
        rows = np.flatnonzero(scores >= threshold)
    else:
        rows = np.arange(len(scores))
    order = np.argsort(-scores[rows], kind="stable")[:DEPTH]
    return [int(row) for row in rows[order]]


def _rrf(
    first: Callable[[Asked], Scores], second: Callable[[Asked], Scores]
) -> Callable[[Asked], list[int]]:
    def rows(asked: Asked) -> list[int]:
        total = np.zeros(0, dtype=np.float32)
        for scores in (first(asked), second(asked)):
            order = np.argsort(-scores, kind="stable")
            ranks = np.empty(len(order), dtype=np.float32)
            ranks[order] = np.arange(1, len(order) + 1)
            given = np.where(scores > 0, 1.0 / (RRF_CONSTANT + ranks), 0.0).astype(np.float32)
            total = given if not total.size else total + given
        return _best(total)

    return rows


def _search(index: Index, floor: float) -> Callable[[Asked], list[int]]:
    """Return the product's own search, without results below a score threshold."""

    def rows(asked: Asked) -> list[int]:
        found = rank(index, asked.question, limit=DEPTH)
        return [row for row, score in found if score >= floor]

    return rows
