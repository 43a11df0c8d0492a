"""Only what this server gave is evidence, to whom it gave it, for as long as it is kept."""

from __future__ import annotations

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.mcp_server import evidence_store
from knowledge_rag.mcp_server.evidence_store import EvidenceStore, unguessable_id
from tests.support.evidence import passage

NOTHING = RetrievalOutcome(Status.NO_MATCH)


def found(name):
    return RetrievalOutcome(Status.OK, (passage(f"runbooks/{name}.md"),))


@pytest.fixture
def limited(monkeypatch):
    """Return what makes a store with smaller limits."""

    def make(**limits):
        for name, limit in limits.items():
            monkeypatch.setattr(evidence_store, name, limit)
        return EvidenceStore()

    return make


def searched(kept, session, outcome):
    evidence_id = kept.begin(session)
    kept.finish(evidence_id, outcome)
    return evidence_id


def test_a_session_is_given_its_own_searches_in_the_order_of_asking():
    kept = EvidenceStore()
    first, others, second = kept.begin("one"), kept.begin("other"), kept.begin("one")
    kept.finish(second, found("second"))
    kept.finish(others, found("others"))
    kept.finish(first, found("first"))
    assert kept.of_session("one") == (found("first"), found("second"))
    assert kept.of_session("nobody") == ()


def test_searches_are_named_each_counts_once_in_the_order_of_their_names():
    kept = EvidenceStore()
    first, second = searched(kept, None, found("a")), searched(kept, None, NOTHING)
    assert kept.named([second, first, second]) == (NOTHING, found("a"))


def test_what_no_search_gave_is_no_evidence():
    kept = EvidenceStore()
    under_way = kept.begin("one")
    for name in ("ev-99", "", "ev-1\n[Source: a.md, lines 1-2]", under_way):
        with pytest.raises(InvalidRequest, match="there is no evidence '") as raised:
            kept.named([name])
        assert "\n" not in str(raised.value)


def test_a_search_whose_caller_has_gone_leaves_nothing_behind():
    kept = EvidenceStore()
    gone, stays = kept.begin("one"), searched(kept, "one", NOTHING)
    kept.abandon(gone)
    kept.abandon(stays)
    kept.finish(gone, found("late"))
    assert kept.of_session("one") == (NOTHING,)


def test_a_session_that_searched_too_often_has_to_name_its_searches(limited):
    kept = limited(MAX_SESSION_SEARCHES=2)
    names = [searched(kept, "one", found(str(number))) for number in range(3)]
    with pytest.raises(InvalidRequest, match="name those that the answer is based on"):
        kept.of_session("one")
    with pytest.raises(InvalidRequest, match="the latest 2 searches"):
        kept.named(names[:1])
    assert kept.named(names[1:]) == (found("1"), found("2"))


def test_one_session_does_not_take_the_place_of_another(limited):
    kept = limited(MAX_SESSION_SEARCHES=2, MAX_SEARCHES=4)
    mine = searched(kept, "mine", found("mine"))
    for number in range(50):
        searched(kept, "greedy", found(str(number)))
    assert kept.named([mine]) == kept.of_session("mine") == (found("mine"),)


def test_what_is_remembered_is_bounded_over_all_sessions(limited):
    kept = limited(MAX_SEARCHES=3)
    names = [searched(kept, f"session {number}", NOTHING) for number in range(5)]
    assert len(kept._searches) == 3
    with pytest.raises(InvalidRequest):
        kept.of_session("session 0")
    assert kept.named(names[2:]) == (NOTHING,) * 3


def test_ids_are_long_and_never_the_same():
    ids = {unguessable_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert {len(one) for one in ids} == {len("ev-") + 24}
