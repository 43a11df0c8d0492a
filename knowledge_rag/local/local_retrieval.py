"""The orchestrator's way to the local knowledge base: the real function, in this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.action_group import local_action_group
from knowledge_rag.local.server import LocalBedrock
from knowledge_rag.local.timeouts import LOCAL_TIMEOUT_SECONDS, timed_out
from knowledge_rag.orchestrator.backends.arguments import current_ids, to_arguments
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.retrieval import Budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.policy_settings import SourcePolicy
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.action_group import ActionGroup
    from knowledge_rag.local.knowledge_base import KnowledgeBase


class LocalFunction:
    """Calls the function as a direct caller would.

    One query at a time: the function writes its records to the process's standard output, which is
    collected meanwhile. A local query takes some milliseconds, and waiting counts to the budget.

    Args:
        function: the function.
    """

    name = "local"

    def __init__(self, function: ActionGroup) -> None:
        self._function = function
        self._turn = threading.Lock()

    def prepare(self, deadline: Deadline) -> None:
        """Do nothing: all is made when the block is entered."""

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Invoke it; see ``Way``. The function has a deadline of its own."""
        if not self._turn.acquire(timeout=deadline.remaining()):
            raise DeadlineExceeded("other queries took too long")
        try:
            answer = self._function.invoke({**to_arguments(query), **current_ids()})
        finally:
            self._turn.release()
        return read_outcome(answer.body, max_results=query.max_results)

    def close(self) -> None:
        """Do nothing: the function belongs to whoever made it."""


@contextmanager
def local_retrieval(
    knowledge_base: KnowledgeBase,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    budget: Budget | None = None,
) -> Iterator[BoundedRetrieval]:
    """Ask a local knowledge base for as long as the block runs.

    The process's environment is changed meanwhile and put back afterwards, so one block at a time.

    Args:
        knowledge_base: the one that is searched; the caller closes it.
        search_type: what the function asks for.
        policy: of sources; by default what the user's ``SOURCE_POLICY`` says.
        budget: of each query, and so of the function behind it; 30 s by default.

    Raises:
        InvalidSettings: on entering, when the policy is wrong or does not go with the search.
        ServerFailed: on entering, when the local server does not start.
        ModelUnavailable: on entering, when the embedding model can't be had.
    """
    budget = budget or Budget(LOCAL_TIMEOUT_SECONDS)
    with (
        LocalBedrock(knowledge_base) as bedrock,
        local_action_group(
            bedrock.endpoint_url,
            search_type=search_type,
            policy=policy,
            deadline_seconds=budget.working_seconds,
        ) as function,
    ):
        notice = timed_out(budget.seconds)
        retrieval = BoundedRetrieval(LocalFunction(function), budget, timeout_notice=notice)
        try:
            yield retrieval
        finally:
            retrieval.close()
