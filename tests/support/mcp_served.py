"""An MCP server of this product on loopback, and a client that tests talk through."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anyio.from_thread import start_blocking_portal
from mcp import Client

from knowledge_rag.local.http_server import LOOPBACK, http_server, listening_on
from knowledge_rag.mcp_server.serving import PATH, Connection, http_app

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mcp.server import Server

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.mcp_server.tokens import Access


@contextmanager
def served(server: Server[Any], access_for: Callable[[str], Access] | None = None) -> Iterator[str]:
    """Serve over HTTP while the block runs; gives the address, for which access tokens may be asked."""
    with listening_on(LOOPBACK, 0) as listener:
        port = listener.getsockname()[1]
        access = access_for(f"http://127.0.0.1:{port}{PATH}") if access_for else None
        app = http_app(server, port, LOOPBACK, access)
        running = http_server(app, lifespan="on", connection=Connection)
        running.config.timeout_keep_alive = 600  # clients in this process may be slow to ask again
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}{PATH}"
        finally:
            running.should_exit = True
            thread.join(120)
            assert not thread.is_alive()


class Talk:
    """A client whose calls wait for their answers."""

    def __init__(self, portal: Any, client: Client) -> None:
        self._portal = portal
        self.client = client

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.client, name)
        return lambda *args, **named: self._portal.call(lambda: method(*args, **named))

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.call_tool(name, arguments)

    def together(self, work: Any) -> Any:
        """Run a coroutine function that makes several calls at once."""
        return self._portal.call(work, self.client)


@contextmanager
def talking(to: Any, mode: str = "auto", **options: Any) -> Iterator[Talk]:
    """Connect the SDK's own client; ``legacy`` is the protocol with sessions."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(to, mode=mode, **options)) as client,
    ):
        yield Talk(portal, client)


class Answers:
    """A way to the knowledge base that gives what it is told to, in turn, and the last one on."""

    def __init__(self, *outcomes: RetrievalOutcome) -> None:
        self._outcomes = list(outcomes)
        self.queries: list[Query] = []

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        self.queries.append(query)
        return self._outcomes.pop(0) if len(self._outcomes) > 1 else self._outcomes[0]


def texts(result: Any) -> list[str]:
    """Give the texts of a tool's result."""
    return [one.text for one in result.content if one.type == "text"]
