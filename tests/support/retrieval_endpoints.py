"""Endpoints on loopback for every way to the knowledge base, each with the real chain behind it.

``Switch`` is the one port of a way: it forwards to the real chain, or does what a fault does.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from knowledge_rag.core.retrieval import SearchSettings, SearchType
from knowledge_rag.evaluation.faults.server import RawServer
from knowledge_rag.evaluation.faults.server import http as response
from knowledge_rag.local.action_group import EVIDENCE_FLOOR_HYBRID, REGION, local_action_group
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID
from knowledge_rag.local.local_retrieval import LocalFunction
from knowledge_rag.orchestrator.backends.aws import BedrockRetrieve, RetrievalFunction
from knowledge_rag.orchestrator.backends.gateway import Bearer, KnowledgeGateway, SigV4
from tests.support.mcp_gateway import TOKEN, TOOL, McpGateway
from tests.support.patience import patient_function

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from knowledge_rag.evaluation.faults.server import Script
    from knowledge_rag.local.action_group import ActionGroup
    from knowledge_rag.local.bedrock.server import LocalBedrock
    from knowledge_rag.orchestrator.backends.bounded import BlockingBackend

ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:knowledge-rag-dev-retrieve-knowledge:live"
WAYS = ("retrieve", "function", "gateway", "gateway, token, stream", "local")


class Switch:
    """A server that forwards each request to the real chain, unless told otherwise.

    Args:
        real: from a request's head and body to the bytes of the response.

    Attributes:
        fault: bytes to answer with, or a script to play once a request was read; ``None`` for none.
        only: text that a request's body has to hold for the fault to meet it.
        tamper: what happens to each healthy response on its way.
        meeting: where healthy requests wait for each other, if anywhere.
        met: set when a request has met the fault.
    """

    def __init__(self, real: Callable[[bytes, bytes], bytes]) -> None:
        self._real = real
        self._server = RawServer(self._serve)
        self.url = self._server.url
        self.close = self._server.close
        self.reset()

    def reset(self) -> None:
        self.fault: bytes | Script | None = None
        self.only = b""
        self.tamper: Callable[[bytes], bytes] = lambda data: data
        self.meeting: threading.Barrier | None = None
        self.met = threading.Event()

    def _serve(self, sock: socket.socket, server: RawServer) -> None:
        while True:
            head, body = server.read_request(sock)
            fault = self.fault if self.only in body else None
            if fault is None:
                sock.sendall(self._answer(head, body))
                continue
            self.met.set()
            if not isinstance(fault, bytes):
                fault(sock, _already_read(server, head, body))
                return
            sock.sendall(fault)

    def _answer(self, head: bytes, body: bytes) -> bytes:
        if self.meeting is not None and self.only in body:
            self.meeting.wait(30)
        return self.tamper(self._real(head, body))


@dataclass(frozen=True)
class Endpoint:
    """One way and the switch before it.

    Attributes:
        make: gives a new way to the same switch.
        meets: whether several queries reach the switch at once.
        question: text in the body of a request that asks, and not of one that prepares for it.
    """

    switch: Switch
    make: Callable[[], BlockingBackend]
    meets: bool = True
    question: bytes = b""


@contextlib.contextmanager
def endpoint(name: str, bedrock: LocalBedrock) -> Iterator[Endpoint]:
    """Serve one of WAYS while the block runs; the environment is put back afterwards."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(patient_function(6.0))  # some wait for a silence to end
        forwarding = Switch(_forwarded(bedrock.endpoint_url))
        stack.callback(forwarding.close)
        upstream = forwarding.url if name == "local" else bedrock.endpoint_url
        function = stack.enter_context(local_action_group(upstream))
        chain = _Chain(function)
        os.environ |= {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}
        if name == "local":
            yield Endpoint(forwarding, lambda: LocalFunction(function.body), meets=False)
        elif name == "retrieve":
            os.environ["AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME"] = forwarding.url
            settings = SearchSettings(KNOWLEDGE_BASE_ID, SearchType.HYBRID, EVIDENCE_FLOOR_HYBRID)
            yield Endpoint(forwarding, lambda: BedrockRetrieve(settings, REGION))
        elif name == "function":
            switch = Switch(chain.invoke)
            stack.callback(switch.close)
            os.environ["AWS_ENDPOINT_URL_LAMBDA"] = switch.url
            yield Endpoint(switch, lambda: RetrievalFunction(ALIAS, REGION))
        else:
            yield stack.enter_context(_gateway(chain, with_token="token" in name))


@contextlib.contextmanager
def _gateway(chain: _Chain, *, with_token: bool) -> Iterator[Endpoint]:
    gateway = McpGateway(chain.call_tool)
    gateway.wants_token = gateway.streams = with_token
    switch = Switch(lambda head, body: _mcp(gateway, switch, head, body))
    authorisation = Bearer(TOKEN) if with_token else SigV4(REGION)
    try:
        url = f"{switch.url}/mcp"
        yield Endpoint(switch, lambda: KnowledgeGateway(url, authorisation), question=b"tools/call")
    finally:
        switch.close()
        gateway.close()


class _Chain:
    """The real function behind an endpoint of AWS."""

    def __init__(self, function: ActionGroup) -> None:
        self._function = function
        self._turn = threading.Lock()  # it writes to this process's standard output

    def invoke(self, head: bytes, body: bytes) -> bytes:
        """Play ``POST /2015-03-31/functions/{name}/invocations``."""
        line, headers = _parsed(head)
        assert unquote(urlsplit(line[1]).path) == f"/2015-03-31/functions/{ALIAS}/invocations"
        assert line[0] == "POST"
        assert headers["X-Amz-Invocation-Type"] == "RequestResponse"
        assert "/lambda/aws4_request" in headers["Authorization"]
        return response(self.ask(json.loads(body)))

    def call_tool(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Play the gateway's target."""
        client = SimpleNamespace(custom={"bedrockAgentCoreToolName": TOOL})
        return self.ask(arguments, SimpleNamespace(client_context=client))

    def ask(self, event: dict[str, Any], context: Any = None) -> dict[str, Any]:
        from lambdas.retrieve_knowledge.handler import lambda_handler

        with self._turn, contextlib.redirect_stdout(io.StringIO()):
            return lambda_handler(event, context)


def _mcp(gateway: McpGateway, switch: Switch, head: bytes, body: bytes) -> bytes:
    _, headers = _parsed(head)
    status, message = gateway.serve(headers, body, f"{switch.url}/mcp")
    text, kind = json.dumps(message).encode() if message else b"", "application/json"
    if gateway.streams and message:
        noise = b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}'
        text = b": hello\n\ndata: " + noise + b"\n\nevent: message\r\ndata: " + text + b"\r\n\r\n"
        kind = "text/event-stream; charset=utf-8"
    session = ("Mcp-Session-Id: session-1",)
    return response(text, f"{status} Status", content_type=kind, headers=session)


def _forwarded(url: str) -> Callable[[bytes, bytes], bytes]:
    where = urlsplit(url)

    def forward(head: bytes, body: bytes) -> bytes:
        (method, target, _), headers = _parsed(head)
        connection = http.client.HTTPConnection(where.hostname or "", where.port)
        with contextlib.closing(connection):
            connection.request(method, target, body, {"Content-Type": headers["Content-Type"]})
            answer = connection.getresponse()
            status, kind = f"{answer.status} Status", answer.headers["Content-Type"]
            return response(answer.read(), status, content_type=kind)

    return forward


def _already_read(server: RawServer, head: bytes, body: bytes) -> Any:
    """Give what a script takes for the server, whose next request has been read."""
    return SimpleNamespace(read_request=lambda _: (head, body), stopping=server.stopping)


def _parsed(head: bytes) -> tuple[list[str], Any]:
    line, _, rest = head.partition(b"\r\n")
    return line.decode().split(" "), http.client.parse_headers(io.BytesIO(rest + b"\r\n\r\n"))
