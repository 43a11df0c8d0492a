"""The console of a local knowledge base, beside the server that its function asks."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from knowledge_rag.console.app import create_console
from knowledge_rag.console.limits import READY_SECONDS
from knowledge_rag.console.local_function import FunctionInItsProcess
from knowledge_rag.console.server import DEFAULT_PORT, ConsoleServer
from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp

    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.console.documents import Documents
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


@contextmanager
def local_console(
    endpoint_url: str,
    documents: Documents,
    advisors: Mapping[str, Advisor],
    settings: ConsoleSettings,
    port: int | None = None,
) -> Iterator[str]:
    """Serve a console for as long as the block runs; gives its address.

    Args:
        endpoint_url: of a server of the wire API, which may start a little later.
        documents: of its knowledge base.
        advisors: who can write, by name.
        settings: what the console is like.
        port: 0 takes a free one; ``None`` the usual one, or a free one where that is taken.

    Raises:
        ServerFailed: on entering, when the port is taken.
    """
    function = FunctionInItsProcess(endpoint_url)
    way = BoundedRetrieval(function)
    prepare = partial(way.prepare, READY_SECONDS)
    app = create_console(way, documents, advisors, settings, prepare=prepare)
    try:
        with _started(app, port) as server:
            yield server.url
    finally:
        function.close()  # first: who still waits for it then fails at once
        way.close()


@contextmanager
def _started(app: ASGIApp, port: int | None) -> Iterator[ConsoleServer]:
    server = ConsoleServer(app, DEFAULT_PORT if port is None else port)
    try:
        server.__enter__()
    except ServerFailed:
        if port is not None:
            raise
        server = ConsoleServer(app, 0)
        server.__enter__()
    try:
        yield server
    finally:
        server.__exit__(None, None, None)
