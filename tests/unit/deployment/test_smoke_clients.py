"""The ways to ask a deployment, each against a server on loopback."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.smoke.clients import (
    GIVE_UP_AFTER,
    AgentClient,
    BadAnswer,
    FunctionClient,
    GatewayClient,
    HarnessClient,
    ask_all,
)
from knowledge_rag.deployment.smoke.questions import Question
from tests.support.event_stream import (
    chunk,
    failure,
    harness_text,
    harness_tool_result,
    stream,
    tool_output,
)
from tests.support.evidence import passage
from tests.support.mcp_gateway import TOKEN, McpGateway
from tests.support.played_aws import DENIED, Fault, Raw

RESULT = passage("a.md", "Promote the replica.\n").to_dict()
FOUND = {"status": "ok", "results": [RESULT]}
NOTHING = {"status": "no_match", "results": []}
DEGRADED = {"status": "degraded", "reason": "timeout", "results": []}


def asked(client, *queries):
    return ask_all(client, [Question(each, each) for each in queries or ("q",)], lambda: None)


# the function


@pytest.fixture
def function(account, aws):
    """A function that answers so."""

    def answers(answer):
        account.played.play("lambda", "Invoke", answer if callable(answer) else lambda *_: answer)
        return FunctionClient(aws(), "arn:aws:lambda:us-east-1:123456789012:function:f:live")

    return answers


def test_the_functions_answer_is_read(function):
    (answer,) = asked(function(FOUND))
    assert answer.status is Status.OK
    assert str(answer.results[0].citation) == "[Source: a.md, lines 1-1]"
    assert answer.results[0].relevance_score == 0.5


def test_a_function_that_raised_is_broken(function):
    headers = (("X-Amz-Function-Error", "Unhandled"),)
    (answer,) = asked(function(Raw(b'{"errorMessage": "boom"}', "application/json", 200, headers)))
    assert answer.status is None
    assert "the function failed" in answer.failure
    assert "boom" in answer.failure
    assert not answer.passing


@pytest.mark.parametrize(
    "answer",
    [
        Raw(b"<html>", "text/html"),
        [],
        {"results": []},
        {"status": "fine", "results": []},
        {"status": "ok", "results": []},
        {"status": "no_match", "results": [RESULT]},
        {"status": "ok", "results": [RESULT | {"citation": {}}]},
        {"status": "ok", "results": [RESULT | {"content": None}]},
        {"status": "ok", "results": [RESULT | {"relevance_score": "high"}]},
        {"status": "ok", "results": None},
        {"status": "ok", "results": [RESULT | {"content": "Promote another."}]},
        {"error": "query is blank"},
    ],
)
def test_an_answer_that_the_schema_does_not_allow_is_broken(function, answer):
    (read,) = asked(function(answer))
    assert read.status is None
    assert read.failure
    assert not read.passing


@pytest.mark.parametrize(
    ("fault", "passing", "said"),
    [
        (Fault("TooManyRequestsException", status=429), True, "TooManyRequests"),
        (DENIED, False, "missing permission lambda:InvokeFunction"),
        (Fault("ResourceNotFoundException", status=404), False, "ResourceNotFound"),
    ],
)
def test_a_refused_invocation_is_told(function, fault, passing, said):
    (answer,) = asked(function(fault and (lambda *_: fault)))
    assert answer.status is None
    assert answer.passing is passing
    assert said in answer.failure


def test_a_way_that_fails_again_and_again_is_asked_nothing_more(function, account):
    answers = asked(function(lambda *_: DENIED), *"abcdef")
    assert len(answers) == GIVE_UP_AFTER
    assert account.played.calls.count("lambda:Invoke") == GIVE_UP_AFTER


def test_a_way_that_fails_now_and_then_is_asked_on(function):
    turns = iter([DENIED, FOUND, DENIED, NOTHING, DENIED])
    answers = asked(function(lambda *_: next(turns)), *"abcde")
    statuses = [answer.status for answer in answers]
    assert statuses == [None, Status.OK, None, Status.NO_MATCH, None]


# the agent


@pytest.fixture
def agent(account, aws):
    """An agent whose stream holds these events."""

    def says(*events):
        account.environment.update(account.played.endpoint("bedrock-agent-runtime"))
        account.played.play("bedrock-agent-runtime", "InvokeAgent", stream(*events))
        return AgentClient(aws(), "AGENT00001", "ALIAS00001")

    return says


def test_the_evidence_is_what_the_trace_says_and_not_what_the_model_wrote(agent):
    wrote = chunk("Do this. [Source: made-up.md, lines 1-2]")
    (answer,) = asked(agent(tool_output(FOUND), wrote))
    assert [each.citation.source_file for each in answer.results] == ["a.md"]


@pytest.mark.parametrize(
    ("bodies", "status"),
    [
        ([NOTHING, FOUND], Status.OK),
        ([DEGRADED, FOUND], Status.OK),
        ([NOTHING, DEGRADED], Status.DEGRADED),
        ([NOTHING, NOTHING], Status.NO_MATCH),
    ],
)
def test_several_queries_of_one_turn_are_one_answer(agent, bodies, status):
    (answer,) = asked(agent(*map(tool_output, bodies), chunk("Done.")))
    assert answer.status is status


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        ("throttlingException", Trouble.THROTTLED),
        ("accessDeniedException", Trouble.DENIED),
        ("dependencyFailedException", Trouble.REFUSED),
    ],
)
def test_an_error_event_keeps_its_kind(agent, kind, trouble):
    with pytest.raises(CallFailed) as raised:
        agent(failure(kind, "no")).ask("q")
    assert raised.value.trouble is trouble


# the harness

HARNESS = "arn:aws:bedrock-agentcore:us-east-1:123456789012:harness/knowledge_rag_dev-0123456789"


@pytest.fixture
def harness(account, aws):
    """A harness whose stream holds these events."""

    def says(*events):
        account.environment.update(account.played.endpoint("bedrock-agentcore"))
        account.played.play("bedrock-agentcore", "InvokeHarness", stream(*events))
        return HarnessClient(aws(), HARNESS)

    return says


def in_pieces(body):
    text = json.dumps(body)
    return harness_tool_result({"text": text[:20]}, {"text": text[20:]})


@pytest.mark.parametrize("told", [in_pieces(FOUND), harness_tool_result({"json": FOUND})])
def test_a_harness_s_evidence_is_what_its_tool_returned(harness, told):
    wrote = harness_text("Do this. [Source: made-up.md, lines 1-2]")
    (answer,) = asked(harness(told, wrote))
    assert [each.citation.source_file for each in answer.results] == ["a.md"]


def test_several_tool_results_of_a_harness_are_one_answer(harness):
    (answer,) = asked(harness(in_pieces(NOTHING), in_pieces(FOUND), harness_text("Done.")))
    assert answer.status is Status.OK


def test_an_error_within_a_harness_s_stream_is_told(harness):
    (answer,) = asked(harness(failure("runtimeClientError", "the model is not enabled")))
    assert answer.status is None
    assert "the model is not enabled" in answer.failure


@pytest.mark.parametrize(
    ("client", "events", "said"),
    [
        ("agent", [chunk("I just know.")], "without asking the knowledge base"),
        ("agent", [tool_output(FOUND)], "the agent's answer is empty"),
        ("agent", [chunk("x")[:-1] + b"?"], "the agent's stream is damaged"),
        ("agent", [tool_output({"error": "query is blank"}), chunk("x")], "was refused"),
        ("harness", [harness_text(json.dumps(FOUND))], "without asking the knowledge base"),
        ("harness", [in_pieces(FOUND)], "the harness's answer is empty"),
        ("harness", [harness_text("x")[:-1] + b"?"], "the harness's stream is damaged"),
        ("harness", [harness_tool_result({"text": "no JSON"}), harness_text("x")], "doesn't match"),
    ],
)
def test_who_does_not_do_its_part_is_broken(request, client, events, said):
    (answer,) = asked(request.getfixturevalue(client)(*events))
    assert answer.status is None
    assert said in answer.failure
    assert not answer.passing


# the gateway


@pytest.fixture
def gateway():
    made = McpGateway(lambda _: FOUND)
    yield made
    made.close()


@pytest.mark.parametrize("streams", [False, True])
def test_a_gateway_is_initialised_once_and_then_asked(gateway, aws, streams):
    gateway.streams = streams
    answers = asked(GatewayClient(aws(), gateway.url), "a", "b")
    assert [answer.status for answer in answers] == [Status.OK, Status.OK]
    assert gateway.methods == [
        "initialize", "notifications/initialized", "tools/list", "tools/call", "tools/call",
    ]  # fmt: skip


def test_a_signature_by_another_key_is_refused(gateway, aws, account):
    account.environment["AWS_SECRET_ACCESS_KEY"] = "another"
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert "HTTP 403" in answer.failure


def test_a_token_takes_the_signatures_place(gateway, aws):
    gateway.wants_token = True
    (answer,) = asked(GatewayClient(aws(), gateway.url, TOKEN))
    assert answer.status is Status.OK
    (refused,) = asked(GatewayClient(aws(), gateway.url, "wrong"))
    assert "does not accept the token" in refused.failure


def test_a_gateway_without_the_tool_is_broken(gateway, aws):
    gateway.tools = ["other___search"]
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert "no tool retrieve_knowledge" in answer.failure


def test_a_gateway_that_is_busy_may_answer_in_a_minute(gateway, aws):
    gateway.serve = lambda *_: (429, None)
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert answer.passing
    assert "HTTP 429: the gateway is busy" in answer.failure


def test_without_credentials_there_is_nothing_to_sign_with(gateway, aws, account):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        del account.environment[name]
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert "none to sign with" in answer.failure


def test_a_call_that_the_gateway_refuses_is_told_in_its_words(gateway, aws):
    gateway.results["tools/call"] = {"error": {"code": -32000, "message": "out of order"}}
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert answer.failure == "the gateway refuses a call: out of order"


def test_what_the_tool_refuses_is_told(gateway, aws):
    gateway.answer = lambda _: {"error": "query is blank"}
    (answer,) = asked(GatewayClient(aws(), gateway.url))
    assert "query is blank" in answer.failure


@pytest.mark.parametrize("url", ["http://gateway.example/mcp", "ftp://127.1/mcp", "gateway"])
def test_nothing_is_sent_without_encryption(aws, url):
    with pytest.raises(BadAnswer, match="must be https"):
        GatewayClient(aws(), url, TOKEN)
