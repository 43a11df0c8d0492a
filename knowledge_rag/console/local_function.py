"""The console's way to a local knowledge base: the real function, in a process of its own.

The function reads its settings from its environment; a server that also calls AWS with its user's
own settings can't change its own for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.response import read_outcome
from knowledge_rag.local.action_group import FunctionFailed, FunctionProcess
from knowledge_rag.local.local_retrieval import GENERATED_FILTERS, answered
from knowledge_rag.orchestrator.backends.arguments import current_ids, to_arguments

if TYPE_CHECKING:
    from knowledge_rag.core.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.knowledge_base import KnowledgeBase


class FunctionInItsProcess:
    """Calls the function as a direct caller would; see ``orchestrator.backends.bounded.Way``.

    One query at a time: a local one takes some milliseconds, and waiting counts to the budget.

    Args:
        endpoint_url: where the function finds the knowledge base: a server of the wire API.
        deadline_seconds: when the function gives a query up; by default as in AWS.
        knowledge_base: the one that it asks, to correct typing mistakes by; ``None`` leaves queries
            as they are.
    """

    name = "local"

    def __init__(
        self,
        endpoint_url: str,
        deadline_seconds: float | None = None,
        knowledge_base: KnowledgeBase | None = None,
    ) -> None:
        self._endpoint_url = endpoint_url
        self._knowledge_base = knowledge_base
        self._function = FunctionProcess(deadline_seconds)

    def prepare(self, deadline: Deadline) -> None:
        """Start the process; it has a time limit of its own."""
        del deadline
        self._invoke({"query": "warm up", "max_results": 1})

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Invoke it. The function has a deadline of its own."""
        del deadline
        event = {**to_arguments(query), **current_ids()}
        if self._knowledge_base is None:
            body = self._invoke(event)
        else:
            body = answered(self._knowledge_base, event, self._invoke, GENERATED_FILTERS)
        return read_outcome(body, max_results=query.max_results)

    def close(self) -> None:
        """End the process."""
        self._function.close()

    def _invoke(self, event: dict[str, object]) -> dict[str, object]:
        try:
            return self._function.invoke(event, self._endpoint_url)
        except FunctionFailed as error:
            raise RetrievalFailed(Reason.UNAVAILABLE, code="FunctionFailed") from error
