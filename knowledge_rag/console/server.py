"""Runs the console beside another server: in a thread, for as long as a block runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from knowledge_rag.console.replies import Json
from knowledge_rag.local.http_server import BoundedConnection, ServerThread, http_server

if TYPE_CHECKING:
    from http import HTTPStatus
    from types import TracebackType

    from starlette.responses import Response
    from starlette.types import ASGIApp

DEFAULT_PORT: Final = 8320


class _JsonConnection(BoundedConnection):
    """Serves one browser, and refuses requests in the console's form."""

    def refusal(self, status: HTTPStatus, message: str) -> Response:
        """Return the console's error."""
        return Json({"error": message}, status)


class ConsoleServer:
    """The console on a port of the loopback interface, for as long as the block runs.

    Args:
        app: as :func:`knowledge_rag.console.app.create_console` makes it.
        port: 0 takes a free one.

    Raises:
        ServerFailed: on entering, when the port is taken or the server does not start.
    """

    def __init__(self, app: ASGIApp, port: int = DEFAULT_PORT) -> None:
        server = http_server(app, lifespan="on", connection=_JsonConnection)
        self._running = ServerThread(server, "console", port, "--console-port")

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
