from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.keyword_index import ENTRY, KeywordIndex
from knowledge_rag.local.search import Fusion, Question, SearchMethod, rank
from knowledge_rag.local.snapshot import Snapshot

METHODS = [
    SearchMethod(SearchType.SEMANTIC),
    SearchMethod(SearchType.HYBRID, Fusion.WEIGHTED),
    SearchMethod(SearchType.HYBRID, Fusion.RRF),
]
COSINES = st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


def snapshot(cosines, terms=()):
    """Make a snapshot whose chunks have these cosines to ``QUESTION``, and these terms."""
    vectors = np.zeros((len(cosines), 384), dtype=np.float32)
    vectors[:, 0] = cosines
    words = sorted({word for chunk in terms for word in chunk})
    vocabulary = {word: row for row, word in enumerate(words)}
    entries = [np.array([(vocabulary[w], 1.0) for w in chunk], dtype=ENTRY) for chunk in terms]
    entries += [np.array([], dtype=ENTRY)] * (len(cosines) - len(entries))
    return Snapshot(
        "model",
        ("text",) * len(cosines),
        ("{}",) * len(cosines),
        vectors,
        KeywordIndex(vocabulary, entries),
    )


def question(**terms):
    vector = np.zeros(384, dtype=np.float32)
    vector[0] = 1.0
    return Question(vector, terms)


@given(COSINES, st.integers(1, 40), st.sampled_from(METHODS))
def test_the_best_come_first_and_ties_in_file_order(cosines, limit, method):
    found = rank(snapshot(cosines), question(), limit=limit, method=method)
    rows = [row for row, _ in found]
    scores = [score for _, score in found]
    assert len(rows) == min(limit, len(cosines)) == len(set(rows))
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    if method.fusion is Fusion.WEIGHTED:  # RRF gives each rank once, so it has no ties
        assert rows == sorted(range(len(cosines)), key=lambda r: (-max(cosines[r], 0), r))[:limit]


@given(
    COSINES.flatmap(
        lambda c: st.tuples(st.just(c), st.lists(st.booleans(), min_size=len(c), max_size=len(c)))
    ),
    st.sampled_from(METHODS),
)
def test_a_mask_leaves_the_order_of_what_passes_as_it_is(case, method):
    cosines, passing = case
    mask = np.array(passing)
    everything = rank(snapshot(cosines), question(), limit=len(cosines), method=method)
    masked = rank(snapshot(cosines), question(), limit=len(cosines), method=method, mask=mask)
    assert [row for row, _ in masked] == [row for row, _ in everything if passing[row]]


def test_semantic_scores_are_cosines():
    found = rank(snapshot([0.2, 0.9, -0.3]), question(), limit=3, method=METHODS[0])
    assert [row for row, _ in found] == [1, 0, 2]
    assert [score for _, score in found] == pytest.approx([0.9, 0.2, 0.0])


def test_hybrid_joins_half_a_cosine_and_half_the_coverage():
    chunks = snapshot([0.6, 0.6], terms=[("disk",), ("node",)])
    (first, score), (second, other) = rank(chunks, question(disk=1), limit=2)
    assert (first, second) == (0, 1)
    assert other == pytest.approx(0.3)
    assert 0.3 < score < 0.8


def test_words_that_no_chunk_knows_lower_the_hybrid_score():
    chunks = snapshot([0.6], terms=[("disk",)])
    ((_, known),) = rank(chunks, question(disk=1), limit=1)
    ((_, half_known),) = rank(chunks, question(disk=1, quark=1), limit=1)
    assert half_known < known


def test_an_empty_knowledge_base_gives_nothing():
    for method in METHODS:
        assert rank(snapshot([]), question(a=1), limit=5, method=method) == []
