"""HTTP servers on this machine: bounded connections, in a thread or in the foreground.

Uvicorn waits forever for the rest of a request, and its limit on connections refuses new clients
rather than idle ones. Here a client has a deadline for sending a request and for reading a response.
If a port has too many connections, the one that has waited longest for its client is closed.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, ClassVar, Final, Literal, cast

import h11
import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from knowledge_rag.local.errors import ServerFailed

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from starlette.responses import Response
    from starlette.types import ASGIApp
    from uvicorn.protocols.http.h11_impl import RequestResponseCycle


REQUEST_SECONDS: Final = 10.0
"""Maximum time for a connection to be silent, and then for a request to arrive, head and body, from its
first byte on."""

RESPONSE_SECONDS: Final = 60.0
"""Maximum time for a client to read none of a response."""

MAX_CONNECTIONS: Final = 128
"""Maximum open connections per port; one more replaces another. Also the maximum of concurrent requests."""

_ACCEPTED_AT_ONCE: Final = 64
"""Connections accepted in one round of the event loop. None are closed before the round ends, so
this limits how many files a burst opens."""


class BoundedConnection(H11Protocol):
    """Serves one client; a subclass may override :meth:`refusal` with its API's form."""

    max_connections: ClassVar[int] = MAX_CONNECTIONS
    """Open connections of its port."""
    waits_since: float | None = None
    """When it began to wait for its client, by the loop's clock; ``None`` if it isn't waiting."""

    _unless: Callable[[], None] | None = None
    """Called if the client is late."""
    _timer: asyncio.TimerHandle | None = None

    def refusal(self, status: HTTPStatus, message: str) -> Response:
        """Return the response to a request that never reaches the application.

        Its status is 400 if it is not HTTP, 408 if it is late, 503 if there are too many.
        """
        return PlainTextResponse(message, status)

    @property
    def is_served(self) -> bool:
        """Whether a complete request has arrived and is being answered."""
        return self.waits_since is None and self.conn.their_state in (h11.DONE, h11.MUST_CLOSE)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, after reading the bytes that came with the connection."""
        super().connection_made(transport)
        # the loop's next round reads; only then is it known which of a burst have sent nothing
        self.loop.call_soon(self.loop.call_soon, self._settle)

    def data_received(self, data: bytes) -> None:
        """Read the available bytes; refuse a request if too many are being answered."""
        if sum(one.is_served for one in self._crowd()) >= self.max_connections:
            busy = self.refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests, try again")
            busy.headers["Connection"] = "close"
            self.app = busy
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request, or answer one that has already arrived."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Stop waiting: the client has read."""
        super().resume_writing()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadline."""
        self._wait_for(None)
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP."""
        self._refuse(HTTPStatus.BAD_REQUEST, msg)

    def _crowd(self) -> list[BoundedConnection]:
        """Return the port's connections if there are too many, else an empty list."""
        if len(self.connections) <= self.max_connections:
            return []
        return [one for one in self.connections if isinstance(one, BoundedConnection)]

    def _settle(self) -> None:
        waiting = [one for one in self._crowd() if one.waits_since is not None]
        if waiting:
            longest = min(waiting, key=lambda one: one.waits_since or 0.0)
            self.connections.discard(longest)  # at once: aborting takes a round of the loop
            longest.transport.abort()
        self._watch()

    def _watch(self) -> None:
        """Set a deadline when the client's turn begins, and keep it until the turn ends."""
        unless = self._end_of_turn()
        if unless != self._unless:
            self._wait_for(unless)

    def _end_of_turn(self) -> Callable[[], None] | None:
        """Return the function to call if the client is late; ``None`` if the server isn't waiting for it."""
        closing = self.transport.is_closing()
        if self.flow.write_paused or (closing and self.transport.get_write_buffer_size()):
            return self.transport.abort  # the client has to read
        if closing:
            return None
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            return self._close  # the client may send a request
        return self._time_out if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) else None

    def _wait_for(self, unless: Callable[[], None] | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._unless, self._timer, self.waits_since = unless, None, None
        if unless is not None:
            self.waits_since = self.loop.time()
            is_reading = unless == self.transport.abort
            seconds = RESPONSE_SECONDS if is_reading else REQUEST_SECONDS
            self._timer = self.loop.call_later(seconds, unless)

    def _close(self) -> None:
        self.transport.close()
        self._watch()

    def _time_out(self) -> None:
        late = f"the request did not arrive within {REQUEST_SECONDS:g} seconds"
        self._refuse(HTTPStatus.REQUEST_TIMEOUT, late)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is None or not cycle.response_started or cycle.response_complete:
            response = self.refusal(status, message)
            given = HTTPStatus(response.status_code)
            lines = [f"HTTP/1.1 {given.value} {given.phrase}".encode(), b"Connection: close"]
            lines += [b"%s: %s" % field for field in response.raw_headers]
            self.transport.write(b"\r\n".join([*lines, b"", bytes(response.body)]))
        self._close()


def http_server(
    app: ASGIApp,
    *,
    lifespan: Literal["on", "off"],
    connection: type[BoundedConnection] = BoundedConnection,
) -> uvicorn.Server:
    """Return a server that runs an application and logs nothing itself."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=connection,
            ws="none",
            backlog=_ACCEPTED_AT_ONCE,
            lifespan=lifespan,
            log_level="critical",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )


LOOPBACK: Final = "127.0.0.1"
LOOPBACK_HOSTS: Final = (LOOPBACK, "localhost", "[::1]")
"""Allowed ``Host`` headers, without the port: a web page whose name was made to resolve here (DNS rebinding)
sends its own name."""
_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 5.0
_BACKLOG: Final = 128


class ServerThread:
    """A server in a thread, from :meth:`start` to :meth:`stop`.

    Port 0 picks a free one; the error about a taken port names ``option``.
    """

    def __init__(
        self, server: uvicorn.Server, name: str, port: int, option: str = "--port"
    ) -> None:
        self._server = server
        self._name = name
        self._port = port
        self._option = option
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The address without a path, e.g. ``http://127.0.0.1:49152``."""
        return f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Take the port and serve.

        Raises:
            ServerFailed: the port is taken or the server does not start.
        """
        self._socket = listening_on(LOOPBACK, self._port, self._option)
        self._port = self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name=self._name, daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self.stop()
                raise ServerFailed(f"the {self._name} did not start at {self.url}")
            time.sleep(0.002)

    def stop(self) -> None:
        """Stop the server and free the port."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()


def listening_on(host: str, port: int, option: str = "--port") -> socket.socket:
    """Listen on a port of one of this machine's addresses; 0 picks a free one.

    Raises:
        ServerFailed: another process uses it, or the address isn't this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol is given by name: only then does asyncio turn Nagle's algorithm off; with it on, a
    # response waits 40 ms for the client's acknowledgement of its headers
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere it would let two processes listen on one port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            reason = "another process uses this port"
        hint = f"choose another with {option}, or 0 for a free one"
        raise ServerFailed(f"can't listen on {host}:{port}: {reason}; {hint}") from error
    return listening
