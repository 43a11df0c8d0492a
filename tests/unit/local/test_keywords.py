from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.keywords import CONTEXT_WEIGHT, query_terms, stored_terms


def test_word_forms_meet_and_stop_words_go():
    assert query_terms("What are the failed failovers?") == query_terms("fail FAILOVER")


def test_identifiers_are_split_and_kept_whole():
    terms = {"kube", "pod", "crash", "loop", "kubepodcrashlooping"}
    assert set(query_terms("KubePodCrashLooping")) == terms
    assert set(query_terms("kube-pod-crash-looping")) == terms
    assert set(query_terms("kube_pod_crash_looping")) >= {"kube", "pod", "crash", "loop"}
    assert "rds:event:0088".replace(":", "") in query_terms("RDS-EVENT-0088")


def test_a_repeated_word_counts_as_often():
    assert query_terms("disk full disk")["disk"] == 2


def test_context_words_weigh_more():
    stored = stored_terms("runbooks > rds failover\n\n", "failover the database")
    assert stored["failov"] == 1 + CONTEXT_WEIGHT
    assert stored["databas"] == 1
    assert stored["rd"] == CONTEXT_WEIGHT


def test_text_without_spaces_is_cut_into_pairs():
    assert set(query_terms("数据库故障")) == {"数据", "据库", "库故", "故障"}
    assert set(query_terms("mysql数据")) == {"mysql", "数据"}


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
