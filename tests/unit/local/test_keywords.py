"""Tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.keywords import (
    CONTEXT_WEIGHT,
    ENTRY,
    FEWEST,
    K1,
    MAX_QUERY_TERMS,
    B,
    KeywordIndex,
    pairs_of,
    query_terms,
    stored_terms,
    words_of,
)


def words(text):
    return words_of(query_terms(text))


def test_word_forms_meet_and_stop_words_go():
    assert query_terms("What are the failed failovers?") == query_terms("fail FAILOVER")


def test_identifiers_are_split_and_kept_whole():
    terms = {"kube", "pod", "crash", "loop", "kubepodcrashlooping"}
    assert set(words("KubePodCrashLooping")) == terms
    assert set(words("kube-pod-crash-looping")) == terms
    assert set(query_terms("kube_pod_crash_looping")) >= {"kube", "pod", "crash", "loop"}
    assert "rds:event:0088".replace(":", "") in query_terms("RDS-EVENT-0088")


def test_a_repeated_word_counts_as_often():
    assert query_terms("disk full disk")["disk"] == 2


def test_words_that_follow_each_other_are_a_pair_however_they_are_written():
    spellings = (
        "failed replication slots",
        "fails: replication of the slot",
        "FailedReplicationSlot",
    )
    pairs = [pairs_of(query_terms(spelling)) for spelling in spellings]
    assert pairs[0] == pairs[1] == pairs[2]
    assert len(pairs[0]) == 2
    assert not pairs[0].keys() & pairs_of(query_terms("slot of a replication that failed")).keys()


def test_a_single_word_has_no_pair_and_a_repeated_pair_counts_as_often():
    assert not pairs_of(query_terms("disk"))
    assert sorted(pairs_of(query_terms("disk full, disk full")).values()) == [1, 2]


@given(st.text())
def test_every_term_is_a_word_or_a_pair_and_no_word_is_taken_for_a_pair(text):
    terms = query_terms(text)
    assert words_of(terms) | pairs_of(terms) == terms
    assert all(term[0].isalnum() for term in words_of(terms))


def test_context_words_weigh_more():
    stored = stored_terms("runbooks > rds failover\n\n", "failover the database")
    assert stored["failov"] == 1 + CONTEXT_WEIGHT
    assert stored["databas"] == 1
    assert stored["rd"] == CONTEXT_WEIGHT


def test_text_without_spaces_is_cut_into_pairs():
    assert set(words("数据库故障")) == {"数据", "据库", "库故", "故障"}
    assert set(words("mysql数据")) == {"mysql", "数据"}


def test_full_width_letters_are_letters():
    assert query_terms("ＲＤＳ") == query_terms("RDS")


@given(st.text())
def test_any_text_gives_terms_and_none_breaks_anything(text):
    terms = query_terms(text)
    assert all(term and len(term) <= 64 and count > 0 for term, count in terms.items())
    assert set(terms) <= set(stored_terms("", text))  # a question's, without what says nothing


chunks_of_terms = st.lists(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 9).map(float), max_size=7),
    min_size=1,
    max_size=8,
)
questions = st.dictionaries(st.sampled_from("abcdefgxyz"), st.integers(1, 3), max_size=6)


def index_of(chunks):
    vocabulary = {term: row for row, term in enumerate("abcdefg")}
    entries = [
        np.array([(vocabulary[t], w) for t, w in chunk.items()], dtype=ENTRY) for chunk in chunks
    ]
    return KeywordIndex.of(vocabulary, entries)


def bm25(chunks, question):
    """Give the scores and their bound as the textbook has them, words weighed among FEWEST chunks."""
    counted = max(len(chunks), FEWEST)
    lengths = [sum(chunk.values()) for chunk in chunks]
    average = sum(lengths) / len(chunks) or 1.0
    scores, most = [0.0] * len(chunks), 0.0
    for term, count in question.items():
        holding = sum(term in chunk for chunk in chunks)
        idf = math.log(1 + (counted - holding + 0.5) / (holding + 0.5))
        most += count * idf * (K1 + 1)
        for row, chunk in enumerate(chunks):
            weight = chunk.get(term, 0.0)
            damped = weight + K1 * (1 - B + B * lengths[row] / average)
            scores[row] += count * idf * weight * (K1 + 1) / damped
    return scores, most


@given(chunks_of_terms, questions)
def test_scores_are_bm25_to_the_letter(chunks, question):
    index = index_of(chunks)
    scores, most = index.score(question), index.most(question)
    expected, bound = bm25(chunks, question)
    assert scores.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert most == pytest.approx(bound)
    assert all(score <= most * (1 + 1e-5) for score in scores)


def test_a_word_that_all_of_a_few_chunks_hold_still_weighs_most_of_what_an_unknown_one_does():
    few = index_of([{"a": 1.0, "b": 1.0}, {"a": 1.0}, {"a": 1.0, "c": 1.0}])
    assert few.weight({"a": 1}) > 0.6 * few.unheard
    many = index_of([{"a": 1.0, "b": 1.0}] * (3 * FEWEST))
    assert many.weight({"a": 1}) < 0.1 * many.unheard


def test_an_unknown_word_lowers_the_share_that_is_covered():
    index = index_of([{"a": 1.0}, {"b": 1.0}])
    known, asked = {"a": 1}, {"a": 1, "unheard": 1}
    assert index.score(known).tolist() == index.score(asked).tolist()
    assert index.most(asked) > index.most(known)


def test_a_chunk_of_average_length_with_each_word_once_scores_their_weight():
    index = index_of([{"a": 1.0, "b": 1.0}, {"c": 1.0, "d": 1.0}])
    words = {"a": 1, "b": 1}
    scores = index.score(words)
    assert scores[0] == pytest.approx(index.weight(words))
    assert index.most(words) == pytest.approx((K1 + 1) * scores[0])


@given(chunks_of_terms, st.sampled_from("abcdefgxyz"))
def test_no_word_weighs_more_than_one_that_occurs_nowhere(chunks, word):
    index = index_of(chunks)
    assert 0 < index.weight({word: 1}) <= index.unheard == index.weight({"unheard": 1})


def test_a_known_word_occurs_in_some_chunk():
    index = index_of([{"a": 1.0}, {"b": 1.0}])
    assert index.known({"a": 2, "b": 1, "g": 1, "unheard": 1}) == {"a": 2, "b": 1}


def test_an_empty_index_and_an_empty_question_score_nothing():
    assert KeywordIndex.of({}, []).score({"a": 1}).shape == (0,)
    index = index_of([{"a": 1.0}])
    assert (index.score({}).tolist(), index.most({})) == ([0.0], 0)


def test_of_a_pasted_log_the_rarest_terms_count():
    index = index_of([{"a": 1.0}] * 9 + [{"b": 1.0}])
    pasted = {f"unknown-{n}": 1 for n in range(MAX_QUERY_TERMS - 1)}
    scores = index.score({"a": 1, "b": 1, **pasted})
    assert scores[9] > 0
    assert scores[0] == 0
