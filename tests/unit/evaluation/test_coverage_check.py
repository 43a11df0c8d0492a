"""Checking alerts through the real function: found, not found, and not to be found out."""

from __future__ import annotations

import asyncio

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.evaluation.coverage_check import Steps, check_all, summarise
from knowledge_rag.evaluation.coverage_rules import Alert, RuleFiles, prometheus_incident
from knowledge_rag.evaluation.coverage_runbooks import Gap, Runbooks
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
from knowledge_rag.extract.yaml_nodes import Place
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.local import RUNBOOKS, WordHashes, write_files
from tests.support.patience import PATIENT_SECONDS, patient_function

RDS = "runbooks/rds-failover.md"
DEGRADED = RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT)
NOTHING = RetrievalOutcome(Status.NO_MATCH)


def alert(name, summary, *links, line=1):
    incident = prometheus_incident(name, {}, {"summary": summary})
    return Alert(name, "rules.yaml", Place(line, 1, line, 2), incident, links)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    return Documents.of(write_files(tmp_path_factory.mktemp("docs"), RUNBOOKS))


@pytest.fixture(scope="module")
def runbooks(documents):
    return Runbooks(documents)


FILES = RuleFiles((), ("rules.yaml",))
WITH_STEPS = Wanted(5)
FAILOVER = alert("RdsFailover", "Promote the replica with aws rds failover-db-cluster")
SECTION = alert("WriterGone", "The writer is gone and connections are refused", f"{RDS}#diagnosis")
NONE = alert("Unheard", "Raise the reserved concurrency")
QUERIES = len(build_queries(FAILOVER.incident))


def test_each_alert_asks_what_an_agent_would_and_has_to_find_its_own_lines(
    documents, runbooks, tmp_path
):
    seen = []
    with (
        patient_function(),
        ingested(documents, tmp_path, WordHashes()) as opened,
        local_retrieval(opened, budget=Budget(PATIENT_SECONDS)) as retrieval,
    ):
        failover, section, none = check_all(
            (FAILOVER, SECTION, NONE), runbooks, retrieval, progress=lambda *now: seen.append(now)
        )
    assert seen == [(n, 3, "asking") for n in range(3)]
    assert (failover.gap, failover.hit.citation.source_file) == (None, RDS)
    assert failover.hit.query == failover.queries[-1]
    assert (
        failover.queries
        == tuple(q.text for q in build_queries(FAILOVER.incident))[: len(failover.queries)]
    )
    assert section.hit.citation.start_line <= 10
    assert section.hit.citation.end_line >= 8
    assert (none.gap, none.queries) == (Gap.NO_RUNBOOK, ())
    report = summarise((failover, section, none), FILES, Wanted(5))
    assert (report.covered, report.passed) == (2, False)
    assert [each["covered"] for each in report.to_dict()["details"]] == [True, True, False]


class Scripted:
    """A way to the knowledge base that answers by turns, and by the first word that a query has."""

    def __init__(self, *outcomes, default=NOTHING):
        self.asked = []
        self._outcomes = list(outcomes)
        self._default = default

    async def retrieve(self, query):
        self.asked.append(query)
        return self._outcomes.pop(0) if self._outcomes else self._default


def found(source_file, start=1, end=2):
    return RetrievalResult("x\ny", Citation(source_file, start, end), 1.0)


def ok(*results):
    return RetrievalOutcome(Status.OK, results)


def test_a_search_that_fails_once_is_made_again_and_no_gap(runbooks):
    way = Scripted(DEGRADED, ok(found(RDS)))
    (checked,) = check_all([FAILOVER], runbooks, way)
    assert (checked.hit.rank, checked.reason, len(way.asked)) == (1, None, 2)


def test_where_a_search_fails_nobody_says_that_there_is_a_gap(runbooks):
    way = Scripted(ok(found("else.md")), DEGRADED, DEGRADED, NOTHING)
    (checked,) = check_all([FAILOVER], runbooks, way)
    assert (checked.gap, checked.reason, checked.hit) == (None, Reason.TIMEOUT, None)
    assert len(way.asked) == 5
    report = summarise([checked], FILES, Wanted(5, threshold=0))
    assert (report.passed, len(report.unknown)) == (False, 1)
    assert report.to_dict()["degraded"] == [
        {"alert": "RdsFailover", "file": "rules.yaml", "line": 1, "reason": "timeout"}
    ]


def test_what_another_query_finds_is_found_whatever_became_of_the_first(runbooks):
    way = Scripted(DEGRADED, DEGRADED, ok(found("else.md"), found(RDS)))
    (checked,) = check_all([FAILOVER], runbooks, way)
    assert (checked.hit.rank, checked.hit.query) == (2, way.asked[2].text)


def test_where_nothing_is_found_the_message_says_so(runbooks):
    (checked,) = check_all([FAILOVER], runbooks, Scripted())
    assert (checked.gap, checked.reason, len(checked.queries)) == (Gap.NOT_FOUND, None, QUERIES)
    assert checked.message == (f"alert RdsFailover does not find {RDS}; found nothing instead")


def test_lines_of_another_section_are_not_the_runbook(runbooks):
    way = Scripted(ok(found(RDS, 12, 14)), default=ok(found(RDS, 1, 7)))
    (checked,) = check_all([SECTION], runbooks, way)
    assert checked.gap is Gap.NOT_FOUND
    assert checked.message == (
        f"alert WriterGone does not find {RDS}, lines 8-11; found instead: "
        f"{RDS} lines 12-14, {RDS} lines 1-7"
    )


def test_only_the_first_results_count(runbooks):
    results = found("else.md"), found("else.md", 3, 4), found(RDS)
    for top, gap in ((2, Gap.NOT_FOUND), (3, None)):
        way = Scripted(default=ok(*results))
        (checked,) = check_all([FAILOVER], runbooks, way, Wanted(top, steps=StepsCheck.OFF))
        assert (checked.gap, checked.steps) == (gap, None)
        own = [query for query in way.asked if query.source_file is None]
        assert {query.max_results for query in own} == {5}  # what an agent asks for


def test_what_alerts_have_in_common_is_asked_once(runbooks):
    way = Scripted()
    twins = [FAILOVER, alert(FAILOVER.name, FAILOVER.incident.title, line=9)]
    first, second = check_all(twins, runbooks, way)
    assert len(way.asked) == len(first.queries) == QUERIES
    assert first.queries == second.queries


PAGE = "runbooks/queue.md"
PAGE_TEXT = "# Queue\n\n## Meaning\n\nMail waits.\n\n## QueueStuck\n\n1. Pause the senders.\n2. Start them again.\n"
MEANING, STUCK = (
    RetrievalResult(text, Citation(PAGE, start, end, header), score, {"title": "Queue"})
    for text, start, end, header, score in (
        ("## Meaning\n\nMail waits.", 3, 5, "Meaning", 0.9),
        ("## QueueStuck\n\n1. Pause the senders.\n2. Start them again.", 7, 10, "QueueStuck", None),
    )
)
STUCK_ALERT = alert("QueueStuck", "Mail waits in the queue", f"{PAGE}#queuestuck")


class Page:
    """Finds one passage of a page; the page as a whole if it is asked for."""

    def __init__(self, whole, *before):
        self._whole, self._found = whole, ok(*before, MEANING)

    async def retrieve(self, query):
        if query.source_file is None:
            return self._found
        return self._whole if query.source_file == PAGE else NOTHING


@pytest.fixture
def page(tmp_path):
    return Runbooks(Documents.of(write_files(tmp_path / "docs", {PAGE: PAGE_TEXT})))


def test_lines_of_a_page_that_is_completed_are_found_if_a_procedure_has_them(page):
    (checked,) = check_all([STUCK_ALERT], page, Page(ok(MEANING, STUCK)))
    assert (checked.gap, checked.hit.rank, checked.hit.citation) == (None, 1, STUCK.citation)
    assert checked.hit.query == checked.queries[0]
    other = alert("Unheard", "Mail waits in the queue", f"{PAGE}#queuestuck")
    (checked,) = check_all([other], page, Page(ok(MEANING, STUCK)))
    assert (checked.gap, checked.hit) == (Gap.NOT_FOUND, None)


def test_a_page_counts_only_if_it_is_among_the_first_results(page):
    way = Page(ok(MEANING, STUCK), found("else.md"))
    for top, gap in ((1, Gap.NOT_FOUND), (2, None)):
        wanted = Wanted(top, steps=StepsCheck.OFF)
        assert check_all([STUCK_ALERT], page, way, wanted)[0].gap is gap


def test_where_a_page_can_not_be_completed_nobody_says_that_there_is_a_gap(page):
    (checked,) = check_all([STUCK_ALERT], page, Page(DEGRADED))
    assert (checked.gap, checked.reason) == (None, Reason.TIMEOUT)


PROSE = "runbooks/queue-age.md"
PROSE_TEXT = (
    "# Queue age\n\n## Meaning\n\nThe age of the oldest message is how long nobody has taken it.\n"
)
QUEUE = alert("QueueAge", "The oldest message is how long nobody has taken it", PROSE)


def consulted(incident, way):
    return asyncio.run(consult(incident, way)).recommendation


def test_whether_there_are_steps_is_what_an_agent_would_be_told(tmp_path):
    docs = Documents.of(write_files(tmp_path / "docs", {**RUNBOOKS, PROSE: PROSE_TEXT}))
    with (
        patient_function(),
        ingested(docs, tmp_path, WordHashes()) as opened,
        local_retrieval(opened, budget=Budget(PATIENT_SECONDS)) as way,
    ):
        failover, queue = check_all([FAILOVER, QUEUE], Runbooks(docs), way, WITH_STEPS)
        advised = [consulted(each.incident, way) for each in (FAILOVER, QUEUE)]
    assert failover.steps.own == len(advised[0].guidance) > 0
    assert (failover.finding, failover.message) == (None, "")
    assert (queue.hit.citation.source_file, queue.gap) == (PROSE, None)
    assert queue.steps == Steps(0)
    assert [advised[1].guidance, queue.finding] == [(), Gap.NO_STEPS]
    assert queue.message == (
        f"alert QueueAge finds {PROSE}, but no step in it; `knowledge-rag ask` gives none at all"
    )


TITLE = RetrievalResult("# RDS\n", Citation(RDS, 1, 2), 1.0)
STEP = RetrievalResult(
    "## Resolution\n\n1. Promote the replica.\n2. Check the replica.",
    Citation("runbooks/other.md", 1, 4, "Resolution"),
    1.0,
    {
        "title": "RDS failover",
        "document_type": "runbook",
        "section_path": "RDS failover > Resolution",
    },
)


def test_steps_of_another_document_are_not_the_runbook_s(runbooks):
    way = Scripted(default=ok(STEP, TITLE))
    (checked,) = check_all([FAILOVER], runbooks, way, WITH_STEPS)
    assert consulted(FAILOVER.incident, way).guidance
    assert (checked.steps.own, checked.finding, checked.covered) == (0, Gap.NO_STEPS, True)
    assert {citation.source_file for citation in checked.steps.elsewhere} == {"runbooks/other.md"}
    assert "gives those of runbooks/other.md line" in checked.message


def test_where_a_search_for_steps_fails_nobody_says_that_there_are_none(runbooks):
    way = Scripted(ok(TITLE), default=DEGRADED)
    (checked,) = check_all([FAILOVER], runbooks, way, WITH_STEPS)
    assert (checked.covered, checked.finding, checked.message) == (True, None, "")
    assert checked.steps_unknown is Reason.TIMEOUT
    strict = checked.needing_steps()
    assert (strict.covered, strict.gap, strict.reason) == (False, None, Reason.TIMEOUT)


def test_what_has_no_runbook_or_does_not_find_it_is_not_asked_for_steps(runbooks):
    way = Scripted()
    lost, none = check_all([FAILOVER, NONE], runbooks, way, WITH_STEPS)
    assert (lost.gap, lost.steps, none.gap, none.steps) == (
        Gap.NOT_FOUND, None, Gap.NO_RUNBOOK, None,
    )  # fmt: skip
    assert len(way.asked) == QUERIES
