"""One call of the handler for one fuzzed input, without a server.

Handler, botocore client, :class:`Transport`, ``http.client`` and :class:`DeadlineSocket` are the
real ones. Only the connector is not: where it would dial, it gives one end of a socket pair whose
other end holds the whole response already. That is the innermost place at which every byte still
takes the product's own way, and about a thousand calls a second fit in there, where a server with
its thread and its connections would leave coverage guidance a few hundred.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from dataclasses import dataclass, field
from functools import lru_cache
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, cast

from botocore.awsrequest import AWSRequest

from knowledge_rag.core.bedrock import SERVICE_NAME
from knowledge_rag.core.net.connect import Connector
from knowledge_rag.core.net.deadline import Deadline, DeadlineSocket
from knowledge_rag.core.net.transport import Transport
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.server import http
from lambdas.retrieve_knowledge.service import service
from tests.support.fixtures import invoke
from tests.support.invariant import CANARY, Asked, assert_invariant
from tests.support.strategies import gateway_context

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

    from knowledge_rag.core.net.connect import Endpoint

STATUSES = ("200 OK", "400 Bad", "403 No", "404 None", "429 Slow", "500 Oops", "503 Busy")
UNDIALLED = "http://127.0.0.1:9"
"""The endpoint, which nobody connects to."""
OWN = b"the second answer"
HEALTHY = json.dumps(retrieved(item(), item(start=40))).encode()
TOOLS = (None, "knowledge___retrieve_knowledge", "other___tool", "")


@dataclass(frozen=True)
class _Replay(Connector):
    """Opens connections on which the response has already arrived."""

    peers: list[socket.socket] = field(default_factory=list)
    response: list[bytes] = field(default_factory=lambda: [b""])

    def open(self, deadline: Deadline) -> DeadlineSocket:
        while self.peers:  # that end of an earlier exchange
            self.peers.pop().close()
        ours, theirs = socket.socketpair()
        self.peers.append(theirs)
        theirs.sendall(self.response[0])
        theirs.shutdown(socket.SHUT_WR)
        return DeadlineSocket(ours, deadline)


class Replayed:
    """The process's service, whose every exchange is answered as it is told.

    Attributes:
        body: of the last response, as HTTP read it.
    """

    def __init__(self) -> None:
        self._response = b""
        self._connectors: list[_Replay] = []
        self.body = b""
        self._transport = Transport(self._connector)
        client = service().client
        events, before_send = client.api.meta.events, f"before-send.{SERVICE_NAME}.Retrieve"
        events.unregister(before_send, client.transport.send)
        events.register(before_send, self._transport.send)
        events.register_first(f"before-parse.{SERVICE_NAME}.Retrieve", self._note)

    def answers(self, response: bytes) -> None:
        """Answer the next exchanges so."""
        self._transport.close()
        self.body = b""
        for connector in self._connectors:
            connector.response[0] = response
        self._response = response

    def close(self) -> None:
        """Close every socket."""
        self._transport.close()
        for connector in self._connectors:
            while connector.peers:
                connector.peers.pop().close()

    def _connector(self, endpoint: Any) -> _Replay:
        connector = _Replay(endpoint, resolver=cast("Any", None))
        connector.response[0] = self._response
        self._connectors.append(connector)
        return connector

    def _note(self, response_dict: dict[str, Any], **_: object) -> None:
        self.body = response_dict["body"]  # what HTTP made of the bytes


class _Answered(DeadlineSocket):
    """A connection whose peer answers each request at once, with what its connector is to answer."""

    def __init__(self, connector: _Answering, deadline: Deadline) -> None:
        ours, self.peer = socket.socketpair()
        super().__init__(ours, deadline)
        self._connector = connector

    def sendall(self, data: ReadableBuffer) -> None:
        super().sendall(data)
        self.peer.sendall(self._connector.answer)


@dataclass(frozen=True)
class _Answering(Connector):
    """Opens connections that stay open; ``script`` holds what is answered next, whatever is asked."""

    opened: list[_Answered] = field(default_factory=list)
    script: list[bytes] = field(default_factory=list)

    @property
    def answer(self) -> bytes:
        return self.script[0]

    def open(self, deadline: Deadline) -> DeadlineSocket:
        self.opened.append(_Answered(self, deadline))
        return self.opened[-1]


def exchange_input(data: bytes) -> dict[str, str] | None:
    """Ask twice on one transport: the second answer is the second one's, whatever the first was.

    Behind a first byte that means nothing the data are JSON: a list of what the peer sends when it is
    asked first, and one of what it sends unasked before the second request.
    """
    try:
        first, later = ("".join(parts).encode("latin-1") for parts in json.loads(data[1:]))
    except (ValueError, TypeError, RecursionError):
        return None
    made: list[_Answering] = []

    def connect(endpoint: Endpoint) -> _Answering:
        made.append(_Answering(endpoint, resolver=cast("Any", None), script=[first]))
        return made[-1]

    transport = Transport(connect)
    request = AWSRequest("POST", f"{UNDIALLED}/retrieve", data=b"{}").prepare()
    status = "ok"
    try:
        with Deadline.after(0.02).applied():
            assert transport.send(request).status_code >= 200
    except (OSError, HTTPException):
        status = "degraded"
    peers = made[0].opened
    with contextlib.suppress(OSError):
        peers[0].peer.sendall(later)
    made[0].script[0] = http(OWN)
    with Deadline.after(2.0).applied():
        assert transport.send(request).content == OWN
    transport.close()
    for opened in peers:
        opened.peer.close()
    return {"status": status}


@lru_cache(maxsize=1)
def replayed() -> Replayed:
    """Give the one of this process; the environment has to name the endpoint before."""
    return Replayed()


def response_input(data: bytes) -> Any:
    """Answer one query with ``data``, and give the body of the handler's answer.

    Its first byte says what the rest is: 0 to 6 a body under a status, else a whole HTTP response.
    """
    kind, rest = (data or b"\0")[0], data[1:]
    framed = kind < len(STATUSES)
    knowledge = replayed()
    knowledge.answers(http(rest, STATUSES[kind]) if framed else rest)
    asked = Asked({"query": f"x {CANARY}", "max_results": 3}, None, 3)
    started = time.process_time()
    invocation = invoke(asked.event)
    seconds = time.process_time() - started
    answer = assert_invariant(asked, invocation, seconds, knowledge.body)
    if framed and kind:
        assert answer["status"] == "degraded"
    return answer


def event_input(data: bytes) -> Any:
    """Call the handler with the JSON in ``data``, and give the body of its answer.

    The first byte says which tool a gateway names. ``None`` for what is not worth a call.
    """
    try:
        event = json.loads(data[1:].decode())
    except (ValueError, RecursionError):
        return None  # Lambda itself refuses it
    if any(CANARY in text for text in _ids(event)):
        return None  # an id is there to be logged
    tool = TOOLS[data[0] % len(TOOLS)]
    asked = Asked(event, None if tool is None else gateway_context(tool))
    knowledge = replayed()
    knowledge.answers(http(HEALTHY))
    started = time.process_time()
    invocation = invoke(asked.event, asked.context)
    return assert_invariant(asked, invocation, time.process_time() - started, HEALTHY)


def response_seeds() -> list[bytes]:
    """Responses to start from: a healthy one, awkward ones, errors, and other framings."""
    error = json.dumps({"__type": "ThrottlingException", "message": "slow"}).encode()
    awkward = item("a\r\nb\u2028", start=1, prefix="", score=None, page="3", tags=["x"])
    bodies = [HEALTHY, json.dumps(retrieved(awkward, guardrailAction="NONE")).encode(), b"{}"]
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HEALTHY), HEALTHY)
    closing = b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n" + HEALTHY
    wholes = [http(HEALTHY), chunked + chunk, closing, b"HTTP/1.1 100 Continue\r\n\r\n" + closing]
    framed = [bytes([0]) + body for body in bodies]
    errors = [bytes([kind]) + error for kind in range(1, len(STATUSES))]
    return [*framed, *errors, *(b"\xff" + whole for whole in wholes)]


def event_seeds() -> list[bytes]:
    """Events to start from: the three shapes."""
    flat = {"query": f"x {CANARY}", "max_results": 3, "service": "rds", "session_id": "s"}
    agent = {
        "messageVersion": "1.0", "agent": {"name": "a"}, "inputText": "x", "sessionId": "s",
        "actionGroup": "knowledge", "apiPath": "/retrieve", "httpMethod": "POST",
        "parameters": [{"name": "max_results", "type": "number", "value": "3.0"}],
        "requestBody": {"content": {"application/json": {"properties": [
            {"name": "query", "type": "string", "value": f"x {CANARY}"}]}}},
        "sessionAttributes": {"incident_id": "INC-1"},
        "promptSessionAttributes": {"knowledgeRagQueries": "2"},
    }  # fmt: skip
    return [
        b"\0" + json.dumps(agent).encode(),
        b"\0" + json.dumps(flat).encode(),
        b"\1" + json.dumps({"query": f"x {CANARY}"}).encode(),
    ]


def exchange_seeds() -> list[bytes]:
    """What a peer may send: one answer, with interim ones, another behind it, cut short."""
    other = http("of another").decode()
    chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk, end = "2\r\n{}\r\n", "0\r\n\r\n"
    waits = [f"HTTP/1.1 {code} Wait\r\nLink: </a>\r\n\r\n" for code in (100, 102, 103, 101)]
    short, long = http("short", length=500).decode(), http("long", length=1).decode()
    busy, nothing = http("", "503 Busy").decode(), http("", "204 Nothing").decode()
    sent: list[tuple[list[str], list[str]]] = [
        ([other], []),
        *(([wait, other], []) for wait in waits),
        ([*waits[:3], other], []),
        (waits[2:3], [other]),
        (waits[:2], [waits[2], other]),
        ([other, other], []),
        ([other], [other]),
        ([chunked, chunk, end, other], []),
        ([chunked, chunk], [end, other]),
        *(([first], [other]) for first in (short, long, busy, nothing)),
    ]
    return [b"\0" + json.dumps(parts).encode() for parts in sent]


INPUTS: dict[str, Callable[[bytes], Any]] = {
    "event": event_input,
    "response": response_input,
    "exchange": exchange_input,
}
SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "event": event_seeds,
    "response": response_seeds,
    "exchange": exchange_seeds,
}


def _ids(event: Any) -> list[str]:
    found = []
    for key, value in event.items() if isinstance(event, dict) else ():
        if key in ("sessionId", "session_id", "incident_id") and isinstance(value, str):
            found.append(value)
        found += _ids(value)
    return found
