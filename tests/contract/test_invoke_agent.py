"""An unmodified boto3 invokes the local server's agents, the honest one and those that misbehave."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import boto3
import pytest
from botocore.exceptions import EventStreamError
from botocore.validate import ParamValidator

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.response import read_outcome
from knowledge_rag.guardrails.evidence_file import read_evidence
from knowledge_rag.local.bedrock import invoke_agent
from knowledge_rag.local.bedrock.invoke_agent import AGENT_ID, ALIAS_ID
from knowledge_rag.local.bedrock.wire import service_model
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE
from lambdas.retrieve_knowledge.events import QUERY_COUNT_ATTRIBUTE
from tests.support.invoke_agent import (
    QUESTION,
    bodies,
    events,
    invoke,
    observations,
    said,
    verified,
)
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, minilm, write_files
from tests.support.misbehaving_agents import QUOTING_ID, SCRIPTED
from tests.support.scripted import LocalBedrock


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("agent") / "corpus", RUNBOOKS)


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    with (
        knowledge_base_of(RUNBOOKS, tmp_path_factory.mktemp("agent"), minilm()) as opened,
        LocalBedrock(opened, agents=SCRIPTED) as running,
    ):
        yield running


# the honest agents


def test_the_default_agent_lifts_its_advice_from_the_lines_in_its_trace(client):
    found = events(client, AGENT_ID, "RDS failover: how to promote the replica?")
    assert "aws rds failover-db-cluster" in said(found)
    assert verified(found).citations
    assert not verified(found).removed
    nothing = events(client, AGENT_ID, "how long do I boil eggs")
    assert said(nothing) == NO_MATCH


def test_the_variable_alone_leads_boto3_here(bedrock, aws_environment):
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", bedrock.endpoint_url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    client = boto3.client("bedrock-agent-runtime")
    try:
        response = invoke(client)
        assert response["sessionId"] == "a-session"
        assert response["contentType"] == "application/json"
        assert response["ResponseMetadata"]["RequestId"]
        assert "[Source: runbooks/rds-failover.md, lines " in said(list(response["completion"]))
    finally:
        client.close()


def test_a_turn_is_traced_and_ends_with_one_chunk_of_the_whole_answer(client):
    found = events(client)
    steps = [event["trace"]["trace"]["orchestrationTrace"] for event in found[:-1]]
    assert [next(iter(step)) for step in steps] == [
        "rationale",
        "invocationInput",
        "observation",
        "observation",
    ]
    asked = steps[1]["invocationInput"]["actionGroupInvocationInput"]
    assert (asked["apiPath"], asked["verb"], asked["executionType"]) == (
        "/retrieve",
        "post",
        "LAMBDA",
    )
    assert asked["requestBody"]["content"]["application/json"] == [
        {"name": "query", "type": "string", "value": QUESTION},
        {"name": "max_results", "type": "integer", "value": "5"},
    ]
    assert steps[3]["observation"]["finalResponse"]["text"] == said(found)
    assert "attribution" not in found[-1]["chunk"]


def test_every_event_fits_the_services_model(client):
    stream = service_model().shape_for("ResponseStream")
    agents = [AGENT_ID, "NATIVEKB00", "RETURNSCTL", "ATTRIBUTES", "GIVESFILES"]
    for event in [event for agent in agents for event in events(client, agent)]:
        ((kind, payload),) = event.items()
        report = ParamValidator().validate(payload, stream.members[kind])
        assert report.generate_report() == ""


def test_what_the_trace_holds_is_the_functions_own_answer_with_lines_of_the_real_files(
    client, corpus
):
    (body,) = bodies(events(client))
    outcome = read_outcome(body)
    assert outcome.status is Status.OK
    for result in outcome.results:
        lines = (corpus / result.citation.source_file).read_text().split("\n")
        cited = lines[result.citation.start_line - 1 : result.citation.end_line]
        assert result.content == "\n".join(cited)


def test_the_answer_cites_nothing_but_what_the_trace_holds(client):
    checked = verified(events(client))
    assert checked.citations
    assert not checked.removed


def test_evidence_and_answer_are_read_from_a_turns_events_alone(client):
    found = events(client)
    read = read_evidence({"completion": found})
    assert read.answer == said(found)
    assert not read.dropped
    results = [passage.result for passage in read.passages]
    assert results == [result for body in bodies(found) for result in read_outcome(body).results]


def test_without_a_trace_there_is_only_the_answer(client):
    (only,) = events(client, trace=False)
    assert said([only]) == said(events(client))


def test_a_streamed_answer_comes_in_several_chunks(client):
    streamed = events(client, streamingConfigurations={"streamFinalResponse": True})
    assert sum("chunk" in event for event in streamed) > 2
    assert said(streamed) == said(events(client))


def test_off_topic_is_answered_with_the_sentence_for_it(client):
    assert said(events(client, text="how long do I boil eggs")) == NO_MATCH


def test_several_questions_are_asked_one_by_one_up_to_three(client):
    lines = ["Please look up:", "1. How to diagnose RDS failover", "- What is throttling?"]
    text = "\n".join([*lines, "* similar incidents involving rds", "And a fourth?"])
    found = events(client, text=text)
    assert [body["status"] for body in bodies(found)] == ["ok"] * 3
    asked = [
        step["invocationInput"]["actionGroupInvocationInput"]["requestBody"]["content"]
        for step in (
            event["trace"]["trace"]["orchestrationTrace"] for event in found if "trace" in event
        )
        if "invocationInput" in step
    ]
    assert [content["application/json"][0]["value"] for content in asked] == [
        "How to diagnose RDS failover",
        "What is throttling?",
        "similar incidents involving rds",
    ]


def test_queries_that_are_listed_are_asked_as_they_stand(client):
    told = [
        "Title: Is the writer gone?",
        "- How to diagnose nothing",
        "",
        "Search with these queries:",
    ]
    listed = ["1. Resolution steps for RDS failover", "2. throttling of lambda", "3. RDS?"]
    found = events(client, text="\n".join([*told, *listed]))
    rationales = [
        step["rationale"]["text"]
        for step in (e["trace"]["trace"]["orchestrationTrace"] for e in found if "trace" in e)
        if "rationale" in step
    ]
    assert [text.partition(": ")[2] for text in rationales] == [
        "Resolution steps for RDS failover",
        "throttling of lambda",
        "RDS?",
    ]


def test_the_turns_own_attributes_reach_the_function_and_come_back(client):
    used_up = {"promptSessionAttributes": {QUERY_COUNT_ATTRIBUTE: "3"}}
    (body,) = bodies(events(client, sessionState=used_up))
    assert (body["status"], body["reason"]) == (Status.DEGRADED, Reason.QUERY_LIMIT)


def test_an_agent_that_asks_on_gets_no_more_than_three_answers(client):
    found = bodies(events(client, "FIVEASKED0"))
    assert [body["status"] for body in found] == ["ok"] * 3 + ["degraded"] * 2
    assert {body.get("reason") for body in found[3:]} == {Reason.QUERY_LIMIT}


def test_a_new_turn_of_a_session_may_ask_again(client):
    for _ in range(2):
        assert bodies(events(client, "FIVEASKED0", session="again"))[0]["status"] == "ok"


def test_the_function_gets_an_agents_event_with_the_sessions_own_attributes(
    client, bedrock, monkeypatch
):
    function, asked = bedrock._agents._function, []
    real = function.invoke

    def recording(event, endpoint_url):
        asked.append(event)
        return real(event, endpoint_url)

    monkeypatch.setattr(function, "invoke", recording)
    known = {"sessionAttributes": {"incident_id": "INC-1"}, "promptSessionAttributes": {"a": "b"}}
    events(client, session="kept", sessionState=known)
    events(client, session="kept")
    events(client, session="kept", endSession=True)
    events(client, session="kept")
    assert [event["sessionAttributes"] for event in asked] == [{"incident_id": "INC-1"}] * 3 + [{}]
    assert [event["promptSessionAttributes"] for event in asked] == [{"a": "b"}, {}, {}, {}]
    assert {event["inputText"] for event in asked} == {QUESTION}
    assert {event["sessionId"] for event in asked} == {"kept"}
    assert (asked[0]["agent"]["id"], asked[0]["agent"]["alias"]) == (QUOTING_ID, ALIAS_ID)


def test_the_session_used_longest_ago_is_forgotten(client, monkeypatch):
    monkeypatch.setattr(invoke_agent, "MAX_SESSIONS", 2)
    (event,) = events(client, "RETURNSCTL", session="first")
    events(client, "NEVERASKS0", session="second")
    events(client, "NEVERASKS0", session="third")
    state = {
        "invocationId": event["returnControl"]["invocationId"],
        "returnControlInvocationResults": [{"apiResult": {"actionGroup": "a"}}],
    }
    with pytest.raises(client.exceptions.ValidationException, match="invocationId"):
        invoke(client, "RETURNSCTL", session="first", sessionState=state)


def test_many_ask_at_once(client):
    with ThreadPoolExecutor(24) as pool:
        turns = list(pool.map(lambda n: events(client, session=f"session-{n}"), range(24)))
    assert Counter(body["status"] for turn in turns for body in bodies(turn)) == {"ok": 24}


def test_a_function_that_dies_is_a_failed_dependency_and_lives_again(client, bedrock, caplog):
    events(client)
    os.kill(bedrock._agents._function.pid, signal.SIGKILL)
    with pytest.raises(
        EventStreamError, match="The Lambda function of the action group"
    ) as failure:
        events(client)
    assert failure.value.response["Error"]["Code"] == "dependencyFailedException"
    assert "the agent's function failed" in caplog.text
    assert bodies(events(client))


# agents that misbehave


def test_fabricated_references_are_in_the_answer_and_not_in_the_trace(client):
    checked = verified(events(client, "FABRICATES"))
    assert checked.citations
    assert {taken.text for taken in checked.removed} == {
        "[Source: runbooks/never-written.md, lines 3-9]",
        "[Source 99]",
        "[98, 99]",
    }


def test_wrong_lines_are_of_right_files_and_one_range_is_reversed(client):
    found = events(client, "WRONGLINES")
    assert "[Source: runbooks/rds-failover.md, lines 5010-4010]" in said(found)
    checked = verified(found)
    assert checked.removed
    assert not checked.citations


def test_other_notations_mean_the_same_lines(client):
    text = f"{QUESTION}\nWhat about Lambda throttling?"
    honest, renoted = events(client, text=text), events(client, "NOTATIONS0", text)
    assert "[Source 1]" in said(renoted)
    assert not verified(renoted).removed
    assert len(verified(renoted).citations) == len(verified(honest).citations)


def test_uncited_and_empty_answers(client):
    assert "[Source" not in said(events(client, "UNCITED000"))
    assert not [event for event in events(client, "SILENT0000") if "chunk" in event]


def test_an_agent_that_never_asks_has_no_evidence(client):
    assert bodies(events(client, "NEVERASKS0")) == []


def test_a_query_that_the_function_refuses_is_in_the_trace_as_it_answered(client):
    found = events(client, "ASKSBLANK0")
    assert bodies(found) == [{"error": "query is blank"}]
    assert said(found) == UNREACHABLE


def test_traces_may_be_missing_partly_or_cut(client):
    assert [next(iter(event)) for event in events(client, "NOTRACES00")] == ["chunk"]
    asked = events(client, "NOOBSERVED")
    assert len(asked) > 1
    assert observations(asked) == []
    (cut, _) = observations(events(client, "CUTTRACES0"))
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut["actionGroupInvocationOutput"]["text"])


def test_the_answer_may_use_what_the_trace_leaves_out(client):
    text = f"{QUESTION}\nWhat about Lambda throttling?"
    whole, partly = events(client, text=text), events(client, "PARTTRACES", text)
    assert said(partly) == said(whole)
    assert (len(bodies(whole)), len(bodies(partly))) == (2, 1)
    assert len(verified(partly).citations) < len(verified(whole).citations)
    assert verified(partly).removed


def test_files_come_beside_the_answer(client):
    first, *others = events(client, "GIVESFILES")
    (given,) = first["files"]["files"]
    assert (given["name"], given["bytes"][:4]) == ("plot.png", b"\x89PNG")
    assert said(others) == said(events(client))


def test_attribution_without_evidence(client):
    (event,) = [event for event in events(client, "ATTRIBUTES") if "chunk" in event]
    (citation,) = event["chunk"]["attribution"]["citations"]
    (reference,) = citation["retrievedReferences"]
    assert reference["metadata"]["source_file"] == "runbooks/never-written.md"


def test_a_knowledge_base_of_the_agents_own_shows_in_its_own_trace(client, corpus):
    (looked_up, _) = observations(events(client, "NATIVEKB00"))
    references = looked_up["knowledgeBaseLookupOutput"]["retrievedReferences"]
    assert references
    for reference in references:
        metadata = reference["metadata"]
        assert isinstance(metadata["start_line"], float)
        text = reference["content"]["text"][int(metadata["context_length"]) :]
        lines = (corpus / metadata["source_file"]).read_text().split("\n")
        cited = lines[int(metadata["start_line"]) - 1 : int(metadata["end_line"])]
        assert text == "\n".join(cited)


def test_control_is_returned_and_comes_back_with_the_results(client):
    (event,) = events(client, "RETURNSCTL", session="returned")
    control = event["returnControl"]
    (asked,) = [each["apiInvocationInput"] for each in control["invocationInputs"]]
    (query, _) = asked["requestBody"]["content"]["application/json"]["properties"]
    assert (asked["apiPath"], query["value"]) == ("/retrieve", QUESTION)
    (body,) = bodies(events(client))
    result = {
        "actionGroup": asked["actionGroup"],
        "apiPath": asked["apiPath"],
        "httpMethod": asked["httpMethod"],
        "httpStatusCode": 200,
        "responseBody": {"application/json": {"body": json.dumps(body)}},
    }
    state = {
        "invocationId": control["invocationId"],
        "returnControlInvocationResults": [{"apiResult": result}],
    }
    found = events(client, "RETURNSCTL", "", session="returned", sessionState=state)
    assert bodies(found) == [body]
    assert said(found) == said(events(client))
    result["responseBody"] = {"application/json": {"body": "{"}}
    garbled = events(client, "RETURNSCTL", "", session="returned", sessionState=state)
    assert said(garbled) == UNREACHABLE
