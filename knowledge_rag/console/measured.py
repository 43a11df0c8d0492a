"""A way to the knowledge base that is measured."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.console.metrics import ConsoleMetrics
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.retrieval import Retrieval


class MeasuredRetrieval:
    """Asks another way, and counts what it gave and how long it took.

    Args:
        retrieval: the other way.
        metrics: where it is counted.
    """

    def __init__(self, retrieval: Retrieval, metrics: ConsoleMetrics) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval
        self._metrics = metrics

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question; see ``orchestrator.retrieval.Retrieval``."""
        started = time.perf_counter()
        outcome = await self._retrieval.retrieve(query)
        self._metrics.queried(outcome, time.perf_counter() - started)
        return outcome
