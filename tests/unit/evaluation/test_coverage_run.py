"""Checking alerts through the real function: found, not found, and not to be found out."""

from __future__ import annotations

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.evaluation.coverage_alerts import Alert, prometheus_incident
from knowledge_rag.evaluation.coverage_report import summarise
from knowledge_rag.evaluation.coverage_run import check_all
from knowledge_rag.evaluation.coverage_runbooks import Gap, Runbooks
from knowledge_rag.evaluation.coverage_yaml import Place
from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import Budget
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


FAILOVER = alert("RdsFailover", "Promote the replica with aws rds failover-db-cluster")
SECTION = alert("WriterGone", "The writer is gone and connections are refused", f"{RDS}#diagnosis")
NONE = alert("Unheard", "Raise the reserved concurrency")


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
            (FAILOVER, SECTION, NONE),
            runbooks,
            retrieval,
            progress=lambda *now: seen.append(now),
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
    report = summarise((failover, section, none), ["rules.yaml"], top=5)
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
    assert len(way.asked) == 4
    report = summarise([checked], ["rules.yaml"], top=5, threshold=0)
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
    assert (checked.gap, checked.reason, len(checked.queries)) == (Gap.NOT_FOUND, None, 3)
    assert checked.message == (f"alert RdsFailover does not find {RDS}; nothing at all was found")


def test_lines_of_another_section_are_not_the_runbook(runbooks):
    way = Scripted(ok(found(RDS, 12, 14)), default=ok(found(RDS, 1, 7)))
    (checked,) = check_all([SECTION], runbooks, way)
    assert checked.gap is Gap.NOT_FOUND
    assert checked.message == (
        f"alert WriterGone does not find {RDS}, lines 8-11; found instead: "
        f"{RDS} lines 12-14, {RDS} lines 1-7"
    )


def test_only_as_many_results_are_asked_for_as_count(runbooks):
    way = Scripted()
    check_all([FAILOVER], runbooks, way, top=2)
    assert {query.max_results for query in way.asked} == {2}


def test_what_alerts_have_in_common_is_asked_once(runbooks):
    way = Scripted()
    twins = [FAILOVER, alert(FAILOVER.name, FAILOVER.incident.title, line=9)]
    first, second = check_all(twins, runbooks, way)
    assert len(way.asked) == len(first.queries) == 3
    assert first.queries == second.queries
