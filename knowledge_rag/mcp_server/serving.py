"""Serves MCP over standard input and output, or over HTTP; beyond loopback, only with access tokens."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.responses import JSONResponse

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.connect import is_loopback
from knowledge_rag.local.http_server import LOOPBACK, BoundedConnection, http_server, listening_on
from knowledge_rag.mcp_server.tokens import RETRY_SECONDS, AccessTokens, IssuerKeys, KeysUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import ObjectSendStream
    from mcp.server import Server
    from mcp_types import RequestId
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from knowledge_rag.mcp_server.tokens import Access

PATH: Final = "/mcp"

MAX_REQUEST_BYTES: Final = 1_048_576
"""Maximum size of a request: the longest answer to verify, escaped in JSON, takes a third of it."""

MAX_SESSIONS: Final = 1_000
"""Maximum open sessions, at about 45 kB each; one that is idle for SESSION_SECONDS ends."""

SESSION_SECONDS: Final = 1_800.0

MAX_CONNECTIONS: Final = 228
"""Maximum connections: a hundred clients may each have a stream open besides their calls."""

STOP_SECONDS: Final = 5.0
"""Time after which a server on standard input and output ends in any case: it only reads data."""


def run_stdio(server: Server[Any]) -> None:
    """Serve the parent process until it closes standard input or sends a signal.

    Only the protocol reaches standard output: meanwhile the SDK redirects descriptor 1 to standard error, and writes to
    a copy of its own.
    """
    try:
        anyio.run(_serve_until_stopped, server)
    except* BrokenPipeError:
        pass  # the client has gone, as it may


async def _serve_until_stopped(server: Server[Any]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
        lines = StandardInput(MAX_REQUEST_BYTES, taken_standard_input())
        messages = Messages(lines, MAX_REQUEST_BYTES)
        # the SDK only iterates over the file's lines
        file = cast("anyio.AsyncFile[str]", messages)
        async with stdio_server(stdin=file) as (reading, writing):
            messages.answer_by(writing)
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            # a thread that writes to a client which doesn't read can't be ended in another way
            ending = threading.Timer(STOP_SECONDS, os._exit, (0,))
            ending.daemon = True
            ending.start()
            scope.cancel()


def http_app(
    server: Server[Any], port: int, host: str = LOOPBACK, access: Access | None = None
) -> Starlette:
    """Return the application that serves clients over HTTP.

    Against DNS rebinding, requests need this server's address as their Host, and no other origin. Only the metadata of
    RFC 9728 has CORS headers.

    Without ``access``, no tokens are required.

    Raises:
        InvalidSettings: without tokens, programs on other machines would be served.
    """
    if access is None and not is_loopback(host):
        raise InvalidSettings(f"{host} can be reached from elsewhere: access tokens are needed")
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost", _in_addresses(host))]
    origins = [f"http://{name}" for name in names]
    if access is not None:
        public = urlsplit(access.resource)
        names.append(public.netloc)
        origins.append(f"{public.scheme}://{public.netloc}")
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_REQUEST_BYTES,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_SECONDS,
        transport_security=TransportSecuritySettings(allowed_hosts=names, allowed_origins=origins),
        **({} if access is None else _protected(access)),
    )
    if access is not None:
        app.add_middleware(_SaysThatKeysAreUnavailable)
    return app


def _in_addresses(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _protected(access: Access) -> dict[str, Any]:
    keys = IssuerKeys(access.issuer)
    keys.load()  # so that the log reports a wrong issuer at once
    return {
        "token_verifier": AccessTokens(access, keys),
        "auth": AuthSettings.model_validate(
            {
                "issuer_url": access.issuer,
                "resource_server_url": access.resource,
                "required_scopes": list(access.scopes) or None,
                "validate_token_resource": False,  # the verifier has checked the audience
            }
        ),
    }


class _SaysThatKeysAreUnavailable:
    """Answers 503 if tokens can't be verified: after 401, clients would ask people to log in again."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._app(scope, receive, send)
        except KeysUnavailable:
            body = {
                "error": "temporarily_unavailable",
                "error_description": "the issuer's keys can't be read, so tokens can't be verified; try again",
            }
            headers = {"Retry-After": f"{RETRY_SECONDS:.0f}"}
            await JSONResponse(body, 503, headers)(scope, receive, send)


class Connection(BoundedConnection):
    """A connection to this server."""

    max_connections = MAX_CONNECTIONS


def serve_http(
    server: Server[Any],
    port: int,
    on_ready: Callable[[str], None],
    host: str = LOOPBACK,
    access: Access | None = None,
) -> None:
    """Serve clients until Ctrl-C or SIGTERM; see :func:`http_app`.

    Port 0 takes a free one; ``on_ready`` is called with the server's address once it listens.

    Raises:
        InvalidSettings: without tokens, programs on other machines would be served.
        ServerFailed: the port is taken, or the address isn't this machine's.
    """
    with listening_on(host, port) as listener:
        taken = listener.getsockname()[1]
        running = http_server(
            http_app(server, taken, host, access), lifespan="on", connection=Connection
        )
        on_ready(f"http://{_in_addresses(host)}:{taken}{PATH}")
        running.run([listener])


_AT_ONCE: Final = 65_536
_WAITING: Final = 16
"""Maximum messages to read ahead; then the client has to wait."""


class StandardInput:
    """The lines that a client sends; create it inside the event loop.

    A line of more than ``max_bytes`` is cut to one byte more.
    """

    def __init__(self, max_bytes: int, descriptor: int) -> None:
        self._max_bytes = max_bytes
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_WAITING)
        threading.Thread(target=self._read, name="standard-input", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Return each line, without its end, until the input is closed."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        try:
            self._read_lines()
        except (OSError, RuntimeError):
            pass  # the other end is closed, or the loop has ended: nobody waits for more
        finally:
            self._give(None)

    def _read_lines(self) -> None:
        with os.fdopen(self._descriptor, "rb", closefd=False) as file:
            while line := file.readline(self._max_bytes + 1):
                if len(line) > self._max_bytes and not line.endswith(b"\n"):
                    rest = line
                    while rest and not rest.endswith(b"\n"):
                        rest = file.readline(_AT_ONCE)
                self._room.acquire()
                self._give(line.removesuffix(b"\n"))

    def _give(self, line: bytes | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop is closed
            return


def taken_standard_input() -> int:
    """Return a copy of descriptor 0, and put the null device in its place."""
    mine = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return mine


class Messages:
    """The lines that are messages; this class answers all others, which the SDK ignores while the client waits."""

    def __init__(self, lines: StandardInput, max_bytes: int) -> None:
        self._lines = lines
        self._max_bytes = max_bytes
        self._answers = asyncio.get_running_loop().create_future()

    def answer_by(self, answers: ObjectSendStream[SessionMessage]) -> None:
        """Set the stream for sending errors."""
        self._answers.set_result(answers)

    async def __aiter__(self) -> AsyncIterator[str]:
        """Return each message."""
        async for line in self._lines:
            error = error_of(line, self._max_bytes)
            if error is None:
                yield line.decode(errors="replace")
            else:
                await (await self._answers).send(SessionMessage(error))


def error_of(line: bytes, max_bytes: int) -> JSONRPCError | None:
    """Return the answer to a line that isn't a message; ``None`` for a message or a blank line.

    It has the request's id if that can be read, as JSON-RPC requires.
    """
    if not line.strip():
        return None
    if len(line) > max_bytes:
        return _error(INVALID_REQUEST, f"the message has more than {max_bytes} bytes", line)
    text = line.decode(errors="replace")
    try:
        value = from_json(text)
    except ValueError:
        return _error(PARSE_ERROR, "the message is not JSON")
    try:
        message = jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError:
        return _error(INVALID_REQUEST, "this is not a JSON-RPC 2.0 message", line)
    if isinstance(message, JSONRPCNotification) and "id" in value:  # its sender awaits an answer
        return _error(INVALID_REQUEST, "the id must be a string or a whole number")
    return None


def _error(code: int, message: str, line: bytes = b"") -> JSONRPCError:
    error = ErrorData(code=code, message=message)
    return JSONRPCError(jsonrpc="2.0", id=_id_in(line), error=error)


def _id_in(line: bytes) -> RequestId | None:
    """Return the id in a broken request, if it has one; ``None`` for a response, whose id isn't the client's."""
    try:
        value = from_json(line, allow_partial=True)
    except ValueError:
        return None
    if not isinstance(value, dict) or "result" in value or "error" in value:
        return None
    found = value.get("id")
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None
