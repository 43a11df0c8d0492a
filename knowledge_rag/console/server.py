"""Runs the console beside another server: in a thread, for as long as a block runs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, Self

import uvicorn

from knowledge_rag.console.limits import MAX_REQUESTS
from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.local.server import LOOPBACK, listening_on

if TYPE_CHECKING:
    import socket
    from types import TracebackType

    from starlette.types import ASGIApp

DEFAULT_PORT: Final = 8320
_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 5.0


class ConsoleServer:
    """The console on a port of the loopback interface, for as long as the block runs.

    Args:
        app: as :func:`knowledge_rag.console.app.create_console` makes it.
        port: 0 takes a free one.

    Raises:
        ServerFailed: on entering, when the port is taken or the server does not start.
    """

    def __init__(self, app: ASGIApp, port: int = DEFAULT_PORT) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                ws="none",
                lifespan="on",
                log_level="critical",  # the application tells of its failures itself
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_REQUESTS,
                timeout_graceful_shutdown=1,
            )
        )

    @property
    def url(self) -> str:
        """The address for a browser, e.g. ``http://127.0.0.1:8320/``."""
        return f"http://{LOOPBACK}:{self._port}/"

    def __enter__(self) -> Self:
        self._socket = listening_on(LOOPBACK, self._port)
        self._port = self._socket.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="console", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                self._stop()
                raise ServerFailed(f"the console did not start at {self.url}")
            time.sleep(0.002)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def _stop(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        if self._socket is not None:
            self._socket.close()
