"""How the agent is asked: what it is told, in whose session, and what its refusals amount to."""

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
from knowledge_rag.local.bedrock.invoke_agent import chunk
from knowledge_rag.local.bedrock.streams import CONTENT_TYPE
from knowledge_rag.orchestrator.advisors.advisor import MAX_LIST_CHARACTERS, incident_text
from knowledge_rag.orchestrator.advisors.bedrock_agent import (
    AgentSettings,
    BedrockAgentAdvisor,
    input_text,
)
from knowledge_rag.orchestrator.advisors.calls import MAX_THREADS
from knowledge_rag.orchestrator.composition import recommend
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS, MAX_NAME, MAX_TEXT
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.retrieval import Findings
from tests.support.advisors import INCIDENT, advise, body_of, encoded, searched
from tests.support.evidence import passage

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


def test_a_session_that_goes_on_is_one_incidents_and_nobody_elses(asking):
    names = ["INC 7", "INC-7", "INC_7", "x" * 80, "x" * 81, "\u969c\u5bb3", "\u00e9", "INC 7"]
    incidents = [Incident(incident_id=name, title="RDS failover") for name in names]
    _, requests = asking(answering(STREAM), incidents=incidents, fresh_sessions=False)
    found = sessions(requests)
    assert all(SESSION.fullmatch(one) for one in found)
    assert found[0] == found[-1]
    assert len(set(found)) == len(names) - 1


def test_without_an_id_there_is_no_session_to_go_on_with(asking):
    unnamed = Incident(title="RDS failover")
    _, requests = asking(answering(STREAM), incidents=(unnamed,) * 2, fresh_sessions=False)
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
    told, requests = asking(*scripts, incidents=(INCIDENT,) * 3, seconds=1.0)
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
