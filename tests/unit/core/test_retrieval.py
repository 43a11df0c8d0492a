import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import DropReason, Reason, RetrievalOutcome, Status
from knowledge_rag.core.policy_settings import SourcePriority
from knowledge_rag.core.retrieval import (
    MAX_SERVICE_RESULTS,
    MORE_NOTICE,
    SPARE_RESULTS,
    TOO_LARGE_NOTICE,
    Guardrail,
    Query,
    Retriever,
    SearchSettings,
    SearchType,
    fit,
    is_whole_document,
    retrieve_request,
    select,
    unproven_count,
)
from knowledge_rag.evaluation.faults.payloads import FILE, item, retrieved

SETTINGS = SearchSettings("TESTKB0001")


def search_of(query, settings=SETTINGS):
    request = retrieve_request(query, settings)
    return request["retrievalConfiguration"]["vectorSearchConfiguration"]


def test_the_longest_query_is_asked_whole():
    text = "x" * 19_999 + "y"
    request = retrieve_request(Query(text), SearchSettings("TESTKB0001"))
    assert request["retrievalQuery"] == {"text": text}


class TestRequest:
    def test_it_asks_the_knowledge_base_for_a_few_more_than_wanted(self):
        assert retrieve_request(Query("failover", 3), SETTINGS) == {
            "knowledgeBaseId": "TESTKB0001",
            "retrievalQuery": {"text": "failover"},
            "retrievalConfiguration": {
                "vectorSearchConfiguration": {
                    "numberOfResults": 3 + SPARE_RESULTS,
                    "overrideSearchType": "HYBRID",
                }
            },
        }

    def test_a_source_policy_needs_dates_which_located_lines_have_not(self):
        with pytest.raises(ValueError, match="without dates"):
            SearchSettings("TESTKB0001", priority=SourcePriority(), source_root="s3://docs/")

    def test_it_never_asks_for_more_than_the_service_gives(self):
        assert search_of(Query("x", 100))["numberOfResults"] == MAX_SERVICE_RESULTS

    def test_one_filter_stands_alone_and_two_are_joined(self):
        one = {"equals": {"key": "service", "value": "rds"}}
        other = {"equals": {"key": "document_type", "value": "runbook"}}
        both = {"service": "rds", "document_type": "runbook"}
        assert "filter" not in search_of(Query("x"))
        assert search_of(Query("x", filters={"service": "rds"}))["filter"] == one
        assert search_of(Query("x", filters=both))["filter"] == {"andAll": [other, one]}

    def test_one_document_is_asked_for_by_its_exact_path(self):
        query = Query("x", 3, {"source_file": FILE, "service": "rds"})
        wanted = {"equals": {"key": "source_file", "value": FILE}}
        assert search_of(query)["filter"] == {
            "andAll": [{"equals": {"key": "service", "value": "rds"}}, wanted]
        }
        assert search_of(Query("x", filters={"source_file": FILE}))["filter"] == wanted

    def test_search_type_and_guardrail_are_settings(self):
        settings = SearchSettings(
            "TESTKB0001", SearchType.SEMANTIC, guardrail=Guardrail("gr1", "DRAFT")
        )
        assert search_of(Query("x"), settings)["overrideSearchType"] == "SEMANTIC"
        assert retrieve_request(Query("x"), settings)["guardrailConfiguration"] == {
            "guardrailId": "gr1",
            "guardrailVersion": "DRAFT",
        }

    @pytest.mark.parametrize(
        "arguments",
        [
            (" ",),
            ("x" * 20_001,),
            ("x", 0),
            ("x", 101),
            ("x", 5, {"owner": "sre"}),
            ("x", 5, {"source_file": "/etc/passwd"}),
            ("x", 5, {"source_file": ""}),
        ],
    )
    def test_a_query_outside_its_bounds_can_t_be_made(self, arguments):
        with pytest.raises(ValueError, match=r"query|max_results|filters|source_file"):
            Query(*arguments)


def statuses(items, max_results=5, floor=None):
    outcome = select(items, max_results, floor)
    return outcome.status, outcome.reason, dict(outcome.dropped)


class TestSelect:
    def test_proven_results_keep_their_order_whatever_their_scores(self):
        items = [item(start=n, score=score) for n, score in ((9, 0.1), (1, 0.9), (5, None))]
        outcome = select(items, 5, None)
        assert [r.citation.start_line for r in outcome.results] == [9, 1, 5]
        assert [r.relevance_score for r in outcome.results] == [0.1, 0.9, None]

    def test_nothing_found_is_no_match(self):
        assert statuses([]) == (Status.NO_MATCH, None, {})

    def test_the_same_lines_come_once(self):
        outcome = select([item(), item(score=0.4), item(section_header="Other")], 5, None)
        assert len(outcome.results) == 1
        assert outcome.dropped == {DropReason.DUPLICATE: 2}

    def test_no_more_come_than_were_asked_for(self):
        outcome = select([item(start=n) for n in range(1, 9)], 3, None)
        assert [r.citation.start_line for r in outcome.results] == [1, 2, 3]
        assert outcome.dropped == {DropReason.OVER_LIMIT: 5}

    def test_beyond_what_the_service_ever_gives_nothing_is_looked_at(self):
        class Unlooked(dict):
            def get(self, *_):
                raise AssertionError

        items = [None] * MAX_SERVICE_RESULTS + [Unlooked()] * 50
        outcome = select(items, 5, None)
        assert outcome.reason is Reason.UNVERIFIABLE_RESULTS
        assert outcome.dropped == {DropReason.NOT_TEXT: 100, DropReason.OVER_LIMIT: 50}

    def test_the_deadline_is_looked_at_before_each_item(self):
        times = iter([0.0, 0.5, 1.5])
        with pytest.raises(DeadlineExceeded):
            select([item(start=n) for n in (1, 5, 9)], 5, None, Deadline(1.0, lambda: next(times)))

    def test_a_dropped_result_is_made_up_for(self):
        outcome = select([None, item(start=1), item(start=2)], 2, None)
        assert len(outcome.results) == 2
        assert unproven_count(outcome) == 1

    @pytest.mark.parametrize(
        ("bad", "reason"),
        [
            (None, DropReason.NOT_TEXT),
            ({}, DropReason.NOT_TEXT),
            ("text", DropReason.NOT_TEXT),
            ({"content": "text"}, DropReason.NOT_TEXT),
            ({"content": {"type": "ROW", "row": []}}, DropReason.NOT_TEXT),
            ({**item(), "content": {"type": "IMAGE", "text": "x"}}, DropReason.NOT_TEXT),
            ({**item(), "content": {"text": ""}}, DropReason.NOT_TEXT),
            ({**item(), "metadata": "none"}, DropReason.NO_CITATION),
            (item(source_file="../x.md"), DropReason.NO_CITATION),
            (item(content_sha256="0" * 64), DropReason.NOT_PROVEN),
        ],
    )
    def test_what_can_t_be_proven_is_dropped_and_alone_it_degrades(self, bad, reason):
        assert statuses([bad]) == (
            Status.DEGRADED, Reason.UNVERIFIABLE_RESULTS, {reason: 1},
        )  # fmt: skip
        assert statuses([bad, item()])[::2] == (Status.OK, {reason: 1})

    def test_below_the_floor_is_no_evidence(self):
        items = [item(start=1, score=0.5), item(start=2, score=0.49), item(start=3, score=None)]
        outcome = select(items, 5, 0.5)
        assert [r.citation.start_line for r in outcome.results] == [1, 3]
        assert outcome.dropped == {DropReason.BELOW_FLOOR: 1}

    def test_all_below_the_floor_is_no_match(self):
        assert statuses([item(score=0.1)], floor=0.5) == (
            Status.NO_MATCH, None, {DropReason.BELOW_FLOOR: 1},
        )  # fmt: skip

    def test_the_first_proven_ones_below_the_floor_are_the_nearest(self):
        low = [item(score=0.1, start=n) for n in range(1, 9)]
        outcome = select([item(score=0.2, start=0), *low], 5, 0.5)
        assert [it.citation.start_line for it in outcome.nearest] == [1, 2, 3, 4, 5]
        assert "nearest" not in outcome.to_dict()
        assert select([*low, item(score=0.6, start=9)], 5, 0.5).nearest == ()

    def test_an_unproven_result_above_the_floor_may_have_been_the_answer(self):
        good = item(score=0.1)
        assert statuses([item(score=0.9, start=0), good], floor=0.5)[0] is Status.DEGRADED
        assert statuses([item(score=None, start=0), good], floor=0.5)[0] is Status.DEGRADED

    def test_an_unproven_result_below_the_floor_was_none(self):
        good, foreign = item(score=0.1), item(score=0.05, start=0)
        assert statuses([good, foreign], floor=0.5)[0] is Status.NO_MATCH

    def test_unproven_results_alone_are_never_no_match(self):
        assert statuses([item(score=0.1, start=0)], floor=0.5)[0] is Status.DEGRADED

    @given(
        st.lists(
            st.recursive(
                st.none() | st.booleans() | st.floats() | st.text() | st.just(item()),
                lambda inner: (
                    st.lists(inner)
                    | st.dictionaries(
                        st.sampled_from(["content", "text", "type", "metadata", "score"]), inner
                    )
                ),
                max_leaves=6,
            ),
            max_size=6,
        ),
        st.integers(1, 5),
        st.none() | st.floats(0, 1),
    )
    def test_no_service_answer_breaks_it_and_nothing_unproven_gets_through(
        self, items, most, floor
    ):
        outcome = select(items, most, floor)
        json.dumps(outcome.to_dict(), allow_nan=False).encode()
        assert len(outcome.results) + sum(outcome.dropped.values()) == len(items)
        assert len(outcome.results) <= 1
        assert (outcome.status is Status.NO_MATCH) <= (
            not items or DropReason.BELOW_FLOOR in outcome.dropped
        )


class TestFit:
    @staticmethod
    def size(outcome):
        return sum(len(result.content) for result in outcome.results)

    def found(self, *lengths):
        items = [item("x" * length, start=n + 1) for n, length in enumerate(lengths)]
        return select(items, 9, None)

    def lengths(self, outcome):
        return [len(result.content) for result in outcome.results]

    def test_what_fits_is_left_alone(self):
        outcome = self.found(40, 60)
        assert fit(outcome, 100, self.size) is outcome

    def test_lowest_ranks_go_first(self):
        outcome = fit(self.found(40, 50, 20, 5), 100, self.size)
        assert self.lengths(outcome) == [40, 50]
        assert outcome.dropped == {DropReason.OVER_SIZE: 2}

    def test_a_result_that_can_t_be_sent_at_all_does_not_take_the_others_with_it(self):
        assert self.lengths(fit(self.found(200, 50, 20), 100, self.size)) == [50, 20]

    def test_a_hundred_results_are_not_written_a_hundred_times_over(self):
        written = []

        def size(outcome):
            written.append(len(outcome.results))
            return self.size(outcome)

        outcome = fit(
            select([item("x" * 10, start=n + 1) for n in range(100)], 100, None), 15, size
        )
        assert self.lengths(outcome) == [10]
        assert sum(written) < 400

    def test_nothing_that_fits_degrades_and_says_so(self):
        outcome = fit(self.found(200), 100, self.size)
        assert (outcome.reason, outcome.notice) == (Reason.UNVERIFIABLE_RESULTS, TOO_LARGE_NOTICE)
        assert outcome.dropped == {DropReason.OVER_SIZE: 1}

    def test_an_outcome_without_results_fits(self):
        outcome = select([], 5, None)
        assert fit(outcome, 0, self.size) is outcome

    def test_of_one_document_the_lowest_scores_go_first_and_the_rest_stays_in_line_order(self):
        scores = (0.2, 0.9, None, 0.5)
        items = [item("x" * 40, start=n + 1, score=score) for n, score in enumerate(scores)]
        found = select(items, 9, None)
        outcome = fit(found, 100, self.size, one_document=True)
        assert [result.citation.start_line for result in outcome.results] == [2, 4]
        assert outcome.dropped == {DropReason.OVER_SIZE: 2}
        assert outcome.notice == (
            "2 passages of this document are left out to keep the answer small."
        )
        assert fit(found, 160, self.size, one_document=True) is found

    def test_the_notice_of_what_was_left_out_counts_towards_the_size(self):
        def size(outcome):
            return self.size(outcome) + len(outcome.notice or "")

        found = select([item("x" * 40, start=n + 1) for n in range(4)], 9, None)
        for most in range(110, 160):
            outcome = fit(found, most, size, one_document=True)
            assert size(outcome) <= most
            assert len(outcome.results) == (1 if most < 146 else 2)


class Client:
    """Stands in for botocore's client where only its answer matters."""

    def __init__(self, answer):
        self.answer = answer

    def retrieve(self, **_):
        self.deadline = current_deadline()
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"ResponseMetadata": {"RequestId": "id-1"}, **self.answer}


def document(*items, most=100, floor=None, path=FILE):
    """Return what a query for one document gives where the service returns these items."""
    query = Query("x", most, {"source_file": path})
    settings = SearchSettings("TESTKB0001", evidence_floor=floor)
    outcome = Retriever(Client(retrieved(*items)), settings).retrieve(query, Deadline.after(30))
    return query, outcome.outcome


class TestOneDocument:
    def test_its_passages_come_in_line_order_with_the_service_s_scores(self):
        items = [item(start=n, score=score) for n, score in ((90, 0.9), (1, 0.5), (50, None))]
        _, outcome = document(*items)
        assert [(r.citation.start_line, r.relevance_score) for r in outcome.results] == [
            (1, 0.5), (50, None), (90, 0.9),
        ]  # fmt: skip

    def test_the_evidence_floor_does_not_apply(self):
        query, outcome = document(item(score=0.01), floor=0.6)
        assert outcome.status is Status.OK
        assert is_whole_document(query, outcome)

    def test_the_best_are_taken_before_they_are_put_in_line_order(self):
        query, outcome = document(item(start=90), item(start=50), item(start=1), most=2)
        assert [result.citation.start_line for result in outcome.results] == [50, 90]
        assert outcome.dropped == {DropReason.OVER_LIMIT: 1}
        assert outcome.notice == "1 passage of this document is not shown."
        assert not is_whole_document(query, outcome)

    def test_all_of_it_is_whole_and_needs_no_notice(self):
        query, outcome = document(item(start=9), item(start=1), item(start=9))
        assert outcome.dropped == {DropReason.DUPLICATE: 1}
        assert outcome.notice is None
        assert is_whole_document(query, outcome)

    def test_what_can_t_be_proven_is_missing_from_it(self):
        query, outcome = document(item(start=1), None, item(start=9, content_sha256="0" * 64))
        assert outcome.notice == "2 passages of this document are not shown."
        assert not is_whole_document(query, outcome)

    def test_as_many_as_the_service_was_asked_for_may_not_be_all(self):
        query, outcome = document(*[item(start=3 * n + 1) for n in range(MAX_SERVICE_RESULTS)])
        assert len(outcome.results) == 100
        assert outcome.notice == MORE_NOTICE
        assert not is_whole_document(query, outcome)
        few = [item(start=3 * n + 1) for n in range(2 + SPARE_RESULTS)]
        query, outcome = document(*few, most=2)
        assert outcome.notice == "At least 5 passages of this document are not shown."
        doubled = [item(start=3 * n + 1) for n in range(99)] + [item(start=1)]
        query, outcome = document(*doubled)
        assert (len(outcome.results), outcome.notice) == (99, MORE_NOTICE)
        assert not is_whole_document(query, outcome)

    def test_as_many_as_were_asked_for_may_have_been_cut_by_whoever_passed_them_on(self):
        query, outcome = document(item(start=1), item(start=9), most=2)
        assert outcome.notice is None
        assert not is_whole_document(query, outcome)

    def test_a_document_that_is_not_there_or_not_the_one_is_not_whole(self):
        query, nothing = document()
        assert nothing == RetrievalOutcome(Status.NO_MATCH)
        assert not is_whole_document(query, nothing)
        query, other = document(item(source_file="runbooks/other.md"))
        assert not is_whole_document(query, other)

    def test_a_search_of_all_documents_is_never_a_whole_one(self):
        outcome = select([item()], 5, None)
        assert not is_whole_document(Query("x"), outcome)


class TestRetriever:
    def test_it_gives_what_was_proven_and_the_request_id_under_the_deadline(self):
        client, deadline = Client(retrieved(item())), Deadline.after(1)
        retrieval = Retriever(client, SETTINGS).retrieve(Query("x"), deadline)
        assert retrieval.outcome.status is Status.OK
        assert retrieval.request_id == "id-1"
        assert client.deadline is deadline

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            ({}, Reason.MALFORMED_RESPONSE),
            ({"retrievalResults": {}}, Reason.MALFORMED_RESPONSE),
            (retrieved(item(), guardrailAction="INTERVENED"), Reason.GUARDRAIL),
            (retrieved(item(), guardrailAction="intervened"), Reason.GUARDRAIL),
            (retrieved(item(), guardrailAction={}), Reason.GUARDRAIL),
            (retrieved(item(), guardrailAction=""), Reason.GUARDRAIL),
            (ConnectionRefusedError(), Reason.UNAVAILABLE),
        ],
    )
    def test_what_is_no_answer_fails_with_its_reason(self, answer, reason):
        with pytest.raises(RetrievalFailed) as caught:
            Retriever(Client(answer), SETTINGS).retrieve(Query("x"), Deadline.after(1))
        assert caught.value.reason is reason

    @pytest.mark.parametrize("action", [{}, {"guardrailAction": "NONE"}, {"guardrailAction": None}])
    def test_a_guardrail_that_does_not_intervene_lets_results_through(self, action):
        client = Client(retrieved(item(), **action))
        retrieval = Retriever(client, SETTINGS).retrieve(Query("x"), Deadline.after(1))
        assert retrieval.outcome.status is Status.OK

    def test_documents_that_are_out_of_use_come_last_and_none_is_lost(self):
        scored = [
            item(start=1, score=0.9, status="superseded by aurora.md"),
            item(start=2, score=0.8, source_file="old/rds.md"),
            item(start=3, score=0.7),
            item(start=4, score=0.6, status="draft"),
        ]
        retriever = Retriever(Client(retrieved(*scored)), SETTINGS)
        outcome = retriever.retrieve(Query("x"), Deadline.after(1)).outcome
        assert [it.citation.start_line for it in outcome.results] == [3, 4, 1, 2]
        of_one = retriever.retrieve(
            Query("x", filters={"source_file": FILE}), Deadline.after(1)
        ).outcome
        assert [it.citation.start_line for it in of_one.results] == [1, 2, 3, 4]

    def test_too_late_to_prove_the_results_is_a_timeout(self):
        deadline = Deadline(1.0, lambda: 2.0)
        with pytest.raises(RetrievalFailed) as caught:
            Retriever(Client(retrieved(item())), SETTINGS).retrieve(Query("x"), deadline)
        assert caught.value.reason is Reason.TIMEOUT

    def test_a_request_id_is_cut_to_what_a_log_takes(self):
        client = Client(retrieved(ResponseMetadata={"RequestId": "x" * 5000}))
        retrieval = Retriever(client, SETTINGS).retrieve(Query("x"), Deadline.after(1))
        assert len(retrieval.request_id) == 64

    def test_a_defect_is_not_taken_for_a_failure_of_the_service(self):
        with pytest.raises(ZeroDivisionError):
            Retriever(Client(ZeroDivisionError()), SETTINGS).retrieve(Query("x"), Deadline.after(1))
