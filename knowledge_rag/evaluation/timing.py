"""Percentiles of measured times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Percentiles:
    """Percentiles of some times, in milliseconds."""

    p50: float
    p95: float
    p99: float


def percentiles(seconds: Sequence[float]) -> Percentiles:
    """Return the nearest-rank percentiles of at least one time in seconds, as milliseconds."""
    ordered = sorted(seconds)

    def rank(percent: int) -> float:
        return ordered[-(-len(ordered) * percent // 100) - 1] * 1000

    return Percentiles(rank(50), rank(95), rank(99))
