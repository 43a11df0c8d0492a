"""Runs a console for as long as a block runs: any, or that of a local knowledge base."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from knowledge_rag.console.app import create_console
from knowledge_rag.console.limits import READY_SECONDS
from knowledge_rag.console.server import DEFAULT_PORT, ConsoleServer
from knowledge_rag.local.action_group import ADVICE_FLOORS
from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.local.settings import timed_out
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp

    from knowledge_rag.console.app import ConsoleSettings
    from knowledge_rag.console.documents import Documents
    from knowledge_rag.console.local_function import FunctionInItsProcess
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


@contextmanager
def running(app: ASGIApp, port: int | None = None) -> Iterator[str]:
    """Serve a console on loopback; gives its address.

    Args:
        app: as :func:`knowledge_rag.console.app.create_console` makes it.
        port: 0 takes a free one; ``None`` the usual one, or a free one where that is taken.

    Raises:
        ServerFailed: on entering, when the port is taken.
    """
    with ExitStack() as stack:
        try:
            usual = DEFAULT_PORT if port is None else port
            server = stack.enter_context(ConsoleServer(app, usual))
        except ServerFailed:
            if port is not None:
                raise
            server = stack.enter_context(ConsoleServer(app, 0))
        yield server.url


@contextmanager
def local_console(
    function: FunctionInItsProcess,
    documents: Documents,
    advisors: Mapping[str, Advisor],
    settings: ConsoleSettings,
    port: int | None = None,
) -> Iterator[str]:
    """Serve the console of a local knowledge base; gives its address.

    Args:
        function: asks a server of the wire API, which may start a little later; closed at the end.
        documents: of its knowledge base.
        advisors: who can write, by name.
        settings: what the console is like.
        port: as :func:`running` takes it.

    Raises:
        ServerFailed: on entering, when the port is taken.
    """
    budget = settings.budget
    way = BoundedRetrieval(
        function, budget, timeout_notice=timed_out(budget.seconds), floors=ADVICE_FLOORS
    )
    prepare = partial(way.prepare, READY_SECONDS)
    app = create_console(way, documents, advisors, settings, prepare=prepare)
    try:
        with running(app, port) as url:
            yield url
    finally:
        function.close()  # first: who still waits for it then fails at once
        way.close()
