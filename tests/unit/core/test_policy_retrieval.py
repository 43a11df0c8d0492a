"""A query under the policy: what is asked for, what is shown, and what a failed part costs."""

import threading
import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.deadline import Deadline, current_deadline
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.core.policy_retrieval import SECONDARY_NOTICE
from knowledge_rag.core.policy_settings import SourcePriority
from knowledge_rag.core.retrieval import Query, Retriever, SearchSettings, SearchType
from knowledge_rag.evaluation.faults.items import item, retrieved

TODAY = date(2026, 11, 21)
SCOPE = {"equals": {"key": "service", "value": "north"}}
DATED = "When is the next conference?"


def settings(scope=None, **more):
    return SearchSettings("TESTKB0001", priority=SourcePriority(scope, lambda: TODAY), **more)


def website(number, **metadata):
    return item(start=number, source_url=f"https://school.example/{number}", **metadata)


def pdf(number, **metadata):
    return item(start=number, source_file=f"docs/{number}.pdf", document_type="pdf", **metadata)


class Service:
    """Stands in for botocore's client: gives as many of its ranked items as are asked for.

    Args:
        items: the whole knowledge base, best first.
        scoped: what passes the secondary scope; an exception is raised.
        before_scoped: called before the secondary scope is answered.
    """

    def __init__(self, items, scoped=(), before_scoped=lambda: None):
        self.items, self.scoped, self.before_scoped = items, scoped, before_scoped
        self.searches, self.deadlines = [], []

    def retrieve(self, **request):
        search = request["retrievalConfiguration"]["vectorSearchConfiguration"]
        self.searches.append(search)
        self.deadlines.append(current_deadline())
        found = self.items
        if SCOPE in (search.get("filter"), *search.get("filter", {}).get("andAll", [])):
            self.before_scoped()
            found = self.scoped
        if isinstance(found, Exception):
            raise found
        if isinstance(found, dict):
            return found
        answer = retrieved(*found[: search["numberOfResults"]])
        return {"ResponseMetadata": {"RequestId": "id-1"}, **answer}


def ask(service, query=DATED, most=5, scope=None, deadline=None, **more):
    retriever = Retriever(service, settings(scope, **more))
    return retriever.retrieve(Query(query, most), deadline or Deadline.after(30))


def lines(retrieval):
    return [result.citation.start_line for result in retrieval.outcome.results]


@given(st.integers(1, 100))
def test_sixty_results_are_asked_for_whatever_is_wanted(most):
    service = Service([])
    ask(service, most=most)
    assert service.searches == [{"numberOfResults": 60, "overrideSearchType": "HYBRID"}]


@given(st.integers(21, 60), st.integers(1, 5))
def test_6_an_answer_that_ranks_21_to_60_is_found(rank, most):
    service = Service([website(n) if n == rank else pdf(n) for n in range(1, 101)])
    assert lines(ask(service, "Who are the executive directors?", most))[0] == rank
    off = Retriever(service, SearchSettings("TESTKB0001"))
    found = off.retrieve(Query("Who are the executive directors?", most), Deadline.after(30))
    assert rank not in lines(found)


def test_what_is_cut_is_cut_last_and_counted():
    service = Service([pdf(1), website(2), None, website(3), website(3), pdf(4)])
    retrieval = ask(service, most=2)
    assert lines(retrieval) == [2, 3]
    assert retrieval.outcome.dropped == {
        DropReason.NOT_TEXT: 1, DropReason.DUPLICATE: 1, DropReason.OVER_LIMIT: 2,
    }  # fmt: skip
    assert retrieval.request_id == "id-1"


def test_one_document_is_neither_rearranged_nor_searched_for_in_a_second_scope():
    service = Service([pdf(9), website(2), pdf(1)])
    filters = {"source_file": "docs/plan.md"}
    query = Query(DATED, 5, filters)
    retrieval = Retriever(service, settings(SCOPE, evidence_floor=0.9)).retrieve(
        query, Deadline.after(30)
    )
    assert lines(retrieval) == [1, 2, 9]
    assert retrieval.arrangement is None
    (search,) = service.searches
    assert search["numberOfResults"] == 10
    assert search["filter"] == {"equals": {"key": "source_file", "value": "docs/plan.md"}}


def test_scores_and_contents_are_as_the_service_gave_them():
    service = Service([pdf(1, score=0.9), website(2, score=0.2), website(3, score=None)])
    results = ask(service).outcome.results
    assert [result.relevance_score for result in results] == [0.2, None, 0.9]


def test_what_is_below_the_floor_is_no_evidence_whatever_its_kind():
    service = Service([pdf(1, score=0.9), website(2, score=0.1)])
    assert lines(ask(service, evidence_floor=0.5)) == [1]
    nothing = ask(Service([website(1, score=0.1)]), evidence_floor=0.5)
    assert nothing.outcome.status is Status.NO_MATCH


def test_unproven_results_alone_are_never_no_match():
    retrieval = ask(Service([website(0)]))
    assert retrieval.outcome.reason is Reason.UNVERIFIABLE_RESULTS


def test_more_items_than_were_asked_for_are_counted_and_not_looked_at():
    class Talkative(Service):
        def retrieve(self, **_):
            return retrieved(*[website(n) for n in range(1, 100)])

    retrieval = ask(Talkative([]), most=100)
    assert lines(retrieval) == list(range(1, 61))
    assert retrieval.outcome.dropped == {DropReason.OVER_LIMIT: 39}


def test_a_date_is_asked_for_and_all_are_past():
    service = Service([website(1, dates=["2025-11-13"]), pdf(2, dates=["2024-11-13"])])
    assert ask(service).outcome.notice.startswith("Every date in these passages is past")
    assert ask(service, "Who are the directors?").outcome.notice is None


def test_dates_that_can_t_be_read_are_none_and_cost_no_rank():
    service = Service([website(1, dates=["soon", 5]), website(2, dates="2026-12-01")])
    retrieval = ask(service)
    assert lines(retrieval) == [1, 2]
    assert retrieval.outcome.notice is None


def test_the_search_is_hybrid_or_there_is_no_policy():
    with pytest.raises(ValueError, match="SEMANTIC"):
        settings(search_type=SearchType.SEMANTIC)


class TestSecondaryScope:
    def test_ten_of_it_are_asked_for_beside_the_query_s_own_filters(self):
        service = Service([], [])
        query = Query(DATED, 5, {"document_type": "web"})
        Retriever(service, settings(SCOPE)).retrieve(query, Deadline.after(30))
        own = {"equals": {"key": "document_type", "value": "web"}}
        by_results = {search["numberOfResults"]: search["filter"] for search in service.searches}
        assert by_results == {60: own, 10: {"andAll": [own, SCOPE]}}

    def test_what_it_finds_ranks_behind_the_rest_before_anything_is_put_in_order(self):
        service = Service([pdf(1), website(2)], [website(2), website(3), pdf(4)])
        retrieval = ask(service, scope=SCOPE)
        assert lines(retrieval) == [2, 3, 1, 4]
        assert retrieval.outcome.dropped == {DropReason.DUPLICATE: 1}
        assert retrieval.secondary_failure is None

    def test_no_more_than_ten_of_it_are_looked_at(self):
        class Talkative(Service):
            def retrieve(self, **request):
                search = request["retrievalConfiguration"]["vectorSearchConfiguration"]
                first = 1 if "filter" not in search else 101
                return retrieved(*[website(n) for n in range(first, first + 80)])

        retrieval = ask(Talkative([]), most=100, scope=SCOPE)
        assert lines(retrieval) == [*range(1, 61), *range(101, 111)]

    @pytest.mark.parametrize(
        ("failure", "reason"),
        [
            (ConnectionRefusedError(), Reason.UNAVAILABLE),
            (TimeoutError(), Reason.TIMEOUT),
            ({}, Reason.MALFORMED_RESPONSE),
            (retrieved(guardrailAction="INTERVENED"), Reason.GUARDRAIL),
        ],
        ids=["refused", "timeout", "malformed", "guardrail"],
    )
    def test_where_it_fails_the_rest_stays_and_a_notice_says_so(self, failure, reason):
        retrieval = ask(Service([pdf(1), website(2)], failure), scope=SCOPE)
        assert lines(retrieval) == [2, 1]
        assert retrieval.outcome.notice == SECONDARY_NOTICE
        assert retrieval.secondary_failure.reason is reason

    def test_where_it_fails_nothing_found_is_still_nothing_found(self):
        retrieval = ask(Service([], OSError()), scope=SCOPE)
        assert retrieval.outcome.status is Status.NO_MATCH
        assert retrieval.outcome.notice == SECONDARY_NOTICE

    def test_both_notices_are_one_printable_line(self):
        service = Service([website(1, dates=["2025-11-13"])], OSError())
        notice = ask(service, scope=SCOPE).outcome.notice
        assert notice.endswith(SECONDARY_NOTICE)
        assert notice.startswith("Every date")
        assert notice.isprintable()
        assert len(notice) <= 500

    def test_its_deadline_leaves_time_to_prove_what_came(self):
        service, deadline = Service([], []), Deadline.after(30)
        ask(service, scope=SCOPE, deadline=deadline)
        assert sorted(one.at - deadline.at for one in service.deadlines) == pytest.approx(
            [-0.2, 0], abs=1e-6
        )

    def test_it_learns_that_the_caller_has_left_as_the_query_itself_does(self):
        service, left = Service([], []), threading.Event()
        ask(service, scope=SCOPE, deadline=Deadline(time.monotonic() + 30, is_given_up=left.is_set))
        left.set()
        for one in service.deadlines:
            with pytest.raises(DeadlineExceeded, match="given up"):
                one.remaining()

    def test_where_it_hangs_it_is_not_waited_for_beyond_its_deadline(self):
        hanging, times = threading.Event(), iter([0.0, 0.0])
        service = Service([website(1)], [website(2)], lambda: hanging.wait(60))
        almost_over = Deadline(10.0, lambda: next(times, 9.75))  # once the rest is proven
        try:
            retrieval = ask(service, scope=SCOPE, deadline=almost_over)
        finally:
            hanging.set()
        assert lines(retrieval) == [1]
        assert retrieval.secondary_failure.reason is Reason.TIMEOUT

    def test_what_could_not_be_proven_in_time_costs_nothing_that_was(self):
        times = iter([0.0, 0.0, 0.0])
        late = Deadline(10.0, lambda: next(times, 11.0))  # once the first result is proven
        retrieval = ask(Service([website(1)], [website(2)]), scope=SCOPE, deadline=late)
        assert lines(retrieval) == [1]
        assert retrieval.secondary_failure.reason is Reason.TIMEOUT

    def test_where_the_knowledge_base_itself_fails_the_query_fails(self):
        with pytest.raises(RetrievalFailed) as caught:
            ask(Service(ConnectionRefusedError(), [website(1)]), scope=SCOPE)
        assert caught.value.reason is Reason.UNAVAILABLE

    def test_a_deadline_that_is_over_is_a_timeout(self):
        with pytest.raises(RetrievalFailed) as caught:
            ask(Service([website(1)], []), scope=SCOPE, deadline=Deadline(1.0, lambda: 2.0))
        assert caught.value.reason is Reason.TIMEOUT

    def test_a_defect_is_not_taken_for_a_failure_of_the_service(self):
        with pytest.raises(ZeroDivisionError):
            ask(Service([website(1)], ZeroDivisionError()), scope=SCOPE)
