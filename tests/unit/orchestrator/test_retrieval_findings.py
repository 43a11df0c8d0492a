"""What was found for an incident, over all its queries."""

import pytest

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from tests.unit.guardrails.evidence import result

FOUND = RetrievalOutcome(Status.OK, (result("a.md", 1, "one"), result("b.md", 3, "x\ny")))
AGAIN = RetrievalOutcome(Status.OK, (result("b.md", 3, "x\ny"), result("c.md", 1, "z")))
NOTHING = RetrievalOutcome(Status.NO_MATCH)
TIMEOUT = degraded(Reason.TIMEOUT, notice="Slow today.")


def findings(*outcomes):
    return Findings(tuple(Asked(Query(f"q{n}"), it) for n, it in enumerate(outcomes)))


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((), Status.NO_MATCH),
        ((NOTHING, NOTHING), Status.NO_MATCH),
        ((NOTHING, TIMEOUT), Status.DEGRADED),
        ((TIMEOUT, FOUND), Status.OK),
    ],
)
def test_one_answer_makes_a_finding_and_one_failure_makes_nothing_found_unknown(outcomes, status):
    assert findings(*outcomes).status is status


def test_results_are_numbered_over_all_queries_each_once():
    found = findings(FOUND, AGAIN)
    assert [entry.citation.source_file for entry in found.ledger.entries] == [
        "a.md",
        "b.md",
        "c.md",
    ]
    assert found.result(3).citation.source_file == "c.md"


@pytest.mark.parametrize("number", [0, 3, -1])
def test_there_is_no_result_beyond_the_ledger(number):
    with pytest.raises(IndexError, match="of 2"):
        findings(FOUND).result(number)


def test_failures_and_notices_are_told_once_each():
    found = findings(TIMEOUT, FOUND, TIMEOUT, degraded(Reason.THROTTLED))
    assert found.failures == (Reason.TIMEOUT, Reason.THROTTLED)
    assert found.notices == ("Slow today.",)
