"""How long things took, in fixed buckets: bounded, whatever happens."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, Final

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
