"""Asking the knowledge base, whichever way leads to it: the interface, and several queries at once."""

from __future__ import annotations

import asyncio
import logging
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.deadline import (
    DEFAULT_DEADLINE_SECONDS,
    RETRIEVAL_BUDGET_SECONDS,
    Deadline,
)
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.retrieval import Query

MIN_BUDGET_SECONDS: Final = 0.1
MAX_BUDGET_SECONDS: Final = 600.0
"""Enough for a large knowledge base on a busy machine; a deployed one that slept wakes in 30 s."""

_WORKING_SHARE: Final = DEFAULT_DEADLINE_SECONDS / RETRIEVAL_BUDGET_SECONDS
_LONGEST_ENDING_SECONDS: Final = 1.0
"""Kept free for the end of the work at most, however long the budget."""

_logger = logging.getLogger(__name__)


class Retrieval(Protocol):
    """One way to the knowledge base."""

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question.

        Whatever the other side does, this is an outcome within the way's budget: every fault is
        ``degraded`` with its coarse reason. Only cancellation is passed on. Each result is proven:
        its text is the cited lines.

        Args:
            query: the question; never more results come back than it asks for.
        """


@dataclass(frozen=True, slots=True)
class Budget:
    """What a caller waits for one query at most, everything included.

    Args:
        seconds: MIN_BUDGET_SECONDS..MAX_BUDGET_SECONDS.

    Raises:
        InvalidSettings: it is outside.
    """

    seconds: float = RETRIEVAL_BUDGET_SECONDS

    def __post_init__(self) -> None:
        if not math.isfinite(self.seconds) or not (
            MIN_BUDGET_SECONDS <= self.seconds <= MAX_BUDGET_SECONDS
        ):
            raise InvalidSettings(
                f"the budget of a query must be {MIN_BUDGET_SECONDS} to {MAX_BUDGET_SECONDS} "
                f"seconds, not {self.seconds}"
            )

    @property
    def working_seconds(self) -> float:
        """After how many seconds the work stops, so that its end lands in the budget."""
        return max(self.seconds * _WORKING_SHARE, self.seconds - _LONGEST_ENDING_SECONDS)

    def deadline(self) -> Deadline:
        """Return the instant, from now, at which the work stops."""
        return Deadline.after(self.working_seconds)


async def gather(
    queries: Sequence[Query],
    backend: Retrieval,
    *,
    limit: int = MAX_QUERIES,
    max_results: int = RESULTS,
) -> tuple[RetrievalOutcome, ...]:
    """Ask several questions at once; each has its own outcome, and none costs another its.

    Args:
        queries: any number, in any order.
        backend: whom to ask.
        limit: how many are in flight at a time, 1 or more; the budget of a query begins with it.
        max_results: what each query is cut to, 1 or more.

    Returns:
        One outcome a query, in the order of the queries.
    """
    turns = asyncio.Semaphore(limit)

    async def ask(query: Query) -> RetrievalOutcome:
        async with turns:
            return await _asked(
                backend, replace(query, max_results=min(query.max_results, max_results))
            )

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(query)) for query in queries]
    return tuple(task.result() for task in tasks)


async def _asked(backend: Retrieval, query: Query) -> RetrievalOutcome:
    try:
        return await backend.retrieve(query)
    except Exception as error:  # noqa: BLE001 - one query's defect must not cost the others theirs
        # Without its message, which may quote the query.
        _logger.error("error=%s | retrieval raised", type(error).__name__)  # noqa: TRY400 - likewise
        return RetrievalOutcome(Status.DEGRADED, reason=Reason.INTERNAL)
