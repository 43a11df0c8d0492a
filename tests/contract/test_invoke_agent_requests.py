"""Requests that the local server's agents refuse, as an unmodified boto3 is told of it."""

from __future__ import annotations

import pytest

from knowledge_rag.local.bedrock.validation import service_model
from tests.support import misbehaving_agents
from tests.support.invoke_agent import invoke
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, WordHashes
from tests.support.scripted import LocalBedrock

OPERATION = service_model().operation_model("InvokeAgent")
ERRORS = misbehaving_agents.stream_errors()
REFUSING = {f"REFUSES{n:03}": misbehaving_agents.refusing(code) for n, code in enumerate(ERRORS)}


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    with (
        knowledge_base_of(RUNBOOKS, tmp_path_factory.mktemp("agent"), WordHashes()) as opened,
        LocalBedrock(opened, agents={**misbehaving_agents.SCRIPTED, **REFUSING}) as running,
    ):
        yield running


INVALID = {
    "agent-pattern": ({"agentId": "bad-id"}, "Value 'bad-id' at 'agentId' failed to satisfy"),
    "agent-long": ({"agentId": "A" * 11}, "'agentId' failed to satisfy constraint: Member must"),
    "alias-pattern": ({"agentAliasId": "a b"}, "at 'agentAliasId' failed to satisfy constraint"),
    "session-short": ({"sessionId": "a%"}, "at 'sessionId' failed to satisfy constraint"),
    "session-long": ({"sessionId": "a" * 101}, "length less than or equal to 100"),
    "session-pattern": ({"sessionId": "a/b c"}, "regular expression pattern: ^[0-9a-zA-Z._:-]+$"),
    "text-absent": ({"inputText": ""}, "inputText must not be blank"),
    "text-blank": ({"inputText": " \n"}, "inputText must not be blank"),
    "text-long": ({"inputText": "x" * 25_000_001}, "length less than or equal to 25000000"),
    "memory": ({"memoryId": "memory"}, "this agent has no memory"),
    "memory-pattern": ({"memoryId": "m m"}, "at 'memoryId' failed to satisfy constraint"),
    "latency": (
        {"bedrockModelConfigurations": {"performanceConfig": {"latency": "quick"}}},
        "enum value set: [standard, optimized]",
    ),
    "interval": (
        {"streamingConfigurations": {"applyGuardrailInterval": 0}},
        "value greater than or equal to 1",
    ),
    "results": (
        {"sessionState": {"returnControlInvocationResults": [{}] * 6}},
        "length less than or equal to 5",
    ),
    "results-union": (
        {
            "sessionState": {
                "returnControlInvocationResults": [
                    {
                        "apiResult": {"actionGroup": "a"},
                        "functionResult": {"actionGroup": "a"},
                    }
                ]
            }
        },
        "returnControlInvocationResults.1.member' failed to satisfy constraint: Exactly one",
    ),
    "result-unknown": (
        {
            "sessionState": {
                "invocationId": "another",
                "returnControlInvocationResults": [{"apiResult": {"actionGroup": "a"}}],
            }
        },
        "invocationId doesn't match the returned control",
    ),
    "files": (
        {
            "sessionState": {
                "files": [
                    {
                        "name": "a",
                        "useCase": "CHAT",
                        "source": {"sourceType": "S3", "s3Location": {"uri": "s3://abc/a"}},
                    }
                ]
            }
        },
        "sessionState.files is not available locally",
    ),
    "attributes": ({"sessionState": {"sessionAttributes": {"a": 1}}}, "must be of type string"),
}


@pytest.mark.parametrize(("change", "message"), INVALID.values(), ids=INVALID)
def test_what_the_service_refuses_is_refused(unchecked, change, message):
    with pytest.raises(unchecked.exceptions.ValidationException) as failure:
        invoke(unchecked, **change)
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert message in failure.value.response["Error"]["Message"]


@pytest.mark.parametrize("names", [{"agentId": "NOSUCHONE0"}, {"agentAliasId": "NOSUCHONE0"}])
def test_another_agent_or_alias_does_not_exist(client, names):
    with pytest.raises(client.exceptions.ResourceNotFoundException) as failure:
        invoke(client, **names)
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_the_model_has_ten_errors():
    assert len(ERRORS) == 10
    assert set(ERRORS) == {shape.name for shape in OPERATION.error_shapes}


@pytest.mark.parametrize(("agent", "code"), list(zip(REFUSING, ERRORS, strict=True)), ids=ERRORS)
def test_each_error_before_the_stream_is_boto3s_own_exception(client, agent, code):
    with pytest.raises(getattr(client.exceptions, code)) as failure:
        invoke(client, agent)
    error = failure.value.response
    (shape,) = [shape for shape in OPERATION.error_shapes if shape.name == code]
    assert error["Error"] == {"Code": code, "Message": "It failed"}
    status = shape.metadata["error"]["httpStatusCode"]
    assert error["ResponseMetadata"]["HTTPStatusCode"] == status
