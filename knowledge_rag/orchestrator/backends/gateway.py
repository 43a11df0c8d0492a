"""Asks an AgentCore gateway: the Model Context Protocol over streamable HTTP."""

from __future__ import annotations

import itertools
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import botocore.session
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError

from knowledge_rag.core.bedrock import leave_time_to_parse
from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings, RetrievalFailed
from knowledge_rag.core.net.clients import create_transport
from knowledge_rag.core.net.connect import Endpoint, is_loopback
from knowledge_rag.core.outcome import MAX_TOOL_RESULTS, Reason
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS
from knowledge_rag.orchestrator.backends import mcp_messages as mcp
from knowledge_rag.orchestrator.backends.arguments import to_arguments
from knowledge_rag.orchestrator.backends.lazily import Lazily

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from botocore.awsrequest import AWSResponse

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.net.transport import Transport
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.backends.authorisation import Authorisation

CLIENT_NAME: Final = "knowledge-rag"
MAX_TOOL_PAGES: Final = 10
"""Pages of a gateway's tools that are looked through."""

_SESSION_ENDED: Final = (400, 404)
"""How a gateway answers for a session that it no longer knows: 404 by the protocol, 400 by many."""


@dataclass(frozen=True, slots=True)
class _Session:
    """What was agreed on: headers of each request, and the tool's name, ``""`` until found."""

    headers: Mapping[str, str]
    tool: str


class KnowledgeGateway:
    """A gateway's tool ``retrieve_knowledge``.

    The session begins with the first query, is shared by all threads, and begins anew when the
    gateway no longer knows it.

    Args:
        url: of the gateway; plain HTTP on loopback only.
        authorisation: a signature (``bedrock-agentcore:InvokeGateway``) or a token.
        tool: its whole name, ``<target>___retrieve_knowledge``; ``""`` looks for it in the gateway's
            list, where there has to be exactly one.

    Raises:
        InvalidSettings: the address is none, or would carry requests without encryption.
    """

    name = "gateway"

    def __init__(self, url: str, authorisation: Authorisation, *, tool: str = "") -> None:
        _check_address(url)
        self._url = url
        self._authorisation = authorisation
        self._tool = tool
        self._transport: Lazily[Transport] = Lazily("transport", _create_transport)
        self._numbers = itertools.count(1)
        self._beginning = threading.Lock()
        self._session: _Session | None = None

    def prepare(self, deadline: Deadline) -> None:
        """Begin the session; see ``Way``."""
        self._begun(deadline)

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Call the tool, which returns more than MAX_TOOL_RESULTS of one document only; see ``Way``."""
        most = MAX_TOOL_RESULTS if query.source_file is None else MAX_SERVICE_RESULTS
        arguments = to_arguments(query, most_results=most)
        result = self._call(arguments, deadline)
        return read_outcome(mcp.tool_body(result), max_results=query.max_results)

    def close(self) -> None:
        """Close every connection."""
        transport = self._transport.made()
        if transport is not None:
            transport.close()

    def _call(self, arguments: Mapping[str, object], deadline: Deadline) -> Mapping[str, Any]:
        known = self._session
        session = known if known and known.tool else self._begun(deadline)
        try:
            return self._call_in(session, arguments, deadline)
        except ClientError as error:
            if known is None or error.response["ResponseMetadata"]["HTTPStatusCode"] not in (
                _SESSION_ENDED
            ):
                raise
        self._forget(session)
        return self._call_in(self._begun(deadline), arguments, deadline)

    def _call_in(
        self, session: _Session, arguments: Mapping[str, object], deadline: Deadline
    ) -> Mapping[str, Any]:
        parameters = {"name": session.tool, "arguments": arguments}
        try:
            result, _ = self._request("tools/call", parameters, session.headers, deadline)
        except RetrievalFailed as failure:
            if failure.permanent:  # the tool may have another name by now
                self._forget(session)
            raise
        return result

    def _begun(self, deadline: Deadline) -> _Session:
        with self._one_at_a_time(deadline):
            try:
                return self._go_on_beginning(deadline)
            except ClientError:  # what has begun is not known there
                self._session = None
                raise

    def _go_on_beginning(self, deadline: Deadline) -> _Session:
        # Step by step: where the whole takes longer than one query may, the next one goes on.
        if self._session is None:
            self._session = _Session(self._initialize(deadline), self._tool)
        if not self._session.tool:
            tool = self._find_tool(self._session.headers, deadline)
            self._session = replace(self._session, tool=tool)
        return self._session

    def _initialize(self, deadline: Deadline) -> dict[str, str]:
        about = mcp.introduction(CLIENT_NAME)
        result, response = self._request("initialize", about, {}, deadline)
        headers = {"MCP-Protocol-Version": mcp.protocol_of(result)}
        if "mcp-session-id" in response.headers:
            headers["Mcp-Session-Id"] = mcp.session_id(response.headers["mcp-session-id"])
        self._send(mcp.notification("notifications/initialized"), headers, deadline)
        return headers

    def _find_tool(self, headers: Mapping[str, str], deadline: Deadline) -> str:
        fitting: list[str] = []
        page: dict[str, object] = {}
        for _ in range(MAX_TOOL_PAGES):
            listed, _response = self._request("tools/list", page, headers, deadline)
            fitting += mcp.fitting(mcp.tool_names(listed))
            if not isinstance(listed.get("nextCursor"), str):
                break
            page = {"cursor": listed["nextCursor"]}
        if len(fitting) != 1:  # which of two knowledge bases is meant, nobody can guess
            code = "NoSuchTool" if not fitting else "SeveralTools"
            raise RetrievalFailed(Reason.CONFIGURATION, code=code, permanent=True)
        return fitting[0]

    def _forget(self, session: _Session) -> None:
        if self._session is session:
            self._session = None

    def _request(
        self,
        method: str,
        parameters: Mapping[str, object],
        headers: Mapping[str, str],
        deadline: Deadline,
    ) -> tuple[dict[str, Any], AWSResponse]:
        number = next(self._numbers)
        response = self._send(mcp.request(number, method, parameters), headers, deadline)
        data = response.content
        leave_time_to_parse(data, deadline)
        kind = response.headers.get("content-type", "")
        return mcp.read_result(data, kind, number), response

    def _send(self, message: bytes, headers: Mapping[str, str], deadline: Deadline) -> AWSResponse:
        request = AWSRequest("POST", self._url, {**mcp.HEADERS, **headers}, message)
        transport = self._transport.get(deadline)
        self._authorisation.apply(request, deadline)
        with deadline.applied():
            response = transport.send(request.prepare())
        _check_status(response)
        return response

    @contextmanager
    def _one_at_a_time(self, deadline: Deadline) -> Iterator[None]:
        if not self._beginning.acquire(timeout=deadline.remaining()):
            raise DeadlineExceeded("another query's session did not begin in time")
        try:
            yield
        finally:
            self._beginning.release()


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        here = parts.scheme == "http" and is_loopback(host)
        usable = host and (parts.scheme == "https" or here) and parts.username is None
        Endpoint.of(parts)
    except (InvalidSettings, ValueError):  # a port or an address that is none
        usable = False
    if not usable:  # told without it: it may hold a password
        raise InvalidSettings("the gateway's address must be https://host/path, without a user")


def _check_status(response: AWSResponse) -> None:
    """Raise what botocore would, so that one table says what a status means; redirects are errors."""
    status = response.status_code
    if 200 <= status < 300:
        return
    request_id = response.headers.get("x-amzn-requestid", "")
    answer = {
        "Error": {"Code": f"Http{status}"},
        "ResponseMetadata": {"HTTPStatusCode": status, "RequestId": request_id},
    }
    raise ClientError(answer, "InvokeGateway")  # type: ignore[arg-type] # the stubs want more


def _create_transport() -> Transport:
    try:
        return create_transport(botocore.session.get_session())
    except (BotoCoreError, OSError, ValueError) as error:
        raise InvalidSettings(f"AWS settings: {error}") from error
