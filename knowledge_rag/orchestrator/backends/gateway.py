"""A backend that queries an AgentCore gateway: the Model Context Protocol over streamable HTTP.

It calls one tool under one deadline. The protocol's own library has an HTTP client whose timeouts apply
to a read and not to a call (``docs/decisions/0002-deadline-at-the-socket.md``).
"""

from __future__ import annotations

import itertools
import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError, ClientError

from knowledge_rag.core.background import Background
from knowledge_rag.core.bedrock import leave_time_to_parse
from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.net.clients import TimelyCredentials, create_transport
from knowledge_rag.core.net.connect import Endpoint, is_loopback
from knowledge_rag.core.outcome import MAX_TOOL_RESULTS, TARGET_SEPARATOR, TOOL_NAMES, Reason
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS
from knowledge_rag.orchestrator.backends.bounded import Lazily
from knowledge_rag.orchestrator.retrieval import to_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from botocore.awsrequest import AWSResponse
    from botocore.credentials import Credentials, ReadOnlyCredentials

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.net.transport import Transport
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query

PROTOCOL_VERSION: Final = "2025-06-18"
"""The version offered; if the gateway answers with another one, that is used."""

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
HEADERS: Final = {"Content-Type": JSON, "Accept": f"{JSON}, {EVENT_STREAM}"}

MAX_MESSAGE_CHARACTERS: Final = 300

_VERSION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAME: Final = re.compile(r"[\x21-\x7e]{1,256}")
_OUR_MISTAKES: Final = frozenset({-32700, -32600, -32601, -32602})
"""JSON-RPC's codes for a message that is wrong: no retry helps."""


class Refused(RetrievalFailed):
    """The gateway answered with an error, or its tool did.

    Args:
        message: the gateway's own words, truncated; it can quote the query, so it is never logged.
    """

    def __init__(self, reason: Reason, *, code: str, message: str) -> None:
        super().__init__(reason, code=code, permanent=reason is Reason.CONFIGURATION)
        self.message = message[:MAX_MESSAGE_CHARACTERS]


def request(number: int, method: str, parameters: Mapping[str, object]) -> bytes:
    """Return a JSON-RPC request."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
    return json.dumps(message).encode()


def notification(method: str) -> bytes:
    """Return a JSON-RPC notification, which has no answer."""
    return json.dumps({"jsonrpc": "2.0", "method": method}).encode()


def introduction(name: str) -> dict[str, object]:
    """Return the parameters of ``initialize``."""
    client = {"name": name, "version": "1"}
    return {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}


def read_result(data: bytes, content_type: str, number: int) -> dict[str, Any]:
    """Return the result of request ``number`` from a JSON body, or from the events of a stream.

    Raises:
        UnreadableResponse: it has no answer to that request.
        Refused: the answer is an error.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == EVENT_STREAM:
        messages = _events(data)
    elif kind == JSON:
        messages = [read_json(data)]
    else:
        raise UnreadableResponse("the gateway's answer is neither JSON nor an event stream")
    for message in messages:
        if isinstance(message, dict) and message.get("id") == number and "method" not in message:
            return _result(message)
    raise UnreadableResponse("the gateway's answer is to another request")


def protocol_of(initialized: Mapping[str, Any]) -> str:
    """Return the gateway's protocol version; raise UnreadableResponse if it is invalid."""
    version = initialized.get("protocolVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise UnreadableResponse("the gateway's protocol version is invalid")
    return version


def session_id(value: str) -> str:
    """Return a session's id; raise UnreadableResponse if it can't be sent as a header."""
    if not _NAME.fullmatch(value):
        raise UnreadableResponse("the gateway's session id is invalid")
    return value


def tool_names(listed: Mapping[str, Any]) -> list[str]:
    """Return the names of the listed tools; raise UnreadableResponse if there is no list."""
    tools = listed.get("tools")
    if not isinstance(tools, list):
        raise UnreadableResponse("the gateway's tools are not a list")
    names = [tool.get("name") if isinstance(tool, dict) else None for tool in tools]
    return [name for name in names if isinstance(name, str)]


def retrieval_tools(names: Sequence[str]) -> list[str]:
    """Return those of the names that are the retrieval function's."""
    return [name for name in names if name.rpartition(TARGET_SEPARATOR)[2] in TOOL_NAMES]


def tool_body(result: Mapping[str, Any]) -> object:
    """Return the tool's structured content, or the JSON in its only text.

    Raises:
        UnreadableResponse: it has neither.
        Refused: the tool failed.
    """
    if result.get("isError"):
        message = " ".join(_texts(result.get("content")))
        raise Refused(Reason.UNAVAILABLE, code="ToolError", message=message)
    if isinstance(result.get("structuredContent"), dict):
        return result["structuredContent"]
    return read_json(_only_text(result.get("content")))


def _only_text(content: object) -> str:
    texts = _texts(content)
    if len(texts) != 1:
        raise UnreadableResponse(f"the gateway's tool returned {len(texts)} texts")
    return texts[0]


def _texts(content: object) -> list[str]:
    parts: Sequence[object] = content if isinstance(content, list) else ()
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def _result(message: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in message:
        raise _refused(message["error"])
    if not isinstance(message.get("result"), dict):
        raise UnreadableResponse("the gateway's answer has no result")
    result: dict[str, Any] = message["result"]
    return result


def _refused(error: object) -> Refused:
    members = error if isinstance(error, dict) else {}
    code = members.get("code")
    number = code if isinstance(code, int) and abs(code) < 100_000 else 0
    reason = Reason.CONFIGURATION if number in _OUR_MISTAKES else Reason.UNAVAILABLE
    return Refused(reason, code=f"JsonRpc {number}", message=str(members.get("message", "")))


def _events(data: bytes) -> list[Any]:
    try:
        text = data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UnreadableResponse("the gateway's stream is not UTF-8") from error
    events = (
        [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        for event in text.split("\n\n")
    )
    return [read_json("\n".join(lines)) for lines in events if lines]


GATEWAY_SERVICE: Final = "bedrock-agentcore"

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,16384}")
"""RFC 6750's characters; anything else could break out of the header."""


class Authorisation(Protocol):
    """Authorises requests to a gateway. It appears in no log, error or ``repr``."""

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Add the headers.

        Raises:
            RetrievalFailed: there are no credentials.
            DeadlineExceeded: they were not available in time.
        """


class SigV4:
    """Signs each request.

    Args:
        find: returns the credentials, ``None`` if there are none; by default botocore's usual chain.
    """

    def __init__(
        self,
        region: str,
        *,
        service: str = GATEWAY_SERVICE,
        find: Callable[[], Credentials | None] | None = None,
    ) -> None:
        self._region = region
        self._service = service
        self._found: Lazily[_Signer] = Lazily(
            "credentials", lambda: _Signer((find or _usual_credentials)())
        )

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Sign the request, which must not change afterwards."""
        credentials = self._found.get(deadline).credentials(deadline)
        SigV4Auth(credentials, self._service, self._region).add_auth(request)


class Bearer:
    """Adds a bearer token.

    Args:
        token: a fixed token, checked immediately; or a function that returns a valid one, called before
            each request. It may block; an exception counts as having no token.

    Raises:
        InvalidSettings: the fixed token is invalid.
    """

    def __init__(self, token: str | Callable[[], str]) -> None:
        if isinstance(token, str):
            fixed = _checked(token)
            self._give: Callable[[], str] = lambda: fixed
        else:
            self._give = token

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Add the token."""
        asking = Background("token", self._give)
        if not asking.over.wait(deadline.remaining()):
            raise DeadlineExceeded("the token took too long")
        if asking.result is None:
            code = type(asking.error).__name__ if asking.error else "NoToken"
            raise RetrievalFailed(Reason.ACCESS_DENIED, code=code, permanent=True)
        request.headers["Authorization"] = f"Bearer {_checked(asking.result)}"


class _Signer:
    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._timely = TimelyCredentials(credentials)

    def credentials(self, deadline: Deadline) -> Credentials | ReadOnlyCredentials:
        if self._credentials is None:
            raise RetrievalFailed(Reason.ACCESS_DENIED, code="NoCredentials", permanent=True)
        signing: dict[str, Credentials] = {}
        with deadline.applied():
            self._timely.renew({"signing": signing})
        renewed = signing.get("request_credentials")
        return renewed or self._credentials.get_frozen_credentials()


def _usual_credentials() -> Credentials | None:
    try:
        return botocore.session.get_session().get_credentials()
    except (BotoCoreError, OSError, ValueError) as error:
        raise InvalidSettings(f"AWS credentials: {error}") from error


def _checked(token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidSettings("the gateway's token must be one word of a bearer token's characters")
    return token


CLIENT_NAME: Final = "knowledge-rag"
MAX_TOOL_PAGES: Final = 10
"""Maximum pages of a gateway's tools that are searched."""

_SESSION_ENDED: Final = (400, 404)
"""Statuses for a session that the gateway no longer knows: 404 in the protocol, 400 from many gateways."""


@dataclass(frozen=True, slots=True)
class _Session:
    """Headers of each request, and the tool's name, ``""`` until found."""

    headers: Mapping[str, str]
    tool: str


class KnowledgeGateway:
    """A gateway's tool ``retrieve_knowledge``.

    The session begins with the first query, is shared by all threads, and begins anew if the
    gateway no longer knows it.

    Args:
        url: of the gateway; plain HTTP on loopback only.
        authorisation: a signature (``bedrock-agentcore:InvokeGateway``) or a token.
        tool: its full name, ``<target>___retrieve_knowledge``; ``""`` searches the gateway's list, which
            has to contain exactly one.

    Raises:
        InvalidSettings: the address is invalid, or would carry requests without encryption.
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
        """Begin the session; see ``BlockingBackend``."""
        self._begun(deadline)

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Call the tool, which returns more than MAX_TOOL_RESULTS only of a single document; see ``BlockingBackend``."""
        most = MAX_TOOL_RESULTS if query.source_file is None else MAX_SERVICE_RESULTS
        arguments = to_arguments(query, most_results=most)
        result = self._call(arguments, deadline)
        return read_outcome(tool_body(result), max_results=query.max_results)

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
            except ClientError:  # the gateway doesn't know the session
                self._session = None
                raise

    def _go_on_beginning(self, deadline: Deadline) -> _Session:
        # Step by step: if the whole takes longer than one query may, the next one continues.
        if self._session is None:
            self._session = _Session(self._initialize(deadline), self._tool)
        if not self._session.tool:
            tool = self._find_tool(self._session.headers, deadline)
            self._session = replace(self._session, tool=tool)
        return self._session

    def _initialize(self, deadline: Deadline) -> dict[str, str]:
        about = introduction(CLIENT_NAME)
        result, response = self._request("initialize", about, {}, deadline)
        headers = {"MCP-Protocol-Version": protocol_of(result)}
        if "mcp-session-id" in response.headers:
            headers["Mcp-Session-Id"] = session_id(response.headers["mcp-session-id"])
        self._send(notification("notifications/initialized"), headers, deadline)
        return headers

    def _find_tool(self, headers: Mapping[str, str], deadline: Deadline) -> str:
        fitting: list[str] = []
        page: dict[str, object] = {}
        for _ in range(MAX_TOOL_PAGES):
            listed, _response = self._request("tools/list", page, headers, deadline)
            fitting += retrieval_tools(tool_names(listed))
            if not isinstance(listed.get("nextCursor"), str):
                break
            page = {"cursor": listed["nextCursor"]}
        if len(fitting) != 1:  # of two knowledge bases, it is unknown which is meant
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
        response = self._send(request(number, method, parameters), headers, deadline)
        data = response.content
        leave_time_to_parse(data, deadline)
        kind = response.headers.get("content-type", "")
        return read_result(data, kind, number), response

    def _send(self, message: bytes, headers: Mapping[str, str], deadline: Deadline) -> AWSResponse:
        request = AWSRequest("POST", self._url, {**HEADERS, **headers}, message)
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
    except (InvalidSettings, ValueError):  # an invalid port or address
        usable = False
    if not usable:  # not quoted, since it may contain a password
        raise InvalidSettings("the gateway's address must be https://host/path, without a user")


def _check_status(response: AWSResponse) -> None:
    """Raise botocore's error, so that one table maps all statuses; redirects are errors."""
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
