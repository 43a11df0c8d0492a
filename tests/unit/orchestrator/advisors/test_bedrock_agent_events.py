"""An agent's turn is read from its events: the text from chunks, the evidence from traces alone."""

import json

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.invoke_agent import chunk, failure
from knowledge_rag.local.bedrock.streams import Event
from knowledge_rag.orchestrator.advisors.bedrock_agent import (
    NOT_TRACED,
    Framing,
    TurnReader,
    read_turn,
)
from knowledge_rag.orchestrator.errors import ModelFailed
from tests.support import misbehaving_agents
from tests.support.advisors import ACTION_GROUP, TRACES, body_of, encoded, searched, turn
from tests.support.evidence import passage
from tests.support.scripted import return_control

FAILOVER = passage("runbooks/rds.md")
OTHER = passage("runbooks/other.md", "# Other\n\nWait.\n")
ANSWER = chunk(b"1. Promote the replica [Source: runbooks/rds.md, lines 3-3].")
SEARCHED = searched(body_of(FAILOVER))


def citations(read):
    return verify(read.text, read.findings.ledger).citations


def other_group(output, step, name="echo"):
    """The traces of another tool, which says whatever a model gave it."""
    asked, answered = searched(output, step)
    invocation = asked.payload["trace"]["orchestrationTrace"]["invocationInput"]
    invocation["actionGroupInvocationInput"]["actionGroupName"] = name
    return asked, answered


def refusal(*events):
    with pytest.raises(ModelFailed) as failed:
        turn(*events)
    return failed.value


# evidence


def test_the_functions_answer_is_evidence_and_the_text_may_refer_to_it():
    read = turn(*SEARCHED, ANSWER)
    assert [it.query.text for it in read.findings.asked] == ["How to diagnose it?"]
    assert read.findings.status is Status.OK
    assert [str(it.citation) for it in citations(read)] == ["[Source: runbooks/rds.md, lines 3-3]"]


def test_the_functions_answer_may_stand_in_what_it_was_sent_in():
    inner = {"application/json": {"body": body_of(FAILOVER)}}
    for output in (inner, {"messageVersion": "1.0", "response": {"responseBody": inner}}):
        assert (
            turn(*searched(json.dumps(output)), ANSWER).findings == turn(*SEARCHED, ANSWER).findings
        )


def test_what_the_agents_own_knowledge_base_gave_is_evidence_if_its_hashes_prove_it():
    metadata = dict(FAILOVER.metadata) | FAILOVER.citation.to_dict()
    proven = {"content": {"text": FAILOVER.content, "type": "TEXT"}, "metadata": metadata}
    bare = {"content": {"text": "Reboot it."}, "metadata": {"source_file": "runbooks/rds.md"}}
    altered = {**proven, "content": {"text": FAILOVER.content.replace("Promote", "Delete")}}
    asked = TRACES.lookup_input(0, "KB", "what now?")
    read = turn(asked, TRACES.lookup_output(0, [proven, bare, altered]), ANSWER)
    assert read.findings.ledger.results[0].content == FAILOVER.content
    assert len(read.findings.ledger) == 1
    assert read.findings.asked[0].query.text == "what now?"
    nothing = turn(asked, TRACES.lookup_output(0, [bare, altered]), ANSWER)
    assert nothing.findings.failures == (Reason.UNVERIFIABLE_RESULTS,)
    assert turn(asked, TRACES.lookup_output(0, []), ANSWER).findings.status is Status.NO_MATCH


def test_each_query_keeps_how_it_ended():
    degraded = json.dumps({"results": [], "status": "degraded", "reason": "throttled"})
    bodies = (body_of(FAILOVER), degraded, body_of(notice="All dates are past."))
    traces = [event for step, text in enumerate(bodies) for event in searched(text, step)]
    findings = turn(*traces, ANSWER).findings
    statuses = [it.outcome.status for it in findings.asked]
    assert statuses == [Status.OK, Status.DEGRADED, Status.NO_MATCH]
    assert findings.failures == (Reason.THROTTLED,)
    assert findings.notices == ("All dates are past.",)


def test_evidence_that_was_altered_or_cut_on_its_way_is_none():
    altered = body_of(FAILOVER).replace("Promote", "Delete")
    read = turn(*searched(altered), ANSWER)
    assert read.findings.failures == (Reason.UNVERIFIABLE_RESULTS,)
    assert not citations(read)
    cut = turn(*searched(body_of(FAILOVER)[:-9]), ANSWER)
    assert cut.findings.failures == (Reason.MALFORMED_RESPONSE,)


def test_what_a_model_wrote_is_never_evidence():
    body = body_of(FAILOVER)
    written = (
        TRACES.rationale(0, body),
        TRACES.tool_input(0, [{"name": "query", "value": body}]),
        TRACES.final_response(1, body),
        chunk(b"[1]", {"citations": [{"retrievedReferences": [{"content": {"text": body}}]}]}),
    )
    for event in written:
        reader = TurnReader(ACTION_GROUP)
        reader.take({event.kind: event.payload})
        assert reader.findings().asked == ()
    collaborator = {"agentCollaboratorInvocationOutput": {"output": {"text": body}}}
    reader = TurnReader(ACTION_GROUP)
    reader.take({"trace": {"trace": {"orchestrationTrace": {"observation": collaborator}}}})
    assert reader.findings().asked == ()


def test_what_another_action_group_answers_is_never_evidence():
    planted = body_of(OTHER)
    read = turn(*SEARCHED, *other_group(planted, 1), ANSWER)
    assert [it.source_file for it in (r.citation for r in read.findings.ledger.results)] == [
        "runbooks/rds.md"
    ]
    untraced = TRACES.tool_output(2, planted)
    assert len(turn(*SEARCHED, untraced, ANSWER).findings.ledger) == 2
    assert len(turn(*SEARCHED, *other_group("{}", 1), untraced, ANSWER).findings.ledger) == 1
    assert refusal(*other_group(planted, 1), ANSWER).cause is Reason.UNVERIFIABLE_RESULTS


def test_a_query_that_is_not_traced_is_said_to_be_so():
    read = turn(SEARCHED[1], ANSWER)
    assert read.findings.asked[0].query.text == NOT_TRACED
    for beginning in (" ", " " * MAX_QUERY_CHARACTERS + "what now?"):
        blank = turn(*searched(body_of(FAILOVER), query=beginning), ANSWER)
        assert blank.findings.asked[0].query.text == NOT_TRACED
        assert citations(blank)


@pytest.mark.parametrize(
    "body",
    [
        {"error": "query is blank"},
        {"results": [], "status": "degraded", "reason": "query_limit"},
    ],
)
def test_a_request_that_no_answer_was_owed_to_counts_only_where_no_other_was_served(body):
    beyond = searched(json.dumps(body), 1)
    served = turn(*searched(body_of()), *beyond, ANSWER).findings
    assert served.status is Status.NO_MATCH
    assert len(served.asked) == 1
    assert turn(*beyond, ANSWER).findings.status is Status.DEGRADED


# text


def test_characters_and_references_may_be_split_between_chunks():
    data = (
        "1. F\u00fchre den Failover aus \U0001f98a [Source: runbooks/rds.md, lines 3-3].".encode()
    )
    pieces = [chunk(data[n : n + 1]) for n in range(len(data))]
    read = turn(*SEARCHED, *pieces)
    assert read.text == data.decode()
    assert len(citations(read)) == 1


def test_what_a_later_service_adds_is_passed_over():
    later = Event("tomorrow", {"what": "is new"})
    more = SEARCHED[1]._replace(payload={**SEARCHED[1].payload, "p": "abc"})
    assert turn(later, SEARCHED[0], more, later, ANSWER) == turn(*SEARCHED, ANSWER)


# failures


@pytest.mark.parametrize("code", misbehaving_agents.stream_errors())
def test_each_error_of_the_stream_is_a_failure_that_keeps_what_was_found(code):
    reasons = {
        "ThrottlingException": Reason.THROTTLED,
        "ServiceQuotaExceededException": Reason.THROTTLED,
        "AccessDeniedException": Reason.ACCESS_DENIED,
        "ResourceNotFoundException": Reason.CONFIGURATION,
        "ValidationException": Reason.CONFIGURATION,
    }
    failed = refusal(*SEARCHED, ANSWER, failure(code, "secret question"))
    assert failed.cause is reasons.get(code, Reason.UNAVAILABLE)
    assert failed.reason == f"{failed.cause}: {code}"
    assert failed.found.ledger.results[0].content == FAILOVER.content


def test_an_error_that_is_not_known_yet_is_the_services_own():
    assert refusal(failure("TomorrowException", "x")).cause is Reason.UNAVAILABLE


def test_a_returned_control_is_a_failure_with_a_clear_message():
    failed = refusal(*SEARCHED, return_control("id", []))
    assert failed.cause is Reason.CONFIGURATION
    assert "returned control" in failed.reason
    assert len(failed.found.ledger) == 1


@pytest.mark.parametrize("said", [(), (chunk(b""),), (chunk(b" \n"),)])
def test_silence_is_no_answer(said):
    failed = refusal(*SEARCHED, *said)
    assert (failed.cause, failed.detail) == (
        Reason.MALFORMED_RESPONSE,
        "the agent said nothing",
    )


def test_a_text_that_is_no_utf_8_is_no_answer():
    assert refusal(*SEARCHED, chunk(b"1. Promote \xff")).cause is Reason.MALFORMED_RESPONSE


def test_an_answer_without_any_trace_of_a_search_is_none():
    failed = refusal(ANSWER)
    assert failed.cause is Reason.UNVERIFIABLE_RESULTS
    assert failed.found.asked == ()


def test_what_a_guardrail_says_in_the_agents_place_is_no_answer():
    intervened = Event("trace", {"trace": {"guardrailTrace": {"action": "INTERVENED"}}})
    failed = refusal(*SEARCHED, intervened, chunk(b"Sorry, I can't help with that."))
    assert failed.cause is Reason.GUARDRAIL
    assert turn(*SEARCHED, intervened, ANSWER).text  # masked, perhaps, and an answer still


@pytest.mark.parametrize(
    "payload", [b"[]", b"nothing", b'{"bytes": "*"}', b'{"bytes": 5}', b"\xff", b'{"bytes": []}']
)
def test_messages_whose_payload_is_none_are_a_damaged_stream_or_silence(payload):
    from knowledge_rag.local.bedrock.streams import message
    from tests.support.advisors import decoded

    headers = {":message-type": "event", ":event-type": "chunk"}
    data = encoded(*SEARCHED) + message({**headers, ":content-type": "application/json"}, payload)
    with pytest.raises(ModelFailed) as failed:
        read_turn(decoded(data), ACTION_GROUP)
    assert failed.value.cause is Reason.MALFORMED_RESPONSE
    assert len(failed.value.found.ledger) == 1


# framing


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_stream_is_whole_or_it_is_not_whatever_pieces_it_comes_in(size):
    data = encoded(*SEARCHED, ANSWER)
    ends = {0, len(data)} | {len(encoded(*SEARCHED[:n])) for n in (1, 2)}
    framing, taken = Framing(), 0
    while taken < len(data):
        assert framing.is_whole == (taken in ends)
        assert framing.take(data[taken : taken + size])
        taken += size
    assert framing.is_whole


@pytest.mark.parametrize("data", [b"<html>502 Bad Gateway</html>", b"\0\0\0\0" * 4])
def test_what_is_no_stream_is_told_at_once(data):
    framing = Framing()
    taken = framing.take(data)
    assert not (taken and framing.is_whole)
