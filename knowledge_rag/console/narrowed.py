"""A way to the knowledge base under the filters that a reader set."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.retrieval import Retrieval


class NarrowedRetrieval:
    """Adds filters to every query.

    Args:
        retrieval: the other way.
        filters: that hold for every query.
    """

    def __init__(self, retrieval: Retrieval, filters: Mapping[str, str]) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval
        self._filters = dict(filters)

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question; see ``orchestrator.retrieval.Retrieval``."""
        return await self._retrieval.retrieve(narrowed(query, self._filters))


def agrees(query: Query, filters: Mapping[str, str]) -> bool:
    """Whether a query asks for nothing that filters rule out."""
    return all(query.filters.get(name, value) == value for name, value in filters.items())


def narrowed(query: Query, filters: Mapping[str, str]) -> Query:
    """Return a query with further filters."""
    return replace(query, filters={**query.filters, **filters})
