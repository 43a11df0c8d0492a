"""How a model is asked: once with all evidence, again while that can help, and never without any."""

import asyncio
import json
from contextlib import closing

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.evaluation.faults.server import answering, http, resetting, serving, silent
from knowledge_rag.orchestrator.advisors.converse import (
    CUT_NOTE,
    MAX_ATTEMPTS,
    MAX_TOKENS,
    SEARCH_DONE,
    ConverseAdvisor,
    ConverseSettings,
    messages_of,
)
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from tests.support.advisors import INCIDENT, advise
from tests.unit.orchestrator.evidence import FINDINGS, findings_of

ENTRY = FINDINGS.ledger.entries[0]
SAID = {
    "citationsContent": {
        "content": [{"text": "1. Look at the writer of orders-db."}],
        "citations": [
            {"location": {"searchResultLocation": {"searchResultIndex": 0, "start": 2, "end": 3}}}
        ],
    }
}


def reply(*content, reason="end_turn"):
    message = {"role": "assistant", "content": list(content)}
    return http({"output": {"message": message}, "stopReason": reason})


def error(status, code):
    return http({"message": "secret"}, status, headers=(f"x-amzn-ErrorType: {code}",))


ANSWER = reply(SAID)
THROTTLED = error("429 Too Many Requests", "ThrottlingException")
FAILING = error("500 Internal Server Error", "InternalServerException")


@pytest.fixture
def asking(aws_environment):
    """Ask a server that plays a script a connection; gives each advice or failure, and the requests."""

    def ask(*scripts, times=1, seconds=30.0, jitter=lambda: 0.0, **more):
        settings = ConverseSettings("us.some.model-v1:0", "eu-west-1", seconds=seconds, **more)
        with serving(*scripts) as server:
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
            with closing(ConverseAdvisor(settings, "The prompt.", jitter=jitter)) as advisor:
                asyncio.run(advisor.prepare())  # is no part of the first one's time
                told = [advised(advisor) for _ in range(times)]
            return told, [(head.decode(), json.loads(body)) for head, body in server.requests]

    return ask


def advised(advisor):
    try:
        return asyncio.run(advisor.advise(INCIDENT, FINDINGS))
    except ModelFailed as failed:
        return failed


def test_the_request_holds_prompt_evidence_and_limits_and_no_tool(asking):
    (advice,), ((head, body),) = asking(answering(ANSWER))
    assert head.startswith("POST /model/us.some.model-v1%3A0/converse HTTP/1.1")
    assert "/eu-west-1/bedrock/aws4_request" in head
    assert body == {
        "system": [{"text": "The prompt."}, {"text": SEARCH_DONE}],
        "messages": messages_of(INCIDENT, FINDINGS),
        "inferenceConfig": {"maxTokens": 4096, "temperature": 0.0},
    }
    (step,) = recommend(INCIDENT, advice).guidance
    assert step.action == "Look at the writer of orders-db."
    assert step.citations[0].citation.start_line == ENTRY.citation.start_line + 2
    assert advice.advisor == "converse"


def test_a_model_that_takes_no_temperature_is_sent_none(asking):
    _, ((_, body),) = asking(answering(ANSWER), temperature=None, max_tokens=100)
    assert body["inferenceConfig"] == {"maxTokens": 100}


@pytest.mark.parametrize(
    "findings",
    [
        Findings(),
        findings_of(()),
        Findings((Asked(Query("why?"), degraded(Reason.TIMEOUT)),)),
    ],
)
def test_without_evidence_there_is_no_call(findings):
    advisor = ConverseAdvisor(ConverseSettings("m.odel", "eu-west-1"), "")
    recommendation = recommend(INCIDENT, advise(advisor, INCIDENT, findings))
    assert recommendation.status is findings.status is not Status.OK
    assert not recommendation.guidance


def test_an_answer_that_was_cut_says_so(asking):
    (advice,), _ = asking(answering(reply(SAID, {"text": "\n2. Delete th"}, reason="max_tokens")))
    recommendation = recommend(INCIDENT, advice)
    assert [step.action for step in recommendation.guidance] == ["Look at the writer of orders-db."]
    assert CUT_NOTE in [warned.message for warned in recommendation.warnings]


# trying again


def test_what_passes_is_tried_again(asking):
    unknown = http({}, "503 Service Unavailable")
    answers = (THROTTLED, FAILING, ANSWER, unknown, ANSWER)
    told, requests = asking(answering(*answers), times=2)
    assert [recommend(INCIDENT, advice).status for advice in told] == [Status.OK] * 2
    assert len(requests) == 5
    assert requests[0][1] == requests[4][1]


def test_what_does_not_pass_ends_after_the_last_attempt(asking):
    (failed,), requests = asking(answering(THROTTLED), attempts=4)
    assert failed.cause is Reason.THROTTLED
    assert failed.detail.startswith("ThrottlingException ")
    assert len(requests) == 4


def test_what_cannot_pass_is_not_tried_again(asking):
    answers = {
        error("403 Forbidden", "AccessDeniedException"): Reason.ACCESS_DENIED,
        error("400 Bad Request", "ValidationException"): Reason.CONFIGURATION,
        error("408 Request Timeout", "ModelTimeoutException"): Reason.TIMEOUT,
        http(b"<html>"): Reason.MALFORMED_RESPONSE,
        http(b"[]"): Reason.MALFORMED_RESPONSE,
        http(b"{}"): Reason.MALFORMED_RESPONSE,
        reply(reason="tool_use"): Reason.MALFORMED_RESPONSE,
    }
    told, requests = asking(answering(*answers), times=len(answers))
    assert [failed.cause for failed in told] == list(answers.values())
    assert len(requests) == len(answers)
    assert not any("secret" in failed.reason for failed in told)


def test_errors_that_only_models_have_are_told_apart(asking):
    for status, code in (
        ("424 Failed", "ModelErrorException"),
        ("429 Busy", "ModelNotReadyException"),
    ):
        (failed,), requests = asking(answering(error(status, code)))
        assert (failed.cause, len(requests)) == (Reason.UNAVAILABLE, 3)


def test_a_connection_that_breaks_is_tried_again(asking):
    (advice,), requests = asking(resetting, answering(ANSWER))
    assert recommend(INCIDENT, advice).status is Status.OK
    assert len(requests) == 2


def test_neither_silence_nor_a_body_without_end_outlasts_the_deadline(asking):
    endless = answering(http(b'{"output":', length=99))
    told, requests = asking(silent, endless, times=2, seconds=1.0)
    assert [failed.cause for failed in told] == [Reason.TIMEOUT] * 2
    assert len(requests) == 2


def test_a_wait_that_would_outlast_the_deadline_is_not_begun(asking):
    (failed,), requests = asking(answering(THROTTLED), first_wait=31.0, jitter=lambda: 1.0)
    assert failed.cause is Reason.THROTTLED
    assert len(requests) == 1


def test_waits_double_and_the_jitter_is_the_callers():
    shares = iter((1.0, 0.5, 0.0, 1.0))
    settings = ConverseSettings("m.odel", "eu-west-1", attempts=5, first_wait=0.5)
    with closing(ConverseAdvisor(settings, "", jitter=lambda: next(shares))) as advisor:
        assert list(advisor._waits()) == [0.5, 0.5, 0.0, 4.0]


def test_what_cannot_be_prepared_is_told_by_the_first_advice(aws_environment):
    aws_environment.setenv("AWS_CA_BUNDLE", "/nowhere/at.all")
    with closing(ConverseAdvisor(ConverseSettings("m.odel", "eu-west-1"), "")) as advisor:
        asyncio.run(advisor.prepare())
        assert advised(advisor).cause is Reason.CONFIGURATION


@pytest.mark.parametrize(
    "wrong",
    [
        {"model_id": ""},
        {"model_id": "a model"},
        {"max_tokens": 0},
        {"max_tokens": MAX_TOKENS + 1},
        {"temperature": 1.1},
        {"temperature": float("nan")},
        {"seconds": 0},
        {"attempts": 0},
        {"attempts": MAX_ATTEMPTS + 1},
        {"first_wait": -1.0},
        {"first_wait": float("inf")},
        {"first_wait": float("nan")},
    ],
)
def test_settings_that_no_model_takes_are_refused(wrong):
    with pytest.raises(InvalidSettings):
        ConverseSettings(**({"model_id": "m.odel", "region": "eu-west-1"} | wrong))
