"""Runs a console on loopback for as long as a block runs."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.app import create_console
from knowledge_rag.console.json_http import Json
from knowledge_rag.console.limits import READY_SECONDS
from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.outcome import Reason
from knowledge_rag.local.action_group import FunctionFailed, FunctionProcess
from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.local.http_server import BoundedConnection, ServerThread, http_server
from knowledge_rag.local.local_retrieval import ADVICE_FLOORS, LocalFunction
from knowledge_rag.local.settings import timed_out
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http import HTTPStatus

    from starlette.responses import Response
    from starlette.types import ASGIApp

    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


class FunctionInItsProcess(LocalFunction):
    """Calls the function in a process of its own.

    The deadline is the function's own, for each query; by default as in AWS.
    """

    def __init__(
        self,
        endpoint_url: str,
        deadline_seconds: float | None = None,
        knowledge_base: KnowledgeBase | None = None,
    ) -> None:
        super().__init__(self._call, knowledge_base)
        self._endpoint_url = endpoint_url
        self._function = FunctionProcess(deadline_seconds)

    def prepare(self, deadline: Deadline) -> None:
        """Start the process; it has a time limit of its own."""
        del deadline
        self._call({"query": "warm up", "max_results": 1})

    def close(self) -> None:
        """End the process."""
        self._function.close()

    def _call(self, event: dict[str, Any]) -> dict[str, Any]:
        try:
            return self._function.invoke(event, self._endpoint_url)
        except FunctionFailed as error:
            raise RetrievalFailed(Reason.UNAVAILABLE, code="FunctionFailed") from error


DEFAULT_PORT: Final = 8320


class _JsonConnection(BoundedConnection):
    """Refuses requests in the console's form."""

    def refusal(self, status: HTTPStatus, message: str) -> Response:
        """Return the error."""
        return Json({"error": message}, status)


@contextmanager
def running(app: ASGIApp, port: int | None = None) -> Iterator[str]:
    """Serve a console on loopback for as long as the block runs; yields its address.

    Port 0 takes a free one; ``None`` takes DEFAULT_PORT, or a free one if that is taken.

    Raises:
        ServerFailed: the port is taken, or the server doesn't start.
    """
    try:
        server = _started(app, DEFAULT_PORT if port is None else port)
    except ServerFailed:
        if port is not None:
            raise
        server = _started(app, 0)
    try:
        yield f"{server.url}/"
    finally:
        server.stop()


def _started(app: ASGIApp, port: int) -> ServerThread:
    http = http_server(app, lifespan="on", connection=_JsonConnection)
    server = ServerThread(http, "console", port, "--console-port")
    server.start()
    return server


@contextmanager
def local_console(
    function: FunctionInItsProcess,
    documents: KeptDocuments,
    advisors: Mapping[str, Advisor],
    settings: ConsoleSettings,
    port: int | None = None,
) -> Iterator[str]:
    """Serve the console of a local knowledge base; yields its address."""
    budget = settings.budget
    retrieval = BoundedRetrieval(
        function, budget, timeout_notice=timed_out(budget.seconds), floors=ADVICE_FLOORS
    )
    prepare = partial(retrieval.prepare, READY_SECONDS)
    app = create_console(retrieval, documents, advisors, settings, prepare=prepare)
    try:
        with running(app, port) as url:
            yield url
    finally:
        function.close()  # first: then its waiting callers fail at once
        retrieval.close()
