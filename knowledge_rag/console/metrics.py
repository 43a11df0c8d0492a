"""What happened since this server started, in memory and bounded."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
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

BUCKETS_MS: Final = (5, 10, 25, 50, 100, 250, 500, 1_000, 1_800, 2_000, 5_000, 10_000, 30_000)
"""Upper ends, inclusive, in milliseconds; what took longer counts behind the last."""


@dataclass(slots=True)
class Histogram:
    """Counts durations."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_MS) + 1))
    sum_ms: float = 0.0
    max_ms: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration, in seconds."""
        milliseconds = max(0.0, seconds * 1_000)
        self.counts[bisect_left(BUCKETS_MS, milliseconds)] += 1
        self.sum_ms += milliseconds
        self.max_ms = max(self.max_ms, milliseconds)

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form.

        Returns:
            ``count``, ``meanMs``, ``maxMs``; ``p50Ms`` and ``p95Ms``, the upper ends of the buckets
            that hold them (never above ``maxMs``), null without any; ``buckets`` of ``{"leMs",
            "count"}``, not cumulative, ``leMs`` null in the last.
        """
        count = sum(self.counts)
        ends: list[int | None] = [*BUCKETS_MS, None]
        return {
            "count": count,
            "meanMs": round(self.sum_ms / count, 1) if count else None,
            "maxMs": round(self.max_ms, 1) if count else None,
            "p50Ms": self._quantile(0.5, count),
            "p95Ms": self._quantile(0.95, count),
            "buckets": [
                {"leMs": end, "count": n} for end, n in zip(ends, self.counts, strict=True)
            ],
        }

    def _quantile(self, share: float, count: int) -> float | None:
        seen = 0
        for end, n in zip(BUCKETS_MS, self.counts, strict=False):
            seen += n
            if count and seen >= share * count:
                return round(min(float(end), self.max_ms), 1)
        return round(self.max_ms, 1) if count else None


SHOWN_SOURCES: Final = 20
"""Documents that are named, the most cited first."""

NO_STEPS: Final = "no_steps"
"""How a question ended of which passages came back, and no steps: perhaps it is documented."""
NO_ADVICE: Final = "no_advice"
"""How one ended of which passages came back, and nothing that was written could be proven: the knowledge base was
there."""

CITED: Final = "citations"
CLICKED: Final = "clicks"
VISITED: Final = "visits"


@dataclass(slots=True)
class _Quality:
    """Sums over answers that somebody wrote."""

    answers: int = 0
    sourced: int = 0
    """That had any evidence."""
    citing: int = 0
    """Of those, that cite any of it."""
    density: float = 0.0
    coverage: float = 0.0
    references: int = 0
    removed: int = 0
    warned: int = 0
    warnings: Counter[str] = field(default_factory=Counter)

    def to_dict(self) -> dict[str, Any]:
        return {
            "answers": self.answers,
            "citationRate": _share(self.citing, self.sourced),
            "density": _share(self.density, self.answers),
            "sourceCoverage": _share(self.coverage, self.sourced),
            "references": self.references,
            "invalidReferences": self.removed,
            "warningRate": _share(self.warned, self.answers),
            "warnings": dict(self.warnings.most_common()),
        }


class ConsoleMetrics:
    """Counts; safe to use from several threads.

    Args:
        since: when the server started, ISO 8601.
    """

    def __init__(self, since: str) -> None:
        self._since = since
        self._lock = threading.Lock()
        self._asks: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()
        self._queries: Counter[str] = Counter()
        self._query_reasons: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._results = 0
        self._quality = _Quality()
        self._sources: dict[str, Counter[str]] = {}
        self._events: Counter[str] = Counter()
        self._latency, self._first_text, self._whole = Histogram(), Histogram(), Histogram()

    def queried(self, outcome: RetrievalOutcome, seconds: float) -> None:
        """Count one query and what it gave; what is degraded has no part in the latency."""
        with self._lock:
            self._queries[outcome.status.value] += 1
            self._results += len(outcome.results)
            self._dropped.update({why.value: n for why, n in outcome.dropped.items()})
            if outcome.reason is None:
                self._latency.add(seconds)
            else:
                self._query_reasons[outcome.reason.value] += 1

    def ended(self, how: str) -> None:
        """Count a question that came to no answer: ``refused``, ``left``, ``timeout``, ``internal``."""
        with self._lock:
            self._asks[how] += 1

    def answered(
        self,
        consultation: Consultation,
        cited: Iterable[str],
        first_text: float | None,
        whole: float,
    ) -> None:
        """Count an answer.

        Args:
            consultation: that it is of.
            cited: the file of each citation that it shows.
            first_text: seconds until the first of its text; ``None`` if there was none.
            whole: seconds until its end.
        """
        recommendation = consultation.recommendation
        with self._lock:
            self._asks[_end_of(consultation)] += 1
            if recommendation.reason is not None:
                self._reasons[recommendation.reason.value] += 1
            if first_text is not None and recommendation.status is not Status.DEGRADED:
                self._first_text.add(first_text)
            self._whole.add(whole)
            self._judge(consultation)
            for source in cited:
                self._count(source, CITED)

    def clicked(self, source: str, kind: str) -> None:
        """Count a click on a citation (CLICKED) or a visit of a source (VISITED).

        Args:
            source: the file, ``""`` where it isn't known.
            kind: which of them.
        """
        with self._lock:
            self._events[kind] += 1
            if source:
                self._count(source, kind)

    def reported(self) -> None:
        """Count a report of a wrong citation."""
        with self._lock:
            self._events["reports"] += 1

    def _judge(self, consultation: Consultation) -> None:
        verified, quality = consultation.verified, self._quality
        if verified is None:
            return
        metrics = verified.metrics
        kinds = Counter(one.kind.value for one in consultation.recommendation.warnings)
        quality.answers += 1
        quality.sourced += metrics.sources > 0
        quality.citing += metrics.sources > 0 and metrics.references > 0
        quality.density += metrics.density
        quality.coverage += metrics.coverage
        quality.references += metrics.references
        quality.removed += metrics.removed
        quality.warned += bool(kinds)
        quality.warnings.update(kinds)

    def _count(self, source: str, kind: str) -> None:
        if source in self._sources or len(self._sources) < MAX_COUNTED_SOURCES:
            self._sources.setdefault(source, Counter())[kind] += 1

    def to_dict(self, running: int = 0) -> dict[str, Any]:
        """Give the JSON form.

        Args:
            running: questions that are being answered just now.
        """
        with self._lock:
            queries = sum(self._queries.values())
            return {
                "since": self._since,
                "asks": {
                    "total": sum(self._asks.values()),
                    "running": running,
                    "outcomes": dict(self._asks),
                    "reasons": dict(self._reasons),
                    "firstText": self._first_text.to_dict(),
                    "whole": self._whole.to_dict(),
                },
                "retrieval": {
                    "queries": queries,
                    "outcomes": dict(self._queries),
                    "reasons": dict(self._query_reasons),
                    "results": self._results,
                    "dropped": dict(self._dropped),
                    "errorRate": _share(self._queries["degraded"], queries),
                    "zeroResultRate": _share(
                        self._queries["no_match"], queries - self._queries["degraded"]
                    ),
                    "latency": self._latency.to_dict(),
                },
                "answers": self._quality.to_dict(),
                "sources": self._most_cited(),
                **{kind: self._events[kind] for kind in (CLICKED, VISITED, "reports")},
            }

    def _most_cited(self) -> list[dict[str, Any]]:
        kinds = (CITED, CLICKED, VISITED)
        ranked = sorted(
            self._sources.items(), key=lambda it: (*(-it[1][kind] for kind in kinds), it[0])
        )
        return [
            {"source": source, **{kind: counts[kind] for kind in kinds}}
            for source, counts in ranked[:SHOWN_SOURCES]
        ]


def _end_of(consultation: Consultation) -> str:
    """Name how a question ended: by its status, unless that says less than is known."""
    recommendation = consultation.recommendation
    is_near = bool(recommendation.reading)  # what came back is about something else
    if (
        recommendation.status is Status.NO_MATCH
        and len(consultation.findings.ledger)
        and not is_near
    ):
        return NO_STEPS
    if isinstance(recommendation.reason, Shortfall):
        return NO_ADVICE
    return recommendation.status.value


def _share(part: float, whole: int) -> float | None:
    """Give a share or a mean; ``None`` of nothing, which is not 0."""
    return round(part / whole, 4) if whole else None


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
