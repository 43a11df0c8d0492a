"""How the server is reached: standard input and output, or HTTP on loopback."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.local.http_server import http_server, listening_on
from knowledge_rag.mcp_server.standard_input import StandardInput, taken_standard_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import Server
    from starlette.applications import Starlette

LOOPBACK: Final = "127.0.0.1"
PATH: Final = "/mcp"

MAX_REQUEST_BYTES: Final = 1_048_576
"""The longest answer that is verified, escaped in JSON, takes a third of it."""

MAX_SESSIONS: Final = 100
"""That are open at once; one that is idle for SESSION_SECONDS ends."""

SESSION_SECONDS: Final = 1_800.0

STOP_SECONDS: Final = 5.0
"""After which a server on standard input and output ends, whatever holds it up: it only reads."""


def run_stdio(server: Server[Any]) -> None:
    """Serve the process that started this one, until it closes standard input or tells it to stop.

    Nothing but the protocol reaches standard output: the SDK turns descriptor 1 to standard error
    meanwhile, and writes to a copy of its own.
    """
    try:
        anyio.run(_serve_until_stopped, server)
    except* BrokenPipeError:
        pass  # the client has gone, which is its right


async def _serve_until_stopped(server: Server[Any]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_when_told, tasks.cancel_scope)
        lines = StandardInput(MAX_REQUEST_BYTES, taken_standard_input())
        # what the SDK needs of a file is its lines
        async with stdio_server(stdin=cast("anyio.AsyncFile[str]", lines)) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _stop_when_told(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as told:
        async for _ in told:
            # a thread that writes to a client which does not read can't be left otherwise
            ending = threading.Timer(STOP_SECONDS, os._exit, (0,))
            ending.daemon = True
            ending.start()
            scope.cancel()


def http_app(server: Server[Any], port: int) -> Starlette:
    """Make the application that serves clients of this machine.

    A request has to name this very port as its host, and a page of no other origin may send one: a
    page whose name was made to lead here (DNS rebinding) is refused. There are no CORS headers.
    """
    names = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        max_request_body_size=MAX_REQUEST_BYTES,
        max_sessions=MAX_SESSIONS,
        session_idle_timeout=SESSION_SECONDS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=names, allowed_origins=[f"http://{name}" for name in names]
        ),
    )


def serve_http(server: Server[Any], port: int, on_ready: Callable[[str], None]) -> None:
    """Serve clients of this machine until the process is told to stop (Ctrl-C, SIGTERM).

    Args:
        server: what to serve.
        port: on loopback; 0 takes a free one.
        on_ready: called with the server's address once the port is taken.

    Raises:
        ServerFailed: the port is taken.
    """
    with listening_on(LOOPBACK, port) as listener:
        taken = listener.getsockname()[1]
        on_ready(f"http://{LOOPBACK}:{taken}{PATH}")
        http_server(http_app(server, taken), lifespan="on").run([listener])


class _Neutral(logging.Formatter):
    """Writes records so that nothing in them, a client's header for one, can steer a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return neutralise(super().format(record))


def log_to_standard_error() -> None:
    """Send warnings, this project's and the SDK's, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Neutral("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
