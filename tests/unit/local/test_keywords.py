from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.keywords import (
    CONTEXT_WEIGHT,
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
    assert set(stored_terms("", text)) == set(terms)


@given(st.text(alphabet="\"*^():-+{}[]\\/ ANDORNOTNEAR'", max_size=60))
def test_the_operators_of_query_languages_mean_nothing(text):
    query_terms(text)
