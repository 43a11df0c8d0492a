"""What an agent writes is heard while it writes, and nothing of a call that was given up."""

import asyncio
import json
import threading
from contextlib import closing

import pytest

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.server import serving
from knowledge_rag.local.bedrock.invoke_agent import chunk
from knowledge_rag.local.bedrock.streams import CONTENT_TYPE
from knowledge_rag.orchestrator.advisors.bedrock_agent import AgentSettings, BedrockAgentAdvisor
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.retrieval import Findings
from tests.support.advisors import INCIDENT, body_of, encoded, searched
from tests.support.evidence import passage

HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
SEARCHED = encoded(*searched(body_of(passage("runbooks/rds.md"))))
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
        sock.sendall(HEAD + piece(SEARCHED) + piece(FIRST))
        assert hearing.began.wait(20)
        sock.sendall(piece(SECOND) + END)
        server.stopping.wait(20)

    advice, hearing, request = listen(script)
    assert request["streamingConfigurations"] == {"streamFinalResponse": True}
    assert hearing.heard == ["1. Promote the r", "\u00e9plica [1]."]
    assert hearing.sources == [1, 1]
    assert advice.text == "".join(hearing.heard)


@pytest.mark.parametrize("broken", [SECOND[:9], b"<html>busy</html>", SECOND[:-1] + b"x"])
def test_a_stream_that_breaks_keeps_the_evidence_that_came_before(listen, broken):
    def script(sock, server, _hearing):
        server.read_request(sock)
        sock.sendall(HEAD + piece(SEARCHED) + piece(FIRST) + piece(broken) + END)

    failed, hearing, _ = listen(script)
    assert isinstance(failed, ModelFailed)
    assert failed.cause is Reason.MALFORMED_RESPONSE
    assert len(failed.found.ledger) == 1
    assert hearing.heard == ["1. Promote the r"]


def test_silence_in_the_middle_ends_at_the_deadline_with_the_evidence(listen):
    def script(sock, server, _hearing):
        server.read_request(sock)
        sock.sendall(HEAD + piece(SEARCHED) + piece(FIRST))
        server.stopping.wait(20)

    failed, *_ = listen(script, seconds=0.6)
    assert failed.cause is Reason.TIMEOUT
    assert len(failed.found.ledger) == 1


def test_nothing_is_heard_of_a_call_that_was_given_up(aws_environment):
    hearing, sent = Hearing(), threading.Event()

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD + piece(SEARCHED) + piece(FIRST))
        assert sent.wait(20)
        sock.sendall(piece(SECOND) + END)

    async def given_up(advisor):
        writing = asyncio.create_task(advisor.advise_live(INCIDENT, Findings(), hearing))
        await asyncio.to_thread(hearing.began.wait, 20)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        sent.set()
        await asyncio.to_thread(advisor.close)  # waits for the thread

    with serving(script) as server:
        aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", server.url)
        settings = AgentSettings("AGENT00001", "ALIAS00001", "eu-west-1", 20.0)
        asyncio.run(given_up(BedrockAgentAdvisor(settings)))
    assert hearing.heard == ["1. Promote the r"]
