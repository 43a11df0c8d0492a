"""Counts since the server started, in memory and bounded."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.limits import MAX_COUNTED_SOURCES
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.recommendation import Shortfall

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.retrieval import Retrieval

SHOWN_SOURCES: Final = 8
TIMED_QUERIES: Final = 1_000
"""Number of latest queries from which the search time is computed."""

NO_STEPS: Final = "no_steps"
"""Outcome of a question: retrieval returned passages, but no steps. It may be documented."""
NO_ADVICE: Final = "no_advice"
"""Outcome of a question: retrieval returned passages, but nothing in the written answer could be proven."""


@dataclass(slots=True)
class _Quality:
    """Sums over verified answers; ``sourced`` ones had evidence, ``citing`` ones cite it."""

    answers: int = 0
    sourced: int = 0
    citing: int = 0
    density: float = 0.0
    coverage: float = 0.0
    removed: int = 0
    warned: int = 0
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, consultation: Consultation) -> None:
        if consultation.verified is None:
            return
        metrics = consultation.verified.metrics
        kinds = Counter(one.kind.value for one in consultation.recommendation.warnings)
        self.answers += 1
        self.sourced += metrics.sources > 0
        self.citing += metrics.sources > 0 and metrics.references > 0
        self.density += metrics.density
        self.coverage += metrics.coverage
        self.removed += metrics.removed
        self.warned += bool(kinds)
        self.warnings.update(kinds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "citationRate": _share(self.citing, self.sourced),
            "density": _share(self.density, self.answers),
            "sourceCoverage": _share(self.coverage, self.sourced),
            "invalidReferences": self.removed,
            "warningRate": _share(self.warned, self.answers),
            "warnings": dict(self.warnings.most_common()),
        }


class ConsoleMetrics:
    """The counts; thread-safe."""

    def __init__(self, since: str) -> None:
        self._since = since
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._quality = _Quality()
        self._cited: Counter[str] = Counter()
        self._seconds: deque[float] = deque(maxlen=TIMED_QUERIES)

    def queried(self, outcome: RetrievalOutcome, seconds: float) -> None:
        """Count one query; a degraded one doesn't count towards the search time."""
        with self._lock:
            if outcome.reason is None:
                self._seconds.append(seconds)
            else:
                self._reasons[outcome.reason.value] += 1

    def ended(self, how: str) -> None:
        """Count a question without an answer: ``refused``, ``left``, ``timeout``, ``internal``."""
        with self._lock:
            self._outcomes[how] += 1

    def answered(self, consultation: Consultation, cited: Iterable[str]) -> None:
        """Count an answer, and the file of each citation that it shows."""
        with self._lock:
            self._outcomes[_outcome_of(consultation)] += 1
            self._quality.add(consultation)
            for source in cited:
                if source in self._cited or len(self._cited) < MAX_COUNTED_SOURCES:
                    self._cited[source] += 1

    def to_dict(self, running: int = 0) -> dict[str, Any]:
        """Return the JSON form; ``running`` questions are being answered."""
        with self._lock:
            return {
                "since": self._since,
                "asks": {
                    "total": self._outcomes.total(),
                    "running": running,
                    "outcomes": dict(self._outcomes),
                },
                "retrieval": {"reasons": dict(self._reasons), "p95Ms": _p95_ms(self._seconds)},
                "answers": self._quality.to_dict(),
                "sources": [
                    {"source": source, "citations": count}
                    for source, count in self._cited.most_common(SHOWN_SOURCES)
                ],
            }


class MeasuredRetrieval:
    """Counts the outcome and the time of each query of another retrieval."""

    def __init__(self, retrieval: Retrieval, metrics: ConsoleMetrics) -> None:
        self.floors = getattr(retrieval, "floors", None)
        self._retrieval = retrieval
        self._metrics = metrics

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        """See ``orchestrator.retrieval.Retrieval``."""
        started = time.perf_counter()
        outcome = await self._retrieval.retrieve(query)
        self._metrics.queried(outcome, time.perf_counter() - started)
        return outcome


def _outcome_of(consultation: Consultation) -> str:
    recommendation = consultation.recommendation
    is_near = bool(recommendation.reading)  # the passages are about something else
    has_passages = len(consultation.findings.ledger) > 0
    if recommendation.status is Status.NO_MATCH and has_passages and not is_near:
        return NO_STEPS
    if isinstance(recommendation.reason, Shortfall):
        return NO_ADVICE
    return recommendation.status.value


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _p95_ms(seconds: Iterable[float]) -> float | None:
    ordered = sorted(seconds)
    return round(ordered[(len(ordered) * 95 - 1) // 100] * 1_000, 1) if ordered else None
