"""What the local server's agents refuse and how they send their answers, as an unmodified boto3 takes it.

They look into a knowledge base of their own here, so no function is started: what it answers is of
no matter to a stream.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from botocore.eventstream import ChecksumMismatch, InvalidPayloadLength, ParserError
from botocore.exceptions import EventStreamError, ReadTimeoutError
from urllib3.exceptions import ProtocolError
from urllib3.exceptions import ReadTimeoutError as StreamReadTimeout

from knowledge_rag.local.bedrock.wire import service_model
from tests.support import answer_writers as writers
from tests.support import misbehaving_agents
from tests.support.invoke_agent import events, invoke, make_client, never_ending_until, said
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, minilm
from tests.support.misbehaving_agents import QUOTING, SCRIPTED
from tests.support.scripted import Evidence, LocalBedrock

ERRORS = misbehaving_agents.stream_errors()
FAILING = {
    f"FAILS{n:05}": misbehaving_agents.failing_in_stream(code) for n, code in enumerate(ERRORS)
}
REFUSING = {f"REFUSES{n:03}": misbehaving_agents.refusing(code) for n, code in enumerate(ERRORS)}
OPERATION = service_model().operation_model("InvokeAgent")
LEFT = threading.Event()


def broken_writer(_question, _outcomes):
    raise RuntimeError("secret detail")


OWN = {
    "LONGANSWER": replace(QUOTING, write=writers.saying("é💥" * 200_000)),
    "ENDLESS000": replace(QUOTING, transmit=never_ending_until(LEFT)),
    "DEFECTIVE0": replace(QUOTING, write=broken_writer),
    "SURROGATE0": replace(QUOTING, write=writers.saying("a\ud800b")),
}


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    agents = {
        name: replace(agent, evidence=Evidence.KNOWLEDGE_BASE)
        for name, agent in {**SCRIPTED, **FAILING, **REFUSING, **OWN}.items()
    }
    with (
        knowledge_base_of(RUNBOOKS, tmp_path_factory.mktemp("agent"), minilm()) as opened,
        LocalBedrock(opened, agents=agents) as running,
    ):
        yield running


def test_an_answer_longer_than_a_chunk_may_be_comes_in_two(client):
    found = events(client, "LONGANSWER", trace=False)
    assert [len(event["chunk"]["bytes"]) for event in found] == [1_000_000, 200_000]
    assert said(found) == "é💥" * 200_000


@pytest.mark.parametrize(("agent", "code"), list(zip(FAILING, ERRORS, strict=True)), ids=ERRORS)
def test_each_error_within_the_stream_ends_it_after_what_came_before(client, agent, code):
    came = []
    with pytest.raises(EventStreamError) as failure:
        events(client, agent, came=came)
    assert [next(iter(event)) for event in came] == ["trace", "trace"]
    assert failure.value.response["Error"]["Code"] == code[:1].lower() + code[1:]
    assert failure.value.response["Error"]["Message"] == "It failed"


def test_a_defect_ends_the_stream_as_the_services_own_and_tells_nothing(client, caplog):
    with pytest.raises(EventStreamError, match="Internal server error") as failure:
        events(client, "DEFECTIVE0")
    assert failure.value.response["Error"]["Code"] == "internalServerException"
    (record,) = caplog.records
    assert record.getMessage().startswith("local InvokeAgent failed: RuntimeError: secret detail (")


def test_references_and_characters_are_split_anywhere(client):
    whole = said(events(client))
    assert "[Source: " in whole
    for agent, size in (("SPLITBYTES", 1), ("SPLITREFS0", 7)):
        chunks = [event["chunk"]["bytes"] for event in events(client, agent) if "chunk" in event]
        assert max(map(len, chunks)) == size
        assert b"".join(chunks).decode() == whole


def test_what_a_later_service_may_add_is_passed_over(client):
    honest, later = events(client), events(client, "TOMORROWS0")
    assert [next(iter(event)) for event in later] == [next(iter(event)) for event in honest]
    assert said(later) == said(honest)


def test_a_lone_surrogate_does_not_stop_an_answer(client):
    assert said(events(client, "SURROGATE0")) == "a?b"


@pytest.mark.parametrize(
    ("agent", "failure"),
    [
        ("CUTOFF0000", ProtocolError),
        ("BADPRELUDE", ChecksumMismatch),
        ("BADMESSAGE", ChecksumMismatch),
        ("NOSTREAM00", ParserError),
        ("OVERSIZED0", InvalidPayloadLength),
    ],
)
def test_a_damaged_stream_is_no_error_of_botocores_own(client, agent, failure):
    with pytest.raises(failure):
        events(client, agent)


@pytest.mark.parametrize(
    ("agent", "came"), [("ENDSEARLY0", 2), ("ENDSWHOLE0", 2), ("NOTHING000", 0)]
)
def test_a_stream_that_ends_early_looks_like_a_short_one(client, agent, came):
    found = events(client, agent)
    assert len(found) == came
    assert said(found) == ""


def test_a_slow_stream_is_whole_in_the_end(client):
    assert said(events(client, "SLOWDRIP00")) == said(events(client))


def test_an_agent_that_says_nothing_is_left_by_who_waits_no_longer(bedrock):
    client = make_client(bedrock, read_timeout=0.2)
    with pytest.raises((ReadTimeoutError, StreamReadTimeout)):  # by whether the headers came
        events(client, "HANGS00000")
    client.close()


def test_an_endless_stream_is_played_until_its_reader_leaves(client):
    LEFT.clear()
    stream = invoke(client, "ENDLESS000")["completion"]
    for _, _event in zip(range(5), stream, strict=False):
        pass
    assert not LEFT.is_set()
    stream.close()
    assert LEFT.wait(60)
    assert said(events(client))


# requests that are refused

GROUP = {"actionGroup": "a"}
SOURCE = {"sourceType": "S3", "s3Location": {"uri": "s3://abc/a"}}


def state(**members):
    return {"sessionState": members}


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
        state(returnControlInvocationResults=[{}] * 6),
        "length less than or equal to 5",
    ),
    "results-union": (
        state(returnControlInvocationResults=[{"apiResult": GROUP, "functionResult": GROUP}]),
        "returnControlInvocationResults.1.member' failed to satisfy constraint: Exactly one",
    ),
    "result-unknown": (
        state(invocationId="another", returnControlInvocationResults=[{"apiResult": GROUP}]),
        "invocationId doesn't match the returned control",
    ),
    "files": (
        state(files=[{"name": "a", "useCase": "CHAT", "source": SOURCE}]),
        "sessionState.files is not available locally",
    ),
    "attributes": (state(sessionAttributes={"a": 1}), "must be of type string"),
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
