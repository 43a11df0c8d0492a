"""Requests that the local server's models refuse, as an unmodified boto3 is told of it."""

from __future__ import annotations

import pytest

from knowledge_rag.local.bedrock.validation import service_model
from tests.support import misbehaving_models
from tests.support.converse import QUESTION, block, converse, streamed, user
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, WordHashes
from tests.support.scripted import LocalBedrock

SERVICE = "bedrock-runtime"
MODEL = service_model(SERVICE)
ERRORS = misbehaving_models.errors()
REFUSING = {
    f"local.refuses-{n}": misbehaving_models.refusing(code) for n, code in enumerate(ERRORS)
}


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    with (
        knowledge_base_of(RUNBOOKS, tmp_path_factory.mktemp("converse"), WordHashes()) as opened,
        LocalBedrock(opened, models={**misbehaving_models.SCRIPTED, **REFUSING}) as running,
    ):
        yield running


ANSWER = {"role": "assistant", "content": [{"text": "Yes."}]}
PNG = {"image": {"format": "png", "source": {"bytes": b"x"}}}
USE = {"toolUse": {"toolUseId": "one", "name": "search", "input": {}}}
ASKED = {"role": "assistant", "content": [USE]}


def tool_result(*content, tool="one"):
    return {"toolResult": {"toolUseId": tool, "content": list(content)}}


INVALID = {
    "no-messages": ({"messages": []}, "must start with a user message"),
    "assistant-first": ({"messages": [ANSWER, user(QUESTION)]}, "must start with a user message"),
    "two-users": ({"messages": [user(QUESTION)] * 2}, "must alternate"),
    "assistant-last": ({"messages": [user(QUESTION), ANSWER]}, "last message must be the user's"),
    "no-content": ({"messages": [user()]}, "content field in the Message object at messages.0"),
    "blank-text": ({"messages": [user({"text": " "})]}, "messages.0.content.0 is blank"),
    "image": ({"messages": [user(QUESTION, PNG)]}, "doesn't support the image content block"),
    "empty-result": ({"messages": [user(block("a", []))]}, "SearchResultBlock object at messages"),
    "tool-unasked": (
        {"messages": [user(tool_result())]},
        "Expected toolResult blocks at messages.0",
    ),
    "tool-unanswered": (
        {"messages": [user(QUESTION), ASKED, user(QUESTION)]},
        "Expected toolResult blocks at messages.2",
    ),
    "tool-other": (
        {"messages": [user(QUESTION), ASKED, user(tool_result(tool="two"))]},
        "Expected toolResult blocks at messages.2",
    ),
    "tool-image": (
        {"messages": [user(QUESTION), ASKED, user(tool_result(PNG))]},
        "doesn't support image in the toolResult at messages.2.content.0",
    ),
    "mixed-citations": (
        {"messages": [user(block("a", ["b"]), block("c", ["d"], cited=False))]},
        "citations must be enabled for all search results or for none",
    ),
    "two-kinds": ({"messages": [user({**QUESTION, **PNG})]}, "Exactly one member must be set"),
    "no-kind": ({"messages": [user({})]}, "Exactly one member must be set"),
    "role": ({"messages": [{**user(QUESTION), "role": "tool"}]}, "enum value set: [user, ass"),
    "no-title": (
        {"messages": [user({"searchResult": {"source": "a", "content": [{"text": "b"}]}})]},
        "searchResult.title' failed to satisfy constraint: Member must not be null",
    ),
    "text-number": ({"messages": [user({"text": 5})]}, "must be of type string"),
    "system-empty": ({"system": [{"text": ""}]}, "at 'system.1.member.text'"),
    "temperature": ({"inferenceConfig": {"temperature": 1.5}}, "value less than or equal to 1"),
    "max-tokens": ({"inferenceConfig": {"maxTokens": 0}}, "value greater than or equal to 1"),
    "stop-empty": ({"inferenceConfig": {"stopSequences": [""]}}, "'inferenceConfig.stopSequences"),
    "metadata": ({"requestMetadata": {"a": "\u00e9"}}, "requestMetadata.a' failed"),
    "metadata-key": ({"requestMetadata": {"": "a"}}, "requestMetadata.key' failed"),
    "metadata-many": (
        {"requestMetadata": {f"k{n}": "v" for n in range(17)}},
        "length less than or equal to 16",
    ),
    "guardrail": (
        {"guardrailConfig": {"guardrailIdentifier": "abc", "guardrailVersion": "1"}},
        "guardrailConfig needs a guardrail",
    ),
    "model-unknown": ({"model": "local.unknown"}, "The provided model identifier is invalid."),
    "model-pattern": ({"model": "no model!"}, "at 'modelId' failed to satisfy constraint"),
}


@pytest.mark.parametrize(("change", "message"), INVALID.values(), ids=INVALID)
def test_what_the_service_refuses_is_refused(unchecked, change, message):
    for ask in (converse, streamed):
        with pytest.raises(unchecked.exceptions.ValidationException) as failure:
            ask(unchecked, **change)
        assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert message in failure.value.response["Error"]["Message"]


@pytest.mark.parametrize(("model", "code"), list(zip(REFUSING, ERRORS, strict=True)), ids=ERRORS)
def test_each_error_is_boto3s_own_exception(client, model, code):
    with pytest.raises(getattr(client.exceptions, code)) as failure:
        converse(client, model)
    status = MODEL.shape_for(code).metadata["error"]["httpStatusCode"]
    assert failure.value.response["Error"] == {"Code": code, "Message": "It failed"}
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_the_model_has_nine_errors_and_five_within_a_stream():
    assert (len(ERRORS), len(misbehaving_models.stream_errors())) == (9, 5)
    assert MODEL.shape_for("ThrottlingException").metadata["error"]["httpStatusCode"] == 429
    assert MODEL.shape_for("ModelTimeoutException").metadata["error"]["httpStatusCode"] == 408
