"""The orchestrator's retrieval from the local knowledge base: the real function, in this process."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.action_group import action_group_of
from knowledge_rag.local.notices import answered
from knowledge_rag.local.settings import LOCAL_TIMEOUT_SECONDS, timed_out
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.relevance import Floors
from knowledge_rag.orchestrator.retrieval import current_ids, to_arguments

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.policy_settings import SourcePolicy
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.local.notices import Invoke


ADVICE_FLOORS: Final = Floors(alert=0.45, question=0.20, sure=0.55, clear=0.35)
"""Hybrid scores of the first query below which a section that isn't linked to the alert's name is no
advice; ``docs/decisions/0019-procedures.md`` has the figures."""

GENERATED_FILTERS: Final = (DOCUMENT_TYPE,)
"""Filters that a consultation adds to a question, and nobody typed."""


class LocalFunction:
    """Calls the function like a direct caller; see ``orchestrator.backends.bounded.BlockingBackend``.

    One query at a time: the function writes its records to the process's standard output, which is
    collected during the call. A local query takes some milliseconds, and waiting counts towards the budget.

    ``invoke`` calls the function, and returns the answer's body. Without a knowledge base, typing mistakes are left as
    they are; for ``unexplained``, see :func:`answered`.
    """

    name = "local"

    def __init__(
        self,
        invoke: Invoke,
        knowledge_base: KnowledgeBase | None = None,
        unexplained: Collection[str] = GENERATED_FILTERS,
    ) -> None:
        self._invoke = invoke
        self._knowledge_base = knowledge_base
        self._unexplained = unexplained
        self._turn = threading.Lock()

    def prepare(self, deadline: Deadline) -> None:
        """Do nothing: everything is ready when the block is entered."""

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Invoke the function; see ``BlockingBackend``. It has a deadline of its own."""
        if not self._turn.acquire(timeout=deadline.remaining()):
            raise DeadlineExceeded("other queries took too long")
        try:
            event = {**to_arguments(query), **current_ids()}
            if self._knowledge_base is None:
                body = self._invoke(event)
            else:
                body = answered(self._knowledge_base, event, self._invoke, self._unexplained)
        finally:
            self._turn.release()
        return read_outcome(body, max_results=query.max_results)

    def close(self) -> None:
        """Do nothing: the caller that created the function closes it."""


@contextmanager
def local_retrieval(
    knowledge_base: KnowledgeBase,
    *,
    search_type: SearchType = SearchType.HYBRID,
    policy: SourcePolicy | None = None,
    budget: Budget | None = None,
    unexplained: Collection[str] = GENERATED_FILTERS,
) -> Iterator[BoundedRetrieval]:
    """Retrieve from a local knowledge base while the block runs.

    Changes the process's environment and restores it afterwards, so enter one block at a time.

    The budget is for each query, and so for the function behind it; 30 s by default. The policy is the user's
    ``SOURCE_POLICY`` by default; for ``unexplained``, see :func:`answered`. The caller closes the knowledge base.

    Raises:
        InvalidSettings: on entering, if the policy is wrong or incompatible with the search.
        ModelUnavailable: on entering, if the embedding model isn't available.
    """
    budget = budget or Budget(LOCAL_TIMEOUT_SECONDS)
    with action_group_of(
        knowledge_base,
        search_type=search_type,
        policy=policy,
        deadline_seconds=budget.working_seconds,
    ) as function:
        notice = timed_out(budget.seconds)
        retrieval = BoundedRetrieval(
            LocalFunction(function.body, knowledge_base, unexplained),
            budget,
            timeout_notice=notice,
            floors=ADVICE_FLOORS if search_type is SearchType.HYBRID else None,
        )
        try:
            yield retrieval
        finally:
            retrieval.close()
