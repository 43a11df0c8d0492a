"""Runs the console beside another server: in a thread, for as long as a block runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import uvicorn

from knowledge_rag.console.connection import PatientConnection
from knowledge_rag.console.limits import MAX_REQUESTS
from knowledge_rag.local.server_thread import ServerThread

if TYPE_CHECKING:
    from types import TracebackType

    from starlette.types import ASGIApp

DEFAULT_PORT: Final = 8320


class ConsoleServer:
    """The console on a port of the loopback interface, for as long as the block runs.

    Args:
        app: as :func:`knowledge_rag.console.app.create_console` makes it.
        port: 0 takes a free one.

    Raises:
        ServerFailed: on entering, when the port is taken or the server does not start.
    """

    def __init__(self, app: ASGIApp, port: int = DEFAULT_PORT) -> None:
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=PatientConnection,
                ws="none",
                lifespan="on",
                log_level="critical",  # the application tells of its failures itself
                access_log=False,
                server_header=False,
                limit_concurrency=MAX_REQUESTS,
                timeout_graceful_shutdown=1,
            )
        )
        self._running = ServerThread(server, "console", port)

    @property
    def url(self) -> str:
        """The address for a browser, e.g. ``http://127.0.0.1:8320/``."""
        return f"{self._running.url}/"

    def __enter__(self) -> Self:
        self._running.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running.stop()
