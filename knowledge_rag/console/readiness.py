"""A way to the knowledge base whose first question waits until the way is ready."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from knowledge_rag.console.limits import READY_SECONDS

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval


class ReadyRetrieval:
    """Asks another way; see ``orchestrator.retrieval.Retrieval``.

    A console is there at once, while its function is still starting. Who asks in that moment waits
    for it, and then each query has its whole budget.

    Args:
        retrieval: the other way.
    """

    def __init__(self, retrieval: BoundedRetrieval) -> None:
        self._retrieval = retrieval
        self._ready: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin to prepare the way; called in the loop that will ask."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_task(
                self._retrieval.prepare(READY_SECONDS)
            )

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question, once the way is ready."""
        self.begin()
        if self._ready is not None and not self._ready.done():
            await asyncio.wait([self._ready])  # shared: whoever leaves ends it for nobody else
        return await self._retrieval.retrieve(query)
