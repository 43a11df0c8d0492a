"""Adapts a blocking backend that may fail to the interface: bounded, cancellable, never raising."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    RequestRefused,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.failures import FORESEEN, as_failure
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.orchestrator.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.relevance import Floors

_Made = TypeVar("_Made")
_Result = TypeVar("_Result")


class Lazily(Generic[_Made]):
    """Makes one object for all threads, once, on first use, within a deadline.

    botocore fetches the first credentials while it makes a client, with its own timeouts.
    """

    def __init__(self, name: str, make: Callable[[], _Made]) -> None:
        self._name = name
        self._make = make
        self._lock = threading.Lock()
        self._making: Background[_Made] | None = None

    def get(self, deadline: Deadline) -> _Made:
        """Return the object; one made after the deadline serves the next call.

        Raises:
            DeadlineExceeded: it could not be made in time.
            Exception: raised while making it.
        """
        making = self._under_way()
        if not making.over.wait(deadline.remaining()):
            raise DeadlineExceeded(f"making the {self._name} took too long")
        if making.result is None:
            raise making.error or RuntimeError(f"the {self._name} is nothing")
        return making.result

    def made(self) -> _Made | None:
        """Return the object if it has been made, and forget it."""
        with self._lock:
            making, self._making = self._making, None
        return None if making is None else making.result

    def _under_way(self) -> Background[_Made]:
        with self._lock:
            if self._making is None or self._making.error is not None:
                self._making = Background(self._name, self._make)
            return self._making


class WorkerThreads:
    """Threads of one backend or advisor, separate from asyncio's, which are few and shared.

    A thread can't be stopped, and need not be: its work ends by the deadline, which the socket enforces.
    """

    def __init__(self, name: str, most: int) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=name)

    async def run(self, work: Callable[[], _Result], seconds: float) -> _Result:
        """Return the result of blocking work, or raise TimeoutError after ``seconds``."""
        context = contextvars.copy_context()
        async with asyncio.timeout(seconds):
            return await asyncio.get_running_loop().run_in_executor(self._pool, context.run, work)

    def close(self) -> None:
        """Wait for the work under way, and drop work that has not begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)


MAX_THREADS: Final = 16
"""Maximum queries of one backend at once; further ones wait, and their budget runs meanwhile."""

PREPARATION_SECONDS: Final = 10.0
"""Long, since credentials may come slowly when a machine has just started."""

_REASONS: Final[tuple[tuple[type[Exception], Reason], ...]] = (
    (UnreadableResponse, Reason.MALFORMED_RESPONSE),
    (RequestRefused, Reason.CONFIGURATION),
    (InvalidSettings, Reason.CONFIGURATION),
)

_logger = logging.getLogger(__name__)


class BlockingBackend(Protocol):
    """A backend that blocks and may fail.

    Attributes:
        name: for the log.
    """

    name: str

    def prepare(self, deadline: Deadline) -> None:
        """Do work that the first query would have to wait for; raises like :meth:`ask`."""

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Answer one query; called by several threads at once.

        Raises:
            RetrievalFailed: it could not be searched.
            Exception: any of :data:`FORESEEN`, ``UnreadableResponse``, ``RequestRefused`` or
                ``InvalidSettings``; anything else is a defect.
        """

    def close(self) -> None:
        """Close every connection."""


class BoundedRetrieval:
    """A blocking backend, behind the interface ``Retrieval``.

    Args:
        backend: closed by :meth:`close`.
        timeout_notice: the outcome's notice for a query that took too long, if any.
        floors: minimum scores of results that are advice, if known for its scale.
    """

    def __init__(
        self,
        backend: BlockingBackend,
        budget: Budget | None = None,
        *,
        timeout_notice: str | None = None,
        floors: Floors | None = None,
    ) -> None:
        self.floors = floors
        self._backend = backend
        self._budget = budget or Budget()
        self._timeout_notice = timeout_notice
        self._threads = WorkerThreads(backend.name, MAX_THREADS)

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Answer one query; see the interface."""
        outcome = await self._retrieved(query)
        if outcome.reason is Reason.TIMEOUT and outcome.notice is None:
            return replace(outcome, notice=self._timeout_notice)
        return outcome

    async def _retrieved(self, query: Query) -> RetrievalOutcome:
        deadline = self._budget.deadline()
        try:
            ask = partial(self._backend.ask, query, deadline)
            return await self._threads.run(ask, self._budget.seconds)
        except Exception as error:  # noqa: BLE001 - the boundary: every fault becomes an outcome
            return self._degraded(error)

    async def prepare(self, seconds: float = PREPARATION_SECONDS) -> None:
        """Make credentials, certificates and a session ready, within ``seconds``.

        A failure here is logged, and the first query reports it.
        """
        try:
            prepare = partial(self._backend.prepare, Deadline.after(seconds))
            await self._threads.run(prepare, seconds)
        except Exception as error:  # noqa: BLE001 - likewise
            self._degraded(error)

    def close(self) -> None:
        """Wait for queries under way, within their budget, and close the backend."""
        self._threads.close()
        self._backend.close()

    def _degraded(self, error: Exception) -> RetrievalOutcome:
        failure = failure_of(error)
        _logger.warning(
            "backend=%s reason=%s code=%s request_id=%s | retrieval degraded",
            self._backend.name,
            failure.reason,
            neutralise(failure.code),
            neutralise(failure.request_id),
        )
        return RetrievalOutcome(Status.DEGRADED, reason=failure.reason)


def failure_of(error: Exception) -> RetrievalFailed:
    """Return any error as a RetrievalFailed; a defect is logged without its message."""
    if isinstance(error, RetrievalFailed):
        return error
    if isinstance(error, FORESEEN):
        return as_failure(error)
    code = type(error).__name__
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return RetrievalFailed(reason, code=code)
    # Without its message, which can quote the query, or a header with its signature.
    frames = [line.strip() for line in traceback.format_tb(error.__traceback__)]
    _logger.error("error=%s frames=%s | unforeseen error", code, frames)
    return RetrievalFailed(Reason.INTERNAL, code=code)
