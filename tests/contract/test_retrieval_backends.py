"""Every way to the knowledge base keeps the orchestrator's one contract, healthy or not."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import closing

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query, is_whole_document
from knowledge_rag.evaluation.faults.server import (
    dripping,
    http,
    resetting,
    sending,
    serving,
    silent,
)
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.retrieval import gather
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, minilm
from tests.support.patience import longer
from tests.support.retrieval_endpoints import WAYS, endpoint

AMPLE = Budget(30)
"""A busy machine is no failure."""

TEXTS = RUNBOOKS | {
    "runbooks/odd.md": "# Odd lines\r\n\r\nThe \u2028 quokka \u0085 alarm: caf\u00e9 \U0001f98a.\x0b\r\n"
}
FAILOVER = Query("How to handle RDS failover?")
EGGS = Query("how long do I boil eggs")


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    with knowledge_base_of(TEXTS, tmp_path_factory.mktemp("backends"), minilm()) as opened:
        yield opened


@pytest.fixture(scope="module")
def bedrock(opened):
    with LocalBedrock(opened) as running:
        yield running


@pytest.fixture(scope="module", params=WAYS)
def served(request, bedrock):
    """The endpoint of one way, and one way to it that all tests go, whatever went before."""
    with endpoint(request.param, bedrock) as made, closing(made.make()) as way:
        yield made, way


@pytest.fixture
def switch(served):
    yield served[0].switch
    served[0].switch.reset()


@pytest.fixture
def way(served):
    return served[1]


def ask(way, *queries, budget=AMPLE, **limits):
    """Ask over a way, which stays open; one outcome a query."""
    retrieval = BoundedRetrieval(Shared(way), budget)
    with closing(retrieval):
        return asyncio.run(gather(queries, retrieval, **limits))


class Shared:
    """A way that is not closed with one of its users."""

    def __init__(self, way):
        self.name, self.ask = way.name, way.ask

    def close(self): ...


def assert_exact(outcome):
    assert outcome.status is Status.OK
    for result in outcome.results:
        citation = result.citation
        lines = TEXTS[citation.source_file].split("\n")[citation.start_line - 1 : citation.end_line]
        assert result.content == "\n".join(lines)


def assert_healthy(way):
    (outcome,) = ask(way, FAILOVER)
    assert_exact(outcome)
    assert "runbooks/rds-failover.md" in {r.citation.source_file for r in outcome.results}


# healthy


@pytest.mark.parametrize(
    ("query", "source_file"),
    [(FAILOVER, "runbooks/rds-failover.md"), (Query("quokka alarm caf\u00e9"), "runbooks/odd.md")],
)
def test_what_is_found_is_the_files_own_lines(way, query, source_file):
    (outcome,) = ask(way, query)
    assert_exact(outcome)
    best = outcome.results[0]
    assert best.citation.source_file == source_file
    assert best.metadata["title"]
    assert isinstance(best.relevance_score, float)
    assert not outcome.dropped.keys() - {"below_floor", "over_limit"}


def test_nothing_documented_is_no_match(way):
    (outcome,) = ask(way, EGGS)
    assert (outcome.status, outcome.results, outcome.reason) == (Status.NO_MATCH, (), None)


def test_a_filter_finds_only_its_own(way):
    filters = {"document_type": "postmortem", "service": "rds"}
    (outcome,) = ask(way, Query("RDS failover", filters=filters))
    assert_exact(outcome)
    assert {result.metadata["incident_id"] for result in outcome.results} == {"INC-2024-001"}


def test_one_document_comes_whole_and_in_line_order_whatever_is_asked(way):
    path = "runbooks/rds-failover.md"
    query = Query(EGGS.text, 100, {"source_file": path})
    (outcome,) = ask(way, query, max_results=100)
    assert_exact(outcome)
    assert is_whole_document(query, outcome)
    starts = [result.citation.start_line for result in outcome.results]
    assert starts == sorted(starts)
    lines = TEXTS[path].split("\n")
    shown = {
        number
        for result in outcome.results
        for number in range(result.citation.start_line, result.citation.end_line + 1)
    }
    behind = lines.index("---", 1) + 1
    assert {n for n, line in enumerate(lines, 1) if line.strip() and n > behind} <= shown
    assert {result.citation.source_file for result in outcome.results} == {path}


def test_a_part_of_one_document_is_told_apart_from_the_whole(way):
    query = Query("failover", 1, {"source_file": "runbooks/rds-failover.md"})
    (outcome,) = ask(way, query)
    assert len(outcome.results) == 1
    assert not is_whole_document(query, outcome)


@pytest.mark.parametrize("wanted", [1, 100])
def test_never_more_comes_back_than_was_asked_for(way, wanted):
    (outcome,) = ask(way, Query("RDS failover", wanted), max_results=100)
    assert_exact(outcome)
    assert 1 <= len(outcome.results) <= wanted


def test_three_queries_are_asked_at_once_and_answered_in_order(served, way, switch):
    assert_healthy(way)  # what prepares for the first question is behind
    if served[0].meets:
        switch.meeting, switch.only = threading.Barrier(3), served[0].question
    first, second, third = ask(way, FAILOVER, EGGS, Query("quokka alarm"))
    assert first.results[0].citation.source_file == "runbooks/rds-failover.md"
    assert second.status is Status.NO_MATCH
    assert third.results[0].citation.source_file == "runbooks/odd.md"


def test_one_failing_query_does_not_cost_the_others_theirs(way, switch):
    assert_healthy(way)
    switch.fault, switch.only = http({}, "503 Service Unavailable"), b"boil eggs"
    first, second, third = ask(way, FAILOVER, EGGS, FAILOVER)
    assert_exact(first)
    assert (second.status, second.reason) == (Status.DEGRADED, Reason.UNAVAILABLE)
    assert first == third


def test_lines_that_were_altered_on_their_way_are_no_evidence(way, switch):
    altered = b"Promote", b"Destroy"
    switch.tamper = lambda data: data.replace(*altered)
    (outcome,) = ask(way, Query("promote the replica with aws rds failover-db-cluster", 1))
    if outcome.status is Status.OK:
        assert_exact(outcome)
        assert "Promote" not in "".join(result.content for result in outcome.results)
    else:
        assert outcome.reason is Reason.UNVERIFIABLE_RESULTS
    assert_untouched(switch, way)


def assert_untouched(switch, way):
    switch.reset()
    assert_healthy(way)


def test_a_local_block_asks_for_itself_and_leaves_the_environment_as_it_was(opened):
    before = dict(os.environ)
    with local_retrieval(opened, budget=AMPLE) as retrieval:
        asyncio.run(retrieval.prepare())
        found, nothing = asyncio.run(gather([FAILOVER, EGGS], retrieval))
    assert_exact(found)
    assert nothing.status is Status.NO_MATCH
    assert dict(os.environ) == before


# faults

# An event stream differs from JSON in its framing alone, which what is healthy shows.
each_way = pytest.mark.parametrize("served", [w for w in WAYS if "stream" not in w], indirect=True)

BIG = 5 * 2**20
FAULTS = {
    "500": (http({}, "500 Internal Server Error"), Reason.UNAVAILABLE),
    "503 in HTML": (
        http("<html>busy</html>", "503 Service Unavailable", content_type="text/html"),
        Reason.UNAVAILABLE,
    ),
    "throttled": (
        http({"__type": "ThrottlingException"}, "429 Too Many Requests"),
        Reason.THROTTLED,
    ),
    "access denied": (
        http({"__type": "AccessDeniedException", "message": "no"}, "403 Forbidden"),
        Reason.ACCESS_DENIED,
    ),
    "no such thing": (
        http({"__type": "ResourceNotFoundException"}, "404 Not Found"),
        Reason.CONFIGURATION,
    ),
    "our mistake": (
        http({"__type": "ValidationException"}, "400 Bad Request"),
        Reason.CONFIGURATION,
    ),
    "truncated JSON": (http('{"status": "ok", "results": [{"con'), Reason.MALFORMED_RESPONSE),
    "cut short": (sending(http(b"{}", length=500)), Reason.MALFORMED_RESPONSE),
    "empty": (http(b""), Reason.MALFORMED_RESPONSE),
    "empty object": (http({}), Reason.MALFORMED_RESPONSE),
    "list": (http([1]), Reason.MALFORMED_RESPONSE),
    "nested too deeply": (http(b"[" * 200_000), Reason.MALFORMED_RESPONSE),
    "not UTF-8": (http(b'{"status": "\xff"}'), Reason.MALFORMED_RESPONSE),
    "HTML": (http("<html>hotel</html>", content_type="text/html"), Reason.MALFORMED_RESPONSE),
    "too much": (http(b" " * BIG), Reason.MALFORMED_RESPONSE),
    "too much announced": (sending(http(b"", length=10**12)), Reason.MALFORMED_RESPONSE),
    "reset": (resetting, Reason.UNAVAILABLE),
    "no HTTP": (sending(b"SSH-2.0-OpenSSH_9.2\r\n"), Reason.UNAVAILABLE),
}


@each_way
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_degraded_with_its_reason_and_the_next_call_is_healthy(way, switch, name):
    switch.fault, reason = FAULTS[name]
    (outcome,) = ask(way, FAILOVER)
    assert (outcome.status, outcome.reason, outcome.results) == (Status.DEGRADED, reason, ())
    assert_untouched(switch, way)


@each_way
@pytest.mark.parametrize("name", ["500", "access denied", "empty object", "reset"])
def test_a_fault_before_the_first_answer_leaves_nothing_behind(served, switch, name):
    with closing(served[0].make()) as way:
        switch.fault, reason = FAULTS[name]
        (outcome,) = ask(way, FAILOVER)
        assert (outcome.status, outcome.reason) == (Status.DEGRADED, reason)
        assert_untouched(switch, way)


@pytest.mark.parametrize(
    "fault",
    [silent, dripping(http({"results": [], "status": "no_match"}), at_once=150, seconds=0.05)],
)
def test_what_takes_longer_than_the_budget_is_a_timeout_and_the_next_call_is_healthy(
    way, switch, fault
):
    assert_healthy(way)
    switch.fault = fault
    for seconds in longer(0.5):  # the function's own deadline is longer
        (outcome,) = ask(way, FAILOVER, budget=Budget(seconds))
        assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.TIMEOUT)
        if switch.met.is_set():
            break
    assert switch.met.is_set()
    assert_untouched(switch, way)


def test_a_redirect_is_not_followed(way, switch):
    with serving(sending(http({}))) as elsewhere:
        location = f"Location: {elsewhere.url}/"
        switch.fault = http({}, "307 Temporary Redirect", headers=(location,))
        (outcome,) = ask(way, FAILOVER)
        assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.CONFIGURATION)
        assert elsewhere.connections == 0
    assert_untouched(switch, way)


def test_a_server_that_is_down_is_unavailable(bedrock, served, request):
    name = request.node.callspec.params["served"]
    with endpoint(name, bedrock) as gone, closing(gone.make()) as way:
        gone.switch.close()
        (outcome,) = ask(way, FAILOVER)
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.UNAVAILABLE)
    assert_healthy(served[1])


def test_a_cancelled_query_ends_at_once_and_the_next_one_is_healthy(way, switch):
    switch.fault = silent

    async def cancelled(retrieval, seconds):
        asking = asyncio.create_task(retrieval.retrieve(FAILOVER))
        is_met = await asyncio.to_thread(switch.met.wait, seconds)
        if not is_met or asking.done():
            return False
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return True

    for seconds in longer(2.0):
        switch.met.clear()
        with closing(BoundedRetrieval(Shared(way), Budget(seconds))) as retrieval:
            if asyncio.run(cancelled(retrieval, seconds)):
                break
    else:
        pytest.fail("the query never met the fault")
    assert_untouched(switch, way)


def test_a_fault_is_logged_with_its_code_and_without_the_question_or_a_secret(way, switch, caplog):
    switch.fault = FAULTS["access denied"][0]
    ask(way, Query("why does checkout-service fail"))
    text = "\n".join(record.getMessage() for record in caplog.records)
    if way.name != "local":  # there the function itself has told
        assert f"backend={way.name} reason=access_denied code=" in text
    for secret in ("checkout-service", "testing", "token-of-the-issuer", "AWS4-HMAC", "Bearer"):
        assert secret not in text
        assert secret not in repr(way)
