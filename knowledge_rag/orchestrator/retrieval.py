"""Searching the knowledge base: the interface of a backend, several queries at once, and their results."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

from knowledge_rag.core import telemetry
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import CONTEXT_LENGTH, SHOWN_FIELDS, finite_score, shown_fields
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult, Status
from knowledge_rag.core.retrieval import degraded
from knowledge_rag.guardrails.ledger import Ledger, Passage, read_passage
from knowledge_rag.orchestrator.budget import MAX_BUDGET_SECONDS
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.planning import Plan

_SHOWN_FRAMES: Final = 8
"""Innermost frames of a defect's traceback that are logged."""

_ids: Final[ContextVar[Mapping[str, str]]] = ContextVar("ids")
_logger: Final = logging.getLogger(__name__)


class Retrieval(Protocol):
    """A backend that searches the knowledge base."""

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Answer one query within the backend's budget.

        Every failure is ``degraded`` with its coarse reason; only cancellation propagates. Each result
        is proven: its text is the cited lines.
        """


@dataclass(frozen=True, slots=True)
class Asked:
    """A query and its outcome.

    Args:
        alert: the alert of a group that it was asked for; ``""`` if there is only one.
    """

    query: Query
    outcome: RetrievalOutcome
    alert: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All queries of one incident with their outcomes: the only basis of a recommendation.

    Args:
        completions: queries for the rest of the documents found, with their outcomes.
        plan: the procedures in them; ``None`` before planning.
        no_place: why the requested place isn't in the knowledge base; ``""`` if it is, or if none was requested.
        ledger: all results, numbered; derived from them. If nothing was found, the nearest passages.

    Raises:
        InvalidCitation: a result's text has another number of lines than its citation.
    """

    asked: tuple[Asked, ...] = ()
    completions: tuple[Asked, ...] = ()
    plan: Plan | None = None
    notes: tuple[str, ...] = ()
    no_place: str = ""
    ledger: Ledger = field(init=False)

    def __post_init__(self) -> None:
        found = [it.outcome.results for it in (*self.asked, *self.completions)]
        first = {it.alert: it.outcome for it in reversed(self.asked)}  # the others ask for parts
        nearest = [it.nearest for it in first.values()]
        object.__setattr__(self, "ledger", Ledger.of(*(found if any(found) else nearest)))

    @property
    def status(self) -> Status:
        """``ok`` with any result; otherwise ``no_match`` only if every query was answered."""
        if any(it.outcome.results for it in (*self.asked, *self.completions)):
            return Status.OK
        return Status.DEGRADED if self.failures else Status.NO_MATCH

    @property
    def failures(self) -> tuple[Reason, ...]:
        """Why queries could not be answered, in the order of asking, each reason once."""
        reasons = (asked.outcome.reason for asked in self.asked)
        return tuple(dict.fromkeys(reason for reason in reasons if reason is not None))

    @property
    def notices(self) -> tuple[str, ...]:
        """An advisor's notes, then retrieval's notices, each sentence once."""
        notices = (asked.outcome.notice for asked in self.asked)
        return tuple(dict.fromkeys((*self.notes, *(notice for notice in notices if notice))))

    def result(self, number: int) -> RetrievalResult:
        """Return the result that is entry ``number`` of the ledger, with its metadata.

        Raises:
            IndexError: the ledger has no such entry.
        """
        if not 1 <= number <= len(self.ledger):
            raise IndexError(f"entry {number} of {len(self.ledger)}")
        return self.ledger.results[number - 1]


async def gather(
    queries: Sequence[Query],
    backend: Retrieval,
    *,
    limit: int = MAX_QUERIES,
    max_results: int = RESULTS,
) -> tuple[RetrievalOutcome, ...]:
    """Run several queries at once; the failure of one does not affect the others."""
    safe = SafeRetrieval(backend)
    turns = asyncio.Semaphore(limit)

    async def ask(query: Query) -> RetrievalOutcome:
        async with turns:
            return await safe.retrieve(
                replace(query, max_results=min(query.max_results, max_results))
            )

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(query)) for query in queries]
    return tuple(task.result() for task in tasks)


class SafeRetrieval:
    """Returns an outcome regardless of what another backend raises, returns or waits for.

    Args:
        retrieval: the other backend.
        seconds: how long one query may take. By default more than any backend's budget, so that it
            only ends a query whose backend ignores its own.
    """

    def __init__(self, retrieval: Retrieval, seconds: float = MAX_BUDGET_SECONDS) -> None:
        self._retrieval = retrieval
        self._seconds = seconds

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Answer one query; see the interface. Only the caller's own cancellation propagates."""
        with contained("retrieval raised"):
            try:
                async with asyncio.timeout(self._seconds):
                    returned: object = await self._retrieval.retrieve(query)
            except TimeoutError:
                _logger.warning("seconds=%s | retrieval took too long", self._seconds)
                return degraded(Reason.TIMEOUT)
            return _checked(returned, query)
        return degraded(Reason.INTERNAL)


def is_cancelled() -> bool:
    """Whether the current task was asked to end.

    Called code may raise ``CancelledError`` itself, by waiting for a task of its own that was
    cancelled; if that propagated, it would end a graph without an error and without a result.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


class contained:  # noqa: N801 - used like a function
    """Logs any error of the block and continues after it; only the caller's own cancellation propagates."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _: object, error: BaseException | None, traceback: object) -> bool:
        """Log a defect; return true if the block's error ends here."""
        is_defect = isinstance(error, Exception) or (
            isinstance(error, asyncio.CancelledError) and not is_cancelled()
        )
        if error is not None and is_defect:
            log_defect(error, self._what)
        return is_defect


def log_defect(error: BaseException, what: str) -> None:
    """Log a defect of called code, without its message, which may quote a query or an incident."""
    frames = [line.strip() for line in traceback.format_tb(error.__traceback__, -_SHOWN_FRAMES)]
    _logger.error("error=%s frames=%s | %s", type(error).__name__, frames, what)


def to_arguments(query: Query, *, most_results: int | None = None) -> dict[str, object]:
    """Return a query in the form that the retrieval function takes, directly or through a gateway."""
    wanted = query.max_results if most_results is None else min(query.max_results, most_results)
    return {"query": query.text, "max_results": wanted, **query.filters}


@contextmanager
def on_behalf_of(*, incident_id: str = "", session_id: str = "") -> Iterator[None]:
    """Name the incident and session of the block's queries, in this task and those that it starts.

    Ids that are set outside remain unless it names others. A function that is invoked directly adds them to its log
    lines and metrics, so that queries per incident can be counted. Other backends ignore them.
    """
    ids = {telemetry.INCIDENT_ID: incident_id, telemetry.SESSION_ID: session_id}
    named = {name: value for name, value in ids.items() if value}
    token = _ids.set({**current_ids(), **named})
    try:
        yield
    finally:
        _ids.reset(token)


def current_ids() -> Mapping[str, str]:
    """Return the ids that :func:`on_behalf_of` set here, by the function's names for them."""
    return _ids.get({})


def _checked(returned: object, query: Query) -> RetrievalOutcome:
    # a dataclass doesn't check types, so a backend may have put anything into it
    found: object = returned.results if isinstance(returned, RetrievalOutcome) else None
    if not isinstance(returned, RetrievalOutcome) or not isinstance(found, tuple | list):
        _logger.error("type=%s | retrieval returned no outcome", type(returned).__name__)
        return degraded(Reason.INTERNAL)
    results = tuple(found)[: query.max_results]
    if not all(map(_is_exact, results)):
        _logger.error("results=%d | retrieval returned results that are not evidence", len(results))
        return degraded(Reason.UNVERIFIABLE_RESULTS)
    kept = tuple(map(_showable, results))
    nearest = tuple(_showable(it) for it in returned.nearest if _is_exact(it))
    is_same = kept == tuple(found) and nearest == returned.nearest
    return returned if is_same else replace(returned, results=kept, nearest=nearest)


def _showable(result: RetrievalResult) -> RetrievalResult:
    """Return a result without those shown fields of its metadata whose values can't be shown."""
    others = {name: it for name, it in result.metadata.items() if name not in SHOWN_FIELDS}
    return replace(result, metadata={**others, **shown_fields(result.metadata)})


def _is_exact(result: object) -> bool:
    """Whether it is a result whose text has the lines and hashes that it claims."""
    if not isinstance(result, RetrievalResult):
        return False
    citation: object = result.citation
    metadata: object = result.metadata
    if not isinstance(citation, Citation) or not isinstance(metadata, Mapping):
        return False
    score = result.relevance_score
    if score is not None and finite_score(score) is None:
        return False
    # a context prefix was removed earlier
    known = {name: it for name, it in metadata.items() if name != CONTEXT_LENGTH}
    return isinstance(read_passage(result.content, {**known, **citation.to_dict()}), Passage)
