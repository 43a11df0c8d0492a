"""The retrieval function, invoked over Lambda's API on loopback."""

from __future__ import annotations

import json
from contextlib import closing
from urllib.parse import unquote

import pytest

from knowledge_rag.core.errors import InvalidSettings, RequestRefused, RetrievalFailed
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.evaluation.faults.server import REQUEST_ID, answering, http, serving
from knowledge_rag.orchestrator.backends.aws import RetrievalFunction
from knowledge_rag.orchestrator.retrieval import on_behalf_of
from tests.support.evidence import passage

NOTHING = http({"results": [], "status": "no_match"})
FAILED = ("X-Amz-Function-Error: Unhandled",)


@pytest.fixture
def ask(aws_environment):
    """Ask a function that answers so; gives the outcome and the request that it got."""

    def asking(answer, query=None, name="retrieve", **options):
        with serving(answering(answer)) as server:
            aws_environment.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
            with closing(RetrievalFunction(name, "eu-west-1", **options)) as function:
                outcome = function.ask(query or Query("q"), Deadline.after(30))
            head, body = server.requests[0]
            return outcome, unquote(head.decode()), json.loads(body)

    return asking


def test_the_arguments_are_flat_and_typed(ask):
    query = Query("why?", 50, {"service": "rds", "document_type": "runbook"})
    outcome, head, body = ask(NOTHING, query)
    assert outcome.status is Status.NO_MATCH
    assert body == {
        "query": "why?",
        "max_results": 50,
        "service": "rds",
        "document_type": "runbook",
    }
    assert head.startswith("POST /2015-03-31/functions/retrieve/invocations HTTP/1.1")
    assert "/eu-west-1/lambda/aws4_request" in head


def test_what_the_query_is_for_travels_beside_the_arguments(ask):
    with on_behalf_of(incident_id="INC-7", session_id="s-1"):
        _, _, body = ask(NOTHING)
    assert body == {
        "query": "q",
        "max_results": 5,
        "incident_id": "INC-7",
        "session_id": "s-1",
    }


def test_more_results_than_were_asked_for_are_cut(ask):
    results = [passage(f"{name}.md").to_dict() for name in "abc"]
    outcome, _, _ = ask(http({"status": "ok", "results": results}), Query("q", 2))
    assert [result.citation.source_file for result in outcome.results] == ["a.md", "b.md"]


@pytest.mark.parametrize(
    ("payload", "reason", "code"),
    [
        (
            {"errorType": "Sandbox.Timedout", "errorMessage": "secret"},
            Reason.TIMEOUT,
            "Sandbox.Timedout",
        ),
        ({"errorType": "Runtime.OutOfMemory"}, Reason.UNAVAILABLE, "Runtime.OutOfMemory"),
        ({"errorType": "x" * 500}, Reason.UNAVAILABLE, "x" * 64),
        ({"errorType": ["x"]}, Reason.UNAVAILABLE, "FunctionError"),
        ([], Reason.UNAVAILABLE, "FunctionError"),
        (b"<html>", Reason.UNAVAILABLE, "FunctionError"),
        ({"results": [], "status": "no_match"}, Reason.UNAVAILABLE, "FunctionError"),
    ],
)
def test_a_function_that_failed_gives_no_answer_whatever_it_says(ask, payload, reason, code):
    with pytest.raises(RetrievalFailed) as raised:
        ask(http(payload, headers=FAILED))
    failure = raised.value
    assert (failure.reason, failure.code, failure.request_id) == (reason, code, REQUEST_ID)
    assert "secret" not in str(failure)


def test_a_refused_request_is_no_outage(ask):
    with pytest.raises(RequestRefused, match="query is blank"):
        ask(http({"error": "query is blank"}))


@pytest.mark.parametrize("name", ["", "two words", "a/b", "x" * 171, "caf\u00e9"])
def test_a_name_that_no_function_has_is_refused(name):
    with pytest.raises(InvalidSettings, match="neither a name nor an ARN"):
        RetrievalFunction(name, "eu-west-1")


def test_a_way_that_was_never_gone_can_be_closed():
    RetrievalFunction("retrieve", "eu-west-1").close()


@pytest.mark.usefixtures("aws_environment")
def test_making_ready_sends_nothing(monkeypatch):
    with serving(answering(NOTHING)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        with closing(RetrievalFunction("retrieve", "eu-west-1")) as function:
            function.prepare(Deadline.after(30))
        assert server.connections == 0
