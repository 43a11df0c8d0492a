"""Any way to the knowledge base, held to what the interface promises, whoever wrote it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import (
    CONTEXT_LENGTH,
    SHOWN_FIELDS,
    finite_score,
    shown_fields,
)
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult
from knowledge_rag.core.retrieval import degraded
from knowledge_rag.guardrails.passages import Passage, read_passage
from knowledge_rag.orchestrator.retrieval import MAX_BUDGET_SECONDS

if TYPE_CHECKING:
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.retrieval import Retrieval

SHOWN_FRAMES: Final = 8
"""Of a defect's way up, the innermost."""

_logger: Final = logging.getLogger(__name__)


class HeldToItsWord:
    """Asks another way; gives an outcome whatever that one raises, returns or waits for.

    Args:
        retrieval: the other way.
        seconds: how long one query may take. By default more than any way's budget, so that only
            one that breaks its word meets it.
    """

    def __init__(self, retrieval: Retrieval, seconds: float = MAX_BUDGET_SECONDS) -> None:
        self._retrieval = retrieval
        self._seconds = seconds

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """Ask one question; see the interface. Only the caller's own cancellation is passed on."""
        try:
            async with asyncio.timeout(self._seconds):
                given: object = await self._retrieval.retrieve(query)
        except TimeoutError:
            _logger.warning("seconds=%s | retrieval took too long", self._seconds)
            return degraded(Reason.TIMEOUT)
        except asyncio.CancelledError as error:
            if is_cancelled():
                raise
            tell_of(error, "retrieval raised")
            return degraded(Reason.INTERNAL)
        except Exception as error:  # noqa: BLE001 - the boundary to code that anyone may have written
            tell_of(error, "retrieval raised")
            return degraded(Reason.INTERNAL)
        return _kept(given, query)


def is_cancelled() -> bool:
    """Tell whether the present task was asked to end, by the one thing that tells it from a defect.

    Code below may raise ``CancelledError`` of its own accord, by waiting for a task of its own that
    was cancelled; passed on, it would end a graph without an error and without a result.
    """
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def tell_of(error: BaseException, what: str) -> None:
    """Log a defect of code below, without its message, which may quote a query or an incident."""
    frames = [line.strip() for line in traceback.format_tb(error.__traceback__, -SHOWN_FRAMES)]
    _logger.error("error=%s frames=%s | %s", type(error).__name__, frames, what)


def _kept(given: object, query: Query) -> RetrievalOutcome:
    # A frozen dataclass checks no types, so whoever made it may have put anything into it.
    found: object = given.results if isinstance(given, RetrievalOutcome) else None
    if not isinstance(given, RetrievalOutcome) or not isinstance(found, tuple | list):
        _logger.error("type=%s | retrieval gave no outcome", type(given).__name__)
        return degraded(Reason.INTERNAL)
    results = tuple(found)[: query.max_results]
    if not all(map(_is_exact, results)):
        _logger.error("results=%d | retrieval gave what is no evidence", len(results))
        return degraded(Reason.UNVERIFIABLE_RESULTS)
    told = tuple(map(_told, results))
    return given if told == tuple(found) else replace(given, results=told)


def _told(result: RetrievalResult) -> RetrievalResult:
    """Give a result without what can't be shown of the metadata that are; others stay as they are."""
    others = {name: it for name, it in result.metadata.items() if name not in SHOWN_FIELDS}
    return replace(result, metadata={**others, **shown_fields(result.metadata)})


def _is_exact(result: object) -> bool:
    """Whether it is a result whose text is the cited lines, as far as it tells: its hashes, if any."""
    if not isinstance(result, RetrievalResult):
        return False
    citation: object = result.citation
    metadata: object = result.metadata
    if not isinstance(citation, Citation) or not isinstance(metadata, Mapping):
        return False
    score = result.relevance_score
    if score is not None and finite_score(score) is None:
        return False
    # a context prefix has been taken off long before
    known = {name: it for name, it in metadata.items() if name != CONTEXT_LENGTH}
    return isinstance(read_passage(result.content, {**known, **citation.to_dict()}), Passage)
