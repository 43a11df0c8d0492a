"""How the agent is asked: what it is told, in whose session, and what its refusals amount to."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.deadline import DEFAULT_DEADLINE_SECONDS
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.evaluation.faults.server import (
    REQUEST_ID,
    answering,
    dripping,
    http,
    resetting,
    sending,
    serving,
    silent,
)
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.invoke_agent import chunk, failure
from knowledge_rag.local.bedrock.wire import CONTENT_TYPE, Event
from knowledge_rag.orchestrator.advisors.advisor import MAX_LIST_CHARACTERS, incident_text
from knowledge_rag.orchestrator.advisors.bedrock_agent import (
    NOT_TRACED,
    AgentSettings,
    BedrockAgentAdvisor,
    Framing,
    TurnReader,
    input_text,
    read_turn,
)
from knowledge_rag.orchestrator.advisors.calls import MAX_THREADS
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS, MAX_NAME, MAX_TEXT
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import Findings
from knowledge_rag.orchestrator.written import recommend
from tests.support import misbehaving_agents
from tests.support.advisors import INCIDENT, TRACES, advise, body_of, encoded, searched, turn
from tests.support.evidence import passage
from tests.support.patience import longer
from tests.support.scripted import return_control

SETTINGS = AgentSettings("AGENT00001", "ALIAS00001", "eu-west-1")
ANSWERED = encoded(
    *searched(body_of(passage("runbooks/rds.md"))),
    chunk(b"1. Promote the replica [Source: runbooks/rds.md, lines 3-3]."),
)
STREAM = http(ANSWERED, content_type=CONTENT_TYPE)
SESSION = re.compile(r"[0-9a-zA-Z._:-]{2,100}")


@pytest.fixture
def asking(aws_environment):
    """Ask a server that plays a script a connection; gives each advice or failure, and the requests."""

    def ask(*scripts, incidents=(INCIDENT,), seconds=30.0, **options):
        settings = AgentSettings("AGENT00001", "ALIAS00001", "eu-west-1", seconds, **options)
        with serving(*scripts) as server:
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
            with closing(BedrockAgentAdvisor(settings)) as advisor:
                asyncio.run(advisor.prepare())  # is no part of the first one's time
                told = [advised(advisor, incident) for incident in incidents]
            return told, [(head.decode(), json.loads(body)) for head, body in server.requests]

    return ask


def advised(advisor, incident):
    try:
        return asyncio.run(advisor.advise(incident, Findings()))
    except ModelFailed as failed:
        return failed


def sessions(requests):
    return [head.split("/sessions/")[1].split("/")[0] for head, _ in requests]


# what it is asked


def test_the_request_is_signed_and_wants_the_trace(asking):
    (advice,), ((head, body),) = asking(answering(STREAM))
    assert head.startswith("POST /agents/AGENT00001/agentAliases/ALIAS00001/sessions/INC-7-")
    assert "/eu-west-1/bedrock/aws4_request" in head
    assert body == {
        "inputText": input_text(INCIDENT),
        "enableTrace": True,
        "sessionState": {"sessionAttributes": {"incident_id": "INC-7"}},
    }
    assert advice.advisor == "bedrock-agent"
    recommendation = recommend(INCIDENT, advice)
    assert recommendation.guidance[0].citations[0].citation.start_line == 3


def test_the_agent_is_told_the_incident_and_the_queries():
    said = input_text(INCIDENT)
    assert "Incident: INC-7\nTitle: RDS failover\nService: rds\n" in said
    texts = dict.fromkeys(query.text for query in build_queries(INCIDENT))  # each once
    numbered = [f"{n}. {text}" for n, text in enumerate(texts, 1)]
    assert said.endswith("\n".join(["Search with these queries:", *numbered]))
    assert len(numbered) == 2


def test_what_is_told_is_bounded_whatever_the_incident_is():
    lists = dict.fromkeys(("signals", "evidence", "history"), ("x" * MAX_TEXT,) * MAX_ITEMS)
    names = dict.fromkeys(("incident_id", "alert_name", "service", "severity"), "n" * MAX_NAME)
    largest = Incident(**lists, **names, title="t" * MAX_TEXT, description="d" * MAX_TEXT)
    said = incident_text(largest)
    assert len(said) <= 18_000
    assert said.count("x" * MAX_TEXT) == 3 * (MAX_LIST_CHARACTERS // MAX_TEXT)
    assert said.count(f"- ({MAX_ITEMS - 2} more)") == 3
    assert said.count("\n") == 5 + 3 * 4
    assert incident_text(Incident()) == ""


def test_an_incident_of_which_nothing_is_known_costs_no_call():
    advice = advise(BedrockAgentAdvisor(SETTINGS), Incident(incident_id="INC-8"), Findings())
    assert recommend(Incident(), advice).status is Status.NO_MATCH


# sessions


def test_each_advice_has_a_session_of_its_own(asking):
    _, requests = asking(answering(STREAM), incidents=(INCIDENT,) * 2)
    first, second = sessions(requests)
    assert first != second
    assert first.startswith("INC-7-")


def test_an_incident_without_an_id_names_none(asking):
    unnamed = Incident(title="RDS failover")
    _, requests = asking(answering(STREAM), incidents=(unnamed,) * 2)
    assert len(set(sessions(requests))) == 2
    assert "sessionState" not in requests[0][1]


def test_a_session_id_fits_the_service_whatever_the_incident_is_called(asking):
    odd = Incident(incident_id="/\u2028 \U0001f98a" * 40, title="RDS failover")
    _, requests = asking(answering(STREAM), incidents=(odd,))
    assert SESSION.fullmatch(sessions(requests)[0])


# what goes wrong


ERRORS = [
    ("429 Too Many Requests", "ThrottlingException", Reason.THROTTLED),
    ("403 Forbidden", "AccessDeniedException", Reason.ACCESS_DENIED),
    ("400 Bad Request", "ValidationException", Reason.CONFIGURATION),
    ("404 Not Found", "ResourceNotFoundException", Reason.CONFIGURATION),
    ("424 Failed Dependency", "DependencyFailedException", Reason.UNAVAILABLE),
    ("424 Failed Dependency", "ModelNotReadyException", Reason.UNAVAILABLE),
    ("500 Internal Server Error", "InternalServerException", Reason.UNAVAILABLE),
    ("503 Service Unavailable", "", Reason.UNAVAILABLE),
]


def test_an_error_in_place_of_a_stream_is_a_failure_without_its_message(asking):
    refusals = [
        http(
            {"message": "secret question"},
            status,
            headers=(f"x-amzn-ErrorType: {code}",) if code else (),
        )
        for status, code, _ in ERRORS
    ]
    told, requests = asking(answering(*refusals, STREAM), incidents=(INCIDENT,) * 9)
    assert [failed.reason for failed in told[:-1]] == [
        f"{reason}: {code or status[:3]} {REQUEST_ID}" for status, code, reason in ERRORS
    ]
    assert len(requests) == 9
    assert recommend(INCIDENT, told[-1]).status is Status.OK


def test_a_stream_that_is_none_is_a_failure_and_the_next_one_is_healthy(asking):
    damaged = (
        ANSWERED[:-4],
        ANSWERED[: len(ANSWERED) // 2],
        b"<html>no stream</html>",
        b"",
    )
    answers = [http(data, content_type=CONTENT_TYPE) for data in damaged]
    cut = http(ANSWERED, content_type=CONTENT_TYPE, length=len(ANSWERED) + 9)
    scripts = (resetting, sending(cut), answering(*answers, STREAM))
    told, _ = asking(*scripts, incidents=(INCIDENT,) * 7)
    causes = [failed.cause for failed in told[:-1]]
    assert causes == [Reason.UNAVAILABLE, *[Reason.MALFORMED_RESPONSE] * 5]
    assert recommend(INCIDENT, told[-1]).status is Status.OK


def test_an_answer_that_was_cut_within_a_message_is_no_shorter_answer(asking):
    longer = ANSWERED + encoded(chunk(b" Only if the lag is below 5 s."))
    cut = http(longer[:-1], content_type=CONTENT_TYPE)
    (failed,), _ = asking(answering(cut))
    assert failed.reason == f"malformed_response: NotAnEventStream {REQUEST_ID}"


def paced(response, *, seconds, parts=20):
    """Send a response in equal parts, so that it is complete after so many seconds."""

    def script(sock, server):
        server.read_request(sock)
        step = len(response) // parts + 1
        for start in range(0, len(response), step):
            sock.sendall(response[start : start + step])
            server.stopping.wait(seconds / parts)

    return script


def test_an_answer_may_take_longer_than_a_query(asking):
    (advice,), _ = asking(paced(STREAM, seconds=DEFAULT_DEADLINE_SECONDS + 0.4))
    assert recommend(INCIDENT, advice).status is Status.OK


def test_neither_silence_nor_a_drip_outlasts_the_deadline(asking):
    drip = dripping(STREAM, at_once=len(STREAM) - 300, seconds=0.05)
    incomplete = http(ANSWERED, content_type=CONTENT_TYPE, length=len(ANSWERED) + 9)
    scripts = (silent, drip, answering(incomplete))
    for seconds in longer(0.4):
        told, requests = asking(*scripts, incidents=(INCIDENT,) * 3, seconds=seconds)
        if len(requests) == 3:
            break
    assert [failed.cause for failed in told] == [Reason.TIMEOUT] * 3
    assert len(requests) == 3


def test_a_cancellation_is_passed_on(aws_environment):
    reached = threading.Event()

    def waiting(sock, server):
        server.read_request(sock)
        reached.set()
        server.stopping.wait()

    async def cancelled(advisor):
        task = asyncio.create_task(advisor.advise(INCIDENT, Findings()))
        await asyncio.to_thread(reached.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with closing(BedrockAgentAdvisor(SETTINGS)) as advisor, serving(waiting) as server:
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
        asyncio.run(cancelled(advisor))


def test_who_leaves_takes_the_exchange_with_him(aws_environment):
    reached, hung_up = threading.Semaphore(0), threading.Semaphore(0)

    def waiting(sock, server):
        server.read_request(sock)
        reached.release()
        sock.settimeout(100)
        if sock.recv(1) == b"":
            hung_up.release()

    async def left(advisor):
        tasks = [
            asyncio.create_task(advisor.advise(INCIDENT, Findings())) for _ in range(MAX_THREADS)
        ]
        for _ in tasks:
            await asyncio.to_thread(reached.acquire)
        for task in tasks:
            task.cancel()
        for _ in tasks:
            assert await asyncio.to_thread(hung_up.acquire, timeout=60)

    settings = replace(SETTINGS, seconds=300.0)
    with (
        closing(BedrockAgentAdvisor(settings)) as advisor,
        serving(*[waiting] * MAX_THREADS) as server,
    ):
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
        asyncio.run(left(advisor))


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_id": ""},
        {"agent_id": "AGENT-0001"},
        {"agent_alias_id": "A" * 11},
        {"seconds": 0.0},
        {"seconds": float("nan")},
        {"seconds": float("inf")},
    ],
)
def test_settings_that_no_agent_has_are_refused(wrong):
    good = {"agent_id": "AGENT00001", "agent_alias_id": "ALIAS00001", "region": "eu-west-1"}
    with pytest.raises(InvalidSettings):
        AgentSettings(**(good | wrong))


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
    part = chunk(b"[1]")
    cited = {"citations": [{"retrievedReferences": [{"content": {"text": body}}]}]}
    written = (
        TRACES.rationale(0, body),
        TRACES.tool_input(0, [{"name": "query", "value": body}]),
        TRACES.final_response(1, body),
        part._replace(payload={**part.payload, "attribution": cited}),
    )
    for event in written:
        reader = TurnReader()
        reader.take({event.kind: event.payload})
        assert reader.findings().asked == ()
    collaborator = {"agentCollaboratorInvocationOutput": {"output": {"text": body}}}
    reader = TurnReader()
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
    from knowledge_rag.local.bedrock.wire import message
    from tests.support.advisors import decoded

    headers = {":message-type": "event", ":event-type": "chunk"}
    data = encoded(*SEARCHED) + message({**headers, ":content-type": "application/json"}, payload)
    with pytest.raises(ModelFailed) as failed:
        read_turn(decoded(data))
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


HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
STREAMED = encoded(*searched(body_of(passage("runbooks/rds.md"))))
FIRST = encoded(chunk("1. Promote the r\u00e9".encode()[:-1]))
SECOND = encoded(chunk("\u00e9".encode()[1:] + b"plica [1]."))
END = b"0\r\n\r\n"


def piece(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Hearing:
    def __init__(self):
        self.heard, self.sources, self.began = [], [], threading.Event()

    def wrote(self, text, findings):
        self.heard.append(text)
        self.sources.append(len(findings.ledger))
        self.began.set()


@pytest.fixture
def listen(aws_environment):
    """Follow an agent that a script plays; gives what came of it, what was heard, and the request."""

    def listened(script, seconds=30.0):
        hearing = Hearing()
        settings = AgentSettings("AGENT00001", "ALIAS00001", "eu-west-1", seconds)
        with serving(lambda sock, server: script(sock, server, hearing)) as server:
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
            with closing(BedrockAgentAdvisor(settings)) as advisor:
                asyncio.run(advisor.prepare())
                try:
                    came = asyncio.run(advisor.advise_live(INCIDENT, Findings(), hearing))
                except ModelFailed as failed:
                    came = failed
            return came, hearing, json.loads(server.requests[0][1])

    return listened


def test_it_is_heard_before_the_agent_has_ended_with_its_evidence(listen):
    def script(sock, server, hearing):
        server.read_request(sock)
        sock.sendall(HEAD + piece(STREAMED) + piece(FIRST))
        assert hearing.began.wait(60)
        sock.sendall(piece(SECOND) + END)
        server.stopping.wait(60)

    advice, hearing, request = listen(script)
    assert request["streamingConfigurations"] == {"streamFinalResponse": True}
    assert hearing.heard == ["1. Promote the r", "\u00e9plica [1]."]
    assert hearing.sources == [1, 1]
    assert advice.text == "".join(hearing.heard)


@pytest.mark.parametrize("broken", [SECOND[:9], b"<html>busy</html>", SECOND[:-1] + b"x"])
def test_a_stream_that_breaks_keeps_the_evidence_that_came_before(listen, broken):
    def script(sock, server, _hearing):
        server.read_request(sock)
        sock.sendall(HEAD + piece(STREAMED) + piece(FIRST) + piece(broken) + END)

    failed, hearing, _ = listen(script)
    assert isinstance(failed, ModelFailed)
    assert failed.cause is Reason.MALFORMED_RESPONSE
    assert len(failed.found.ledger) == 1
    assert hearing.heard == ["1. Promote the r"]


def test_silence_in_the_middle_ends_at_the_deadline_with_the_evidence(listen):
    def script(sock, server, _hearing):
        server.read_request(sock)
        sock.sendall(HEAD + piece(STREAMED) + piece(FIRST))
        server.stopping.wait(60)

    for seconds in longer(0.4):
        failed, *_ = listen(script, seconds=seconds)
        if failed.found.ledger:
            break
    assert failed.cause is Reason.TIMEOUT
    assert len(failed.found.ledger) == 1


def test_nothing_is_heard_of_a_call_that_was_given_up(aws_environment):
    hearing, sent = Hearing(), threading.Event()

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD + piece(STREAMED) + piece(FIRST))
        assert sent.wait(60)
        sock.sendall(piece(SECOND) + END)

    async def given_up(advisor):
        writing = asyncio.create_task(advisor.advise_live(INCIDENT, Findings(), hearing))
        await asyncio.to_thread(hearing.began.wait, 60)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        sent.set()
        await asyncio.to_thread(advisor.close)  # waits for the thread

    with serving(script) as server:
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
        settings = AgentSettings("AGENT00001", "ALIAS00001", "eu-west-1", 120.0)
        asyncio.run(given_up(BedrockAgentAdvisor(settings)))
    assert hearing.heard == ["1. Promote the r"]
