"""The order of sources: six correctness properties, what is a website, and why something moved."""

from __future__ import annotations

import threading
import time
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.net.deadline import Deadline, current_deadline
from knowledge_rag.core.outcome import DropReason, Reason, RetrievalResult, Status
from knowledge_rag.core.policy import (
    MAX_QUESTION_CHARACTERS,
    SECONDARY_NOTICE,
    Candidate,
    SourceKind,
    Timing,
    arrange,
    asks_for_a_date,
    past_notice,
    source_kind,
    timing,
)
from knowledge_rag.core.policy_settings import SourcePriority, present_day, read_scope
from knowledge_rag.core.retrieval import Query, Retriever, SearchSettings, SearchType
from knowledge_rag.evaluation.faults.payloads import item, retrieved

TODAY = date(2026, 11, 21)
DATED = "When is the next parent-teacher conference?"
UNDATED = "Who are the executive directors?"


def candidate(number, kind="other", dates=(), score=0.5, **metadata):
    """Give a result that the service might have ranked at ``number``."""
    if kind == "website":
        metadata = {"source_url": f"https://school.example/{number}"} | metadata
    name = f"{number}.pdf" if kind == "pdf" else f"{number}.md"
    if dates:
        metadata["dates"] = list(dates)
    return Candidate(RetrievalResult("text", Citation(name, number, number, ""), score, metadata))


KINDS = st.sampled_from(["website", "pdf", "other"])
DATES = st.lists(st.dates(TODAY - timedelta(800), TODAY + timedelta(800)).map(str), max_size=3).map(
    sorted
)
SPECS = st.lists(st.tuples(KINDS, DATES), max_size=70)


def made(specs):
    return [
        candidate(number, kind, dates, score=1 - number / 100)
        for number, (kind, dates) in enumerate(specs, start=1)
    ]


def order(arrangement):
    return [placement.before for placement in arrangement.placements]


def kinds(arrangement, wanted):
    return [placement for placement in arrangement.placements if placement.kind is wanted]


PHRASINGS = [
    [
        "When is the next parent-teacher conference?",
        "next parent teacher conference date",
        "parent-teacher conferences: when?",
        "upcoming conferences for parents and teachers",
        "What day are the conferences on?",
    ],
    [
        "Who are the executive directors?",
        "executive directors",
        "names of the Executive Directors please",
        "list everyone who is an executive director",
    ],
]


QUESTIONS = st.sampled_from([DATED, UNDATED])


class TestProperties:
    @given(SPECS, QUESTIONS)
    def test_1_every_website_stands_before_every_pdf_and_kinds_keep_their_order(
        self, specs, question
    ):
        arrangement = arrange(made(specs), question, TODAY)
        websites = [it.after for it in kinds(arrangement, SourceKind.WEBSITE)]
        pdfs = [it.after for it in kinds(arrangement, SourceKind.PDF)]
        assert max(websites, default=0) < min(pdfs, default=1000)
        places = [it.after for it in kinds(arrangement, SourceKind.OTHER)]
        assert places == [n for n, (kind, _) in enumerate(specs, start=1) if kind == "other"]
        for kind in SourceKind if question == UNDATED else ():
            ranks = [placement.before for placement in kinds(arrangement, kind)]
            assert ranks == sorted(ranks)

    @given(SPECS)
    def test_2_asked_for_a_date_days_to_come_stand_before_past_ones_in_each_kind(self, specs):
        arrangement = arrange(made(specs), DATED, TODAY)
        for kind in SourceKind:
            timings = [it.timing for it in kinds(arrangement, kind)]
            dated = [it for it in timings if it is not Timing.UNDATED]
            assert dated == sorted(dated, key=[Timing.FUTURE, Timing.PAST].index)
            for one in Timing:
                ranks = [it.before for it in kinds(arrangement, kind) if it.timing is one]
                assert ranks == sorted(ranks)

    @given(SPECS, st.sampled_from(PHRASINGS), st.data())
    def test_3_however_it_is_phrased_one_set_of_candidates_has_one_order(self, specs, alike, data):
        one, other = data.draw(st.tuples(st.sampled_from(alike), st.sampled_from(alike)))
        candidates = made(specs)
        assert order(arrange(candidates, one, TODAY)) == order(arrange(candidates, other, TODAY))

    @given(st.lists(st.tuples(st.sampled_from(["pdf", "other"]), DATES), max_size=70))
    def test_4_without_a_website_pdfs_stay_where_they_are(self, specs):
        candidates = made(specs)
        assert order(arrange(candidates, UNDATED, TODAY)) == list(range(1, len(specs) + 1))
        places = [it.after for it in kinds(arrange(candidates, DATED, TODAY), SourceKind.PDF)]
        assert places == [n for n, (kind, _) in enumerate(specs, start=1) if kind == "pdf"]

    @given(SPECS, QUESTIONS)
    def test_nothing_is_scored_added_lost_or_moved_without_a_reason_or_twice(self, specs, question):
        candidates = made(specs)
        once = arrange(candidates, question, TODAY)
        assert sorted(order(once)) == list(range(1, len(specs) + 1))
        assert [it.after for it in once.placements] == sorted(order(once))
        for it in once.placements:
            assert it.result is candidates[it.before - 1].result
            still = it.before == it.by_kind == it.after
            assert (it.why == "kept its place") is still
        again = arrange([Candidate(it.result) for it in once.placements], question, TODAY)
        assert [it.result for it in again.placements] == [it.result for it in once.placements]


def test_undated_sources_keep_their_rank_where_dates_are_compared():
    candidates = [
        candidate(1, "website", ["2025-11-13"]),
        candidate(2, "website"),
        candidate(3, "website", ["2025-11-13", "2026-12-03"]),
        candidate(4, "pdf", ["2024-01-01"]),
        candidate(5, "pdf", ["2027-01-01"]),
    ]
    assert order(arrange(candidates, DATED, TODAY)) == [3, 2, 1, 5, 4]
    assert order(arrange(candidates, UNDATED, TODAY)) == [1, 2, 3, 4, 5]


def test_why_says_what_moved_a_source():
    candidates = [
        candidate(1, "pdf", ["2025-01-01"]),
        candidate(2),
        candidate(3, "website", ["2025-11-13"]),
        candidate(4, "website", ["2026-12-03"]),
    ]
    assert [(it.before, it.why) for it in arrange(candidates, DATED, TODAY).placements] == [
        (4, "a website goes before PDFs; 2026-12-03 is upcoming"),
        (2, "kept its place"),
        (3, "a website goes before PDFs; nothing later than 2025-11-13"),
        (1, "a PDF goes after websites"),
    ]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://school.example/staff", "website"),
        ("HTTP://SCHOOL.EXAMPLE", "website"),
        ("https://school.net/a/b.html?x=1.pdf#y.pdf", "website"),
        ("https://school.com/handbook.pdf", "pdf"),
        ("https://school.com/Handbook.PDF?download=1#page=3", "pdf"),
        ("https://school.com/handbook%2Epdf", "pdf"),
        ("https://school.com/handbook.pdf;v=2", "pdf"),
        ("https://school.com/pdf", "website"),
        ("ftp://school.com/staff", "other"),
        ("s3://bucket/staff.html", "other"),
        ("s3://bucket/staff.pdf", "pdf"),
        ("https://", "other"),
        ("http://[", "other"),
        ("staff.html", "other"),
        ("", "other"),
    ],
)
def test_an_address_says_what_a_source_is(url, kind):
    assert source_kind(candidate(1, source_url=url)) == kind


@pytest.mark.parametrize(
    ("name", "uri", "metadata", "kind"),
    [
        ("a.pdf", "", {}, "pdf"),
        ("a.PDF", "", {"source_url": "https://school.example/a"}, "pdf"),
        ("a.txt", "s3://bucket/docs/a.pdf", {}, "pdf"),
        ("a.md", "", {"document_type": "pdf", "source_url": "https://school.example/a"}, "pdf"),
        ("a.md", "", {"document_type": "web"}, "other"),
        ("a.html", "s3://bucket/a.html", {"source_url": "https://school.example/a"}, "website"),
        ("runbooks/pdf.md", "s3://bucket/runbooks/pdf.md", {}, "other"),
    ],
)
def test_so_do_a_file_an_object_and_a_document_type(name, uri, metadata, kind):
    result = RetrievalResult("text", Citation(name, 1, 1, ""), None, metadata)
    assert source_kind(Candidate(result, uri)) == kind


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        ([], Timing.UNDATED),
        (["2026-11-20"], Timing.PAST),
        (["2026-11-21"], Timing.FUTURE),
        (["2020-01-01", "2026-11-22"], Timing.FUTURE),
    ],
)
def test_today_is_not_yet_past(dates, expected):
    assert timing(candidate(1, dates=dates).result, TODAY) is expected


class TestPastNotice:
    def notice(self, question, *dates):
        candidates = [candidate(n, "website", days) for n, days in enumerate(dates, start=1)]
        arrangement = arrange(candidates, question, TODAY)
        return past_notice(arrangement, [it.result for it in candidates])

    def test_past_dates_alone_are_told_with_the_latest(self):
        assert self.notice(DATED, ["2025-11-13"], [], ["2024-11-14"]) == (
            "Every date in these passages is past, the latest is 2025-11-13: "
            "what they say may be outdated."
        )

    @pytest.mark.parametrize(
        ("question", "dates"),
        [
            (UNDATED, [["2025-11-13"]]),
            (DATED, [["2025-11-13"], ["2026-11-21"]]),
            (DATED, [[]]),
            (DATED, []),
        ],
        ids=["not asked for", "one to come", "none", "nothing found"],
    )
    def test_there_is_nothing_to_tell(self, question, dates):
        assert self.notice(question, *dates) is None


def test_a_day_is_past_only_when_it_is_over_everywhere():
    assert present_day() == (datetime.now(UTC) - timedelta(hours=12)).date()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("service=north", "JSON"),
        ("[" * 100_000, "JSON"),
        ("{}", "one operator"),
        ('{"orAll": [{"equals": {"key": "a", "value": 1}}]}', "at least 2 filters"),
    ],
)
def test_a_scope_that_is_no_filter_is_refused_with_the_reason(text, problem):
    assert read_scope('{"equals": {"key": "service", "value": "north"}}')
    with pytest.raises(ValueError, match=problem):
        read_scope(text)


ASKING = """
When is the next board meeting?
when are parent-teacher conferences
When does school start?
When will the v1 API be switched off?
when's the concert
parent-teacher conferences: when?
Tell me when the office is open
What time does the office open on Monday?
What date is graduation?
dates of the exams
What is the enrollment deadline?
bus schedule
What is scheduled for the weekend of December 5?
upcoming events
events in December
concert in March
what happens in may 2027
anything on 5 Dec?
2027 calendar
holidays 2026
closed on 2026-12-05?
next certificate rotation
Is there school tomorrow?
early dismissal this friday
how soon can I renew
When was the last audit, and when is the next one?
maintenance in November 2026
"""

NOT_ASKING = """
Who are the Executive Directors?
how do we fail over the orders database?
what to do when replica lag grows
The alert fires when memory is high
What is the next step after failover?
what should I do next
pod can't be scheduled
fail to schedule pods
job not scheduled
bring the replica up to date
out of date packages
date format in the log
updated dependencies break the build
the service may fail
the service may not start
we march on
RDS error 2013 lost connection
port 2024 refused
disk fills up after 2000 requests
CVE-2024-1234
INC-2024-001
When did the outage happen?
when was the last failover
What happened in January 2024?
reporting portal down after the rotation of February 2026
what was decided on 2026-03-05
postmortem of last week
What broke two days ago?
not authorized since this morning
"""


@pytest.mark.parametrize("question", ASKING.strip().splitlines())
def test_it_asks_for_a_date(question):
    assert asks_for_a_date(question, TODAY)
    assert asks_for_a_date(question.upper(), TODAY)


@pytest.mark.parametrize("question", NOT_ASKING.strip().splitlines())
def test_it_asks_for_something_else(question):
    assert not asks_for_a_date(question, TODAY)


def test_a_year_is_asked_for_until_it_is_over():
    assert asks_for_a_date("events in 2026", date(2026, 12, 31))
    assert not asks_for_a_date("events in 2026", date(2027, 1, 1))


def test_a_pasted_log_full_of_dates_asks_nothing():
    log = "INFO all is well\n" * (MAX_QUESTION_CHARACTERS // 10)
    assert not asks_for_a_date(f"{log}when is the next rotation?", TODAY)


@given(st.text(max_size=200))
def test_any_text_is_judged_and_white_space_changes_nothing(text):
    assert asks_for_a_date(text, TODAY) is asks_for_a_date(f" \n{text}\t ", TODAY)


SCOPE = {"equals": {"key": "service", "value": "north"}}


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


def test_what_is_below_the_floor_is_no_evidence_whatever_its_kind():
    service = Service([pdf(1, score=0.9), website(2, score=0.1)])
    assert lines(ask(service, evidence_floor=0.5)) == [1]
    nothing = ask(Service([website(1, score=0.1)]), evidence_floor=0.5)
    assert nothing.outcome.status is Status.NO_MATCH


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
