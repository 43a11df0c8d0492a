"""An unmodified boto3 converses with the local server's models, the honest one and the others."""

from __future__ import annotations

import boto3
import pytest
from botocore.eventstream import ChecksumMismatch
from botocore.exceptions import EventStreamError, ReadTimeoutError
from botocore.parsers import ResponseParserError
from botocore.validate import ParamValidator
from urllib3.exceptions import ProtocolError
from urllib3.exceptions import ReadTimeoutError as StreamReadTimeout

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.converse import to_search_result
from knowledge_rag.guardrails.evidence_file import read_evidence
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.converse import MODEL_ID
from knowledge_rag.local.bedrock.wire import service_model
from knowledge_rag.orchestrator.wording import NO_MATCH
from tests.support import answer_writers as writers
from tests.support import misbehaving_models
from tests.support.converse import (
    EVIDENCE,
    POSTMORTEM,
    QUESTION,
    RUNBOOK,
    block,
    blocks,
    citations,
    converse,
    locations,
    said,
    streamed,
    user,
)
from tests.support.invoke_agent import make_client
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, WordHashes
from tests.support.misbehaving_models import QUOTING, SCRIPTED
from tests.support.scripted import LocalBedrock, ScriptedModel

MODEL = service_model("bedrock-runtime")
ERRORS, STREAM_ERRORS = misbehaving_models.errors(), misbehaving_models.stream_errors()
REFUSING = {
    f"local.refuses-{n}": misbehaving_models.refusing(code) for n, code in enumerate(ERRORS)
}
FAILING = {
    f"local.fails-{n}": misbehaving_models.failing_in_stream(code)
    for n, code in enumerate(STREAM_ERRORS)
}
ARN = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.local.extractive-v1:0"
OWN = {
    ARN: QUOTING,
    "local.numbers": ScriptedModel(
        writers.saying("Promote it [1, 2]. Wait [2][1]. Link [text](http://a/) and [never] `a[0]`.")
    ),
    "local.talks": ScriptedModel(writers.saying("one two three STOP four five six. " * 40)),
}


SERVICE = "bedrock-runtime"
RESOLUTION = (
    "# RDS failover",
    "",
    "## Resolution",
    "",
    "1. Promote the replica with `aws rds failover-db-cluster --db-cluster-identifier orders`.",
    "2. Wait until the writer answers.",
)


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    models = {**SCRIPTED, **FAILING, **REFUSING, **OWN}
    with (
        knowledge_base_of(RUNBOOKS, tmp_path_factory.mktemp("converse"), WordHashes()) as opened,
        LocalBedrock(opened, models=models) as running,
    ):
        yield running


# the honest models


def test_the_default_model_lifts_its_advice_from_the_results_it_is_given(client):
    question = {"text": "RDS failover: how to promote the replica?"}
    response = converse(client, MODEL_ID, [user(block("runbooks/rds.md", RESOLUTION), question)])
    assert {"searchResultIndex": 0, "start": 4, "end": 5} in locations(response)
    assert "aws rds failover-db-cluster --db-cluster-identifier orders" in said(blocks(response))


def test_the_variable_alone_leads_boto3_here(bedrock, aws_environment):
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", bedrock.endpoint_url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("bedrock-runtime")
    try:
        response = converse(client)
        assert response["ResponseMetadata"]["RequestId"]
        assert response["stopReason"] == "end_turn"
        assert response["output"]["message"]["role"] == "assistant"
    finally:
        client.close()


def test_a_response_fits_the_services_model(client):
    shape = MODEL.operation_model("Converse").output_shape
    broken = {"local.hangs", "local.negative", "local.no-output", "local.later"}
    for model in {MODEL_ID, *SCRIPTED} - broken:
        response = converse(client, model)
        del response["ResponseMetadata"]
        assert ParamValidator().validate(response, shape).generate_report() == ""


def test_citations_count_the_items_of_the_results_from_0_and_end_before_their_end(client):
    content = blocks(converse(client))
    texts = (RUNBOOK, POSTMORTEM)
    assert locations(converse(client)) == [
        {"searchResultIndex": 0, "start": 2, "end": 3},
        {"searchResultIndex": 0, "start": 3, "end": 4},
        {"searchResultIndex": 0, "start": 3, "end": 4},  # an item of two lines
        {"searchResultIndex": 0, "start": 4, "end": 5},
        {"searchResultIndex": 1, "start": 0, "end": 1},
    ]
    for citation in citations(content):
        at = citation["location"]["searchResultLocation"]
        cited = texts[at["searchResultIndex"]][at["start"] : at["end"]]
        assert [part["text"] for part in citation["sourceContent"]] == list(cited)
        source = EVIDENCE[at["searchResultIndex"]]["searchResult"]
        assert (citation["source"], citation["title"]) == (source["source"], source["title"])


def test_the_answers_text_has_no_references_of_its_own(client):
    assert said(blocks(converse(client))) == (
        "The documents say:\n1. Promote the replica.\n2. Then wait\n3. for the replica.\n4. Done."
        "\n5. The replica lagged."
    )


def test_results_are_counted_over_all_messages(client):
    answer = {"role": "assistant", "content": [{"text": "Which database?"}]}
    first, second = EVIDENCE
    response = converse(client, messages=[user(first, QUESTION), answer, user(second, QUESTION)])
    assert {at["searchResultIndex"] for at in locations(response)} == {0, 1}


def test_results_of_a_tool_are_counted_like_others(client):
    first, second = EVIDENCE
    use = {"toolUse": {"toolUseId": "one", "name": "search", "input": {}}}
    result = {"toolResult": {"toolUseId": "one", "content": [{"text": "found"}, second]}}
    asked = [user(first, QUESTION), {"role": "assistant", "content": [use]}]
    response = converse(client, messages=[*asked, user(result, QUESTION)])
    assert locations(response) == locations(converse(client))


def test_without_citations_enabled_there_are_none(client):
    plain = [block("a.md", RUNBOOK, cited=False), {"text": "What?"}]
    content = blocks(converse(client, messages=[user(*plain)]))
    assert citations(content) == []
    assert "[Source: search-result-0, lines 3-3]" in said(content)


def test_without_evidence_it_says_so(client):
    assert said(blocks(converse(client, messages=[user(QUESTION)]))) == NO_MATCH


def test_numbers_become_citations_and_other_brackets_stay(client):
    content = blocks(converse(client, "local.numbers"))
    assert [len(each["citationsContent"]["citations"]) for each in content[:2]] == [2, 2]
    assert said(content) == ("Promote it. Wait. Link [text](http://a/) and [never] `a[0]`.")


def test_a_model_may_be_named_by_an_arn(client):
    assert locations(converse(client, ARN)) == locations(converse(client))


def test_an_answer_ends_where_the_request_wants_it_to(client):
    stopped = converse(client, "local.talks", inferenceConfig={"stopSequences": ["STOP", "six"]})
    assert (stopped["stopReason"], said(blocks(stopped))) == ("stop_sequence", "one two three ")
    cut = converse(client, "local.talks", inferenceConfig={"maxTokens": 20})
    assert cut["stopReason"] == "max_tokens"
    assert 15 <= cut["usage"]["outputTokens"] <= 20
    assert ("one two three STOP four five six. " * 40).startswith(said(blocks(cut)))
    none = converse(client, inferenceConfig={"maxTokens": 1})
    assert (none["stopReason"], said(blocks(none))) == ("max_tokens", "The")


def test_what_a_model_without_a_mind_can_pass_over_is_accepted(client):
    response = converse(
        client,
        system=[{"text": "Cite your sources."}, {"cachePoint": {"type": "default"}}],
        inferenceConfig={"temperature": 0.0, "topP": 1.0},
        toolConfig={"tools": [{"toolSpec": {"name": "a", "inputSchema": {"json": {}}}}]},
        additionalModelRequestFields={"top_k": 1},
        requestMetadata={"team": "sre"},
    )
    assert response["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    ("model", "code"), list(zip(FAILING, STREAM_ERRORS, strict=True)), ids=STREAM_ERRORS
)
def test_each_error_within_a_stream_ends_it_after_what_came_before(client, model, code):
    came = []
    with pytest.raises(EventStreamError) as failure:
        streamed(client, model, came=came)
    assert [next(iter(event)) for event in came] == ["messageStart", "contentBlockDelta"]
    assert failure.value.response["Error"]["Code"] == code[:1].lower() + code[1:]


# streams


def test_a_stream_says_and_cites_what_the_response_does(client):
    events = streamed(client)
    kinds = [next(iter(event)) for event in events]
    assert (kinds[0], kinds[-2:]) == ("messageStart", ["messageStop", "metadata"])
    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    content = blocks(converse(client))
    assert "".join(each["delta"].get("text", "") for each in deltas) == said(content)
    cited = [each["delta"]["citation"] for each in deltas if "citation" in each["delta"]]
    assert cited == citations(content)
    assert kinds.count("contentBlockStop") == len(content)


def test_every_event_fits_the_services_model(client):
    stream = MODEL.shape_for("ConverseStreamOutput")
    for event in [*streamed(client), *streamed(client, "local.tool-use")]:
        ((kind, payload),) = event.items()
        report = ParamValidator().validate(payload, stream.members[kind])
        assert report.generate_report() == ""


def test_a_damaged_stream_is_no_error_of_botocores_own(client):
    with pytest.raises(ProtocolError):
        streamed(client, "local.cut-off")
    with pytest.raises(ChecksumMismatch):
        streamed(client, "local.damaged")


def test_a_stream_that_ends_early_has_no_stop_reason(client):
    events = streamed(client, "local.ends-early")
    assert events
    assert not [event for event in events if "messageStop" in event]


# models that misbehave


@pytest.mark.parametrize(
    ("model", "stay", "go"),
    [
        ("local.quotes", True, False),
        (MODEL_ID, True, False),
        ("local.misquotes", True, False),  # what counts is the location, in what was given
        ("local.fabricates", True, True),
        ("local.uncited", False, False),
        ("local.index-beyond", False, True),
        ("local.lines-beyond", False, True),
        ("local.end-beyond", False, True),
        ("local.reversed", False, True),
        ("local.negative", False, True),
        ("local.inclusive-ends", False, True),
        ("local.no-start", False, True),
        ("local.no-locations", False, True),
        ("local.of-a-document", False, True),
    ],
)
def test_whatever_is_cited_nothing_stays_but_lines_of_what_was_given(client, model, stay, go):
    text = "\n".join(RESOLUTION)
    result = RetrievalResult(text, Citation("runbooks/rds.md", 11, 16, "RDS failover"), None)
    (entry,) = (ledger := Ledger((result,))).entries
    messages = [user({"searchResult": to_search_result(entry)}, QUESTION)]
    response = converse(client, model, messages)
    read = read_evidence({"request": {"messages": messages}, "response": response})
    checked = verify(read.answer, ledger)
    assert bool(checked.citations) == stay
    assert bool(checked.removed) == go
    for cited in checked.citations:
        first, last = cited.citation.start_line, cited.citation.end_line
        assert cited.content == "\n".join(RESOLUTION[first - 11 : last - 10])


@pytest.mark.parametrize(
    ("model", "moved"),
    [
        ("local.index-beyond", {"searchResultIndex": 99}),
        ("local.lines-beyond", {"start": 4_000, "end": 5_000}),
        ("local.end-beyond", {"end": 5_000}),
        ("local.reversed", {"start": 3, "end": 2}),
        ("local.negative", {"start": -1}),
        ("local.inclusive-ends", {"end": 2}),
    ],
)
def test_locations_out_of_range(client, model, moved):
    right, wrong = locations(converse(client))[0], locations(converse(client, model))[0]
    assert wrong == {**right, **moved}


def test_locations_that_are_missing_or_of_another_kind(client):
    assert "start" not in locations(converse(client, "local.no-start"))[0]
    assert "location" not in citations(blocks(converse(client, "local.no-locations")))[0]
    other = citations(blocks(converse(client, "local.of-a-document")))[0]["location"]
    assert list(other) == ["documentChar"]


def test_a_quotation_that_is_none(client):
    right = citations(blocks(converse(client)))[0]
    wrong = citations(blocks(converse(client, "local.misquotes")))[0]
    assert wrong["location"] == right["location"]
    assert wrong["sourceContent"] == [{"text": "Restart everything at once."}]
    assert wrong["source"] == "runbooks/never-written.md"


def test_text_without_citations_with_made_up_references_and_none(client):
    assert citations(blocks(converse(client, "local.uncited"))) == []
    fabricated = blocks(converse(client, "local.fabricates"))
    assert "[Source: runbooks/never-written.md, lines 3-9]" in said(fabricated)
    assert len(citations(fabricated)) == len(citations(blocks(converse(client))))
    assert blocks(converse(client, "local.silent")) == []


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("local.max-tokens", "max_tokens"),
        ("local.guardrail", "guardrail_intervened"),
        ("local.filtered", "content_filtered"),
        ("local.tool-use", "tool_use"),
        ("local.empty", "end_turn"),
    ],
)
def test_an_answer_may_end_for_other_reasons(client, model, reason):
    response = converse(client, model)
    assert response["stopReason"] == reason
    assert len(blocks(response)) < len(blocks(converse(client)))


def test_a_tool_may_be_used_that_was_never_offered(client):
    (use,) = blocks(converse(client, "local.tool-use"))
    assert use["toolUse"]["name"] == "restart_everything"


def test_a_model_that_says_nothing_is_left_by_who_waits_no_longer(bedrock):
    client = make_client(bedrock, "bedrock-runtime", read_timeout=0.2)
    with pytest.raises(ReadTimeoutError):
        converse(client, "local.hangs")
    with pytest.raises((ReadTimeoutError, StreamReadTimeout)):  # by whether the headers came
        streamed(client, "local.hangs")
    client.close()


def test_output_without_a_message_is_an_error_of_botocores_parser(client):
    with pytest.raises(ResponseParserError, match="ConverseOutput"):
        converse(client, "local.no-output")


def test_what_a_later_service_may_add_has_a_name_of_botocores(client):
    *_, unknown = blocks(converse(client, "local.later"))
    assert unknown == {"SDK_UNKNOWN_MEMBER": {"name": "hologram"}}
    kinds = [next(iter(event)) for event in streamed(client, "local.tomorrows")]
    assert kinds == [next(iter(event)) for event in streamed(client)]


# requests that are refused

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
def test_each_error_before_an_answer_is_boto3s_own_exception(client, model, code):
    with pytest.raises(getattr(client.exceptions, code)) as failure:
        converse(client, model)
    status = MODEL.shape_for(code).metadata["error"]["httpStatusCode"]
    assert failure.value.response["Error"] == {"Code": code, "Message": "It failed"}
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_the_model_has_nine_errors_and_five_within_a_stream():
    assert (len(ERRORS), len(STREAM_ERRORS)) == (9, 5)
    assert MODEL.shape_for("ThrottlingException").metadata["error"]["httpStatusCode"] == 429
    assert MODEL.shape_for("ModelTimeoutException").metadata["error"]["httpStatusCode"] == 408
