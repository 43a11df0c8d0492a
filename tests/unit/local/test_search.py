from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.action_group import EVIDENCE_FLOOR_SEMANTIC
from knowledge_rag.local.keywords import ENTRY, MAX_QUERY_TERMS, KeywordIndex, query_terms
from knowledge_rag.local.search import (
    BY_SCORE_ALONE,
    FOLLOWING_SHARE,
    Question,
    cosines,
    counted_scores,
    keyword_support,
    rank,
    word_scores,
)

COSINES = st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


@dataclass
class Searched:
    """What a search needs of an index; these vectors need not be of unit length."""

    vectors: Any
    keywords: KeywordIndex
    documents: Any

    def __len__(self):
        return len(self.vectors)


def index_of(cosines, terms=(), documents=None):
    """Make what is searched, of chunks with these cosines to ``question()``, these terms and documents.

    By default, each chunk is a document.
    """
    vectors = np.zeros((len(cosines), 384), dtype=np.float32)
    vectors[:, 0] = cosines
    words = sorted({word for chunk in terms for word in chunk})
    vocabulary = {word: row for row, word in enumerate(words)}
    entries = [np.array([(vocabulary[w], 1.0) for w in chunk], dtype=ENTRY) for chunk in terms]
    entries += [np.array([], dtype=ENTRY)] * (len(cosines) - len(entries))
    numbers = np.arange(len(cosines)) if documents is None else np.array(documents, dtype=np.int64)
    return Searched(vectors, KeywordIndex.of(vocabulary, entries), numbers)


def question(**terms):
    vector = np.zeros(384, dtype=np.float32)
    vector[0] = 1.0
    return Question(vector, terms)


@given(COSINES, st.integers(1, 40), st.sampled_from(SearchType))
def test_the_best_come_first_and_ties_in_file_order(cosines, limit, method):
    found = rank(index_of(cosines), question(), limit=limit, search_type=method)
    rows = [row for row, _ in found]
    scores = [score for _, score in found]
    assert len(rows) == min(limit, len(cosines)) == len(set(rows))
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert rows == sorted(range(len(cosines)), key=lambda r: (-max(cosines[r], 0), r))[:limit]


@given(
    COSINES.flatmap(
        lambda c: st.tuples(st.just(c), st.lists(st.booleans(), min_size=len(c), max_size=len(c)))
    ),
    st.sampled_from(SearchType),
)
def test_a_mask_leaves_the_order_of_what_passes_as_it_is(case, method):
    cosines, passing = case
    mask = np.array(passing)
    everything = rank(index_of(cosines), question(), limit=len(cosines), search_type=method)
    masked = rank(index_of(cosines), question(), limit=len(cosines), search_type=method, mask=mask)
    assert [row for row, _ in masked] == [row for row, _ in everything if passing[row]]


def support(chunks, asked):
    return keyword_support(chunks, word_scores(chunks, asked))


def test_a_vector_scores_the_same_wherever_it_stands():
    random = np.random.default_rng(7)
    made = random.standard_normal((1_001, 384)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    asked = Question(made[0], {})
    cosine = cosines(replace(index_of([0.0] * len(made)), vectors=made), asked)
    order = random.permutation(len(made))
    moved = cosines(replace(index_of([0.0] * len(made)), vectors=made[order]), asked)
    assert moved.tolist() == cosine[order].tolist()


FILLER = [("filler",)]
"""Terms of a chunk that says something else: empty ones would make the others long."""


def semantic(chunks, asked, mask=None):
    return rank(chunks, asked, limit=len(chunks), search_type=SearchType.SEMANTIC, mask=mask)


@given(COSINES, st.dictionaries(st.sampled_from(["disk", "node", "quark", "lepton"]), st.just(1)))
def test_words_change_no_semantic_order_only_all_scores_by_one_factor(cosines, words):
    chunks = index_of(cosines, terms=[("disk", "node")])
    found = semantic(chunks, question(**words))
    assert [row for row, _ in found] == sorted(
        range(len(cosines)), key=lambda r: (-max(cosines[r], 0), r)
    )
    factor = math.sqrt(support(chunks, question(**words)))
    assert [score for _, score in found] == pytest.approx(
        [factor * max(cosines[row], 0) for row, _ in found]
    )


def test_the_more_words_no_chunk_has_the_lower_the_semantic_scores():
    chunks = index_of([0.6] * 20, [("disk",), *FILLER * 19])
    strange = {"quark": 1, "lepton": 1, "gluon": 1, "hadron": 1}
    supports = [
        support(chunks, question(disk=1)),
        support(chunks, question(disk=1, **strange)),
        support(chunks, question(**strange)),
    ]
    assert supports[0] == 1.0
    assert 0.0 < supports[1] < 1.0
    assert supports[2] == 0.0


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1), min_size=1, max_size=20),
    st.dictionaries(st.sampled_from("abcdefghxyz"), st.integers(1, 5)),
    st.sampled_from([0, MAX_QUERY_TERMS]),
)
def test_words_score_once_and_as_often_as_they_are_said(chunks, words, strange):
    words |= {f"strange-{n}": 1 for n in range(strange)}
    made = index_of([0.5] * len(chunks), chunks)
    scored = word_scores(made, question(**words))
    known = {word for chunk in chunks for word in chunk} & set(words)
    once = made.keywords.score(dict.fromkeys(known, 1))
    assert scored.once.tolist() == pytest.approx(once.tolist(), rel=1e-5)
    counted = made.keywords.score(words)
    assert counted_scores(made, scored).tolist() == pytest.approx(counted.tolist(), rel=1e-5)


def test_what_is_meant_and_was_not_typed_counts_a_quarter():
    chunks = index_of([0.0, 0.0, 0.0], [("node",), ("quark",), *FILLER])
    asked = question(quark=1)
    typed = rank(chunks, asked, limit=3)
    both = rank(chunks, replace(asked, meant={"node": 1, "unheard-of": 1}), limit=3)
    assert [row for row, score in typed if score] == [1]
    assert [row for row, score in both if score] == [1, 0]
    assert both[1][1] == pytest.approx(both[0][1] / 4)


def test_what_is_meant_supports_a_question_whose_own_words_no_chunk_has():
    chunks = index_of([0.6] * 20, [("node", "drain"), *FILLER * 19])
    strange = question(box=1)
    assert support(chunks, strange) == 0.0
    assert 0.0 < support(chunks, replace(strange, meant={"node": 1})) < 1.0


def test_a_few_rare_words_support_a_question_however_long_it_is():
    known = {"disk": 1, "evicted": 1, "kubelet": 1, "node": 1, "taint": 1}
    chunks = index_of([0.6] * 200, [tuple(known), *[tuple("abcde")] * 199])
    labels = {f"label-{n}": 1 for n in range(5_000)}
    assert support(chunks, question(**known, **labels)) == 1.0
    assert 0.0 < support(chunks, question(disk=1, evicted=1, **labels)) < 1.0


def test_words_that_any_question_may_have_ask_for_no_support():
    chunks = index_of([0.6] * 50, [("snow", "plough"), *[tuple("abcde")] * 49])
    asked = {"snow": 1, "tomorrow": 1, "tonight": 1, "somebodi": 1}
    assert support(chunks, question(**asked)) == support(chunks, question(snow=1))
    assert support(chunks, question(snow=1, lepton=1)) < support(chunks, question(snow=1))
    only_common = index_of([0.6] * 50, [("tomorrow",), *[tuple("abcde")] * 49])
    assert support(only_common, question(tomorrow=1)) == 1.0


def test_only_chunks_that_may_be_found_support_a_question():
    chunks = index_of([0.6, 0.6], [("disk",), ("node",)])
    for passing, score in ((0, 0.6), (1, 0.0)):
        mask = np.arange(2) == passing
        assert semantic(chunks, question(disk=1), mask) == [(passing, pytest.approx(score))]
    assert semantic(chunks, question(disk=1), np.array([False, False])) == []


@pytest.mark.parametrize("text", ["", "what should I do about it?", "\N{FIRE}", "磁盘已满怎么办"])
def test_a_question_without_a_known_word_is_ranked_but_scores_nothing(text):
    asked = Question(question().vector, query_terms(text))
    assert semantic(index_of([0.2, 0.9], terms=[("disk",)]), asked) == [(1, 0.0), (0, 0.0)]


def test_chinese_is_supported_by_its_pairs_of_characters():
    chunks = index_of(
        [0.6] * 50, [tuple(query_terms("磁盘已满,请清理日志")), *[tuple("ABCDEFG")] * 49]
    )
    for text, found in (("磁盘已满怎么办", True), ("今天天气怎么样", False)):
        best, *_ = semantic(chunks, Question(question().vector, query_terms(text)))
        assert (best[1] > EVIDENCE_FLOOR_SEMANTIC) is found


def test_a_hybrid_score_is_lowered_by_words_that_no_chunk_has_and_its_order_is_not():
    chunks = index_of([0.6, 0.4, 0.2], [("disk",), ("disk", "node"), ("node",)])
    strange = {f"label-{n}": 1 for n in range(5)}
    plain = rank(chunks, question(disk=1, node=1), limit=3)
    labelled = rank(chunks, question(disk=1, node=1, **strange), limit=3)
    assert [row for row, _ in labelled] == [row for row, _ in plain]
    assert all(low < high for (_, low), (_, high) in zip(labelled, plain, strict=True))


def test_words_that_stand_together_as_in_the_question_are_worth_more_than_apart():
    texts = ("replication slot, then a disk", "slot, then a disk, then replication")
    chunks = index_of([0.5, 0.5], [tuple(query_terms(text)) for text in texts])
    asked = Question(question().vector, query_terms("replication slot"))
    (first, high), (second, low) = rank(chunks, asked, limit=2)
    assert (first, second) == (0, 1)
    assert high > low


def test_hybrid_joins_half_a_cosine_and_half_the_coverage():
    chunks = index_of([0.6, 0.6], terms=[("disk",), ("node",)])
    (first, score), (second, other) = rank(chunks, question(disk=1), limit=2)
    assert (first, second) == (0, 1)
    assert other == pytest.approx(0.3)
    assert 0.3 < score < 0.8


DOCUMENTS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.5, 0.8, 0.88, 0.9, 1.0]), st.integers(0, 5), st.booleans()),
    min_size=1,
    max_size=40,
)
"""Chunks in any order: the cosine of each, its document, and whether it may be found."""


def by_definition(cases, passing):
    """Rank chunks by the definition, one at a time: rows, best first."""
    rows = [row for row in range(len(cases)) if passing[row]]
    by_score = sorted(rows, key=lambda row: (-cases[row][0], row))
    leading = {}
    for row in by_score:
        leading.setdefault(cases[row][1], row)

    def worth(row):
        best = row in leading.values() or row in by_score[:BY_SCORE_ALONE]
        share = 1.0 if best else FOLLOWING_SHARE
        return np.float32(share) * np.float32(0.5 * cases[row][0])

    return sorted(rows, key=lambda row: (-worth(row), row))


@given(DOCUMENTS, st.integers(1, 12))
def test_the_best_chunk_of_a_document_goes_before_others_that_are_little_better(cases, limit):
    cosines, documents, passing = zip(*cases, strict=True)
    chunks = index_of(cosines, [("disk",)] * len(cases), documents)
    mask = np.array(passing)
    found = rank(chunks, question(quark=1), limit=limit, mask=mask)
    assert [row for row, _ in found] == by_definition(cases, passing)[:limit]
    everything = rank(chunks, question(quark=1), limit=len(cases), mask=mask)
    assert found == everything[:limit]


@given(DOCUMENTS)
def test_what_a_chunk_scores_is_its_own_evidence_or_less_and_never_rises(cases):
    cosines, documents, _ = zip(*cases, strict=True)
    terms = [("disk",)] * len(cases)
    alone = dict(rank(index_of(cosines, terms), question(disk=1), limit=len(cases)))
    found = rank(index_of(cosines, terms, documents), question(disk=1), limit=len(cases))
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == max(alone.values())  # so a question finds as much evidence as before
    least = 1.0
    for row, score in found:
        least = min(least, alone[row])
        assert score == least


def test_parts_of_one_page_give_way_to_another_page_that_is_nearly_as_good():
    cosines, pages = [0.9, 0.85, 0.84, 0.8, 0.78, 0.5], [1, 1, 1, 1, 2, 3]
    asked = question(quark=1)
    hybrid = [row for row, _ in rank(index_of(cosines, FILLER * 6, pages), asked, limit=6)]
    assert hybrid == [0, 1, 2, 4, 3, 5]
    assert [row for row, _ in semantic(index_of(cosines, FILLER * 6, pages), asked)] == [*range(6)]


def test_an_empty_knowledge_base_gives_nothing():
    for method in SearchType:
        assert rank(index_of([]), question(a=1), limit=5, search_type=method) == []
