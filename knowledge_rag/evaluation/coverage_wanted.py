"""Criteria for a build to pass `coverage`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.drift.baseline import Baseline


class StepsCheck(StrEnum):
    """How to treat a runbook that is found but yields no step."""

    OFF = "off"
    WARN = "warn"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Criteria for a build to pass.

    Args:
        top: number of results of a query that must include the runbook, 1..5.
        threshold: share of alerts that must be covered, 0..1; by default 1, or 0 with a baseline.
        steps: whether a runbook without steps is a gap, a warning, or not checked.
        baseline: known gaps.
    """

    top: int
    threshold: float | None = None
    steps: StepsCheck = StepsCheck.WARN
    baseline: Baseline | None = None

    @property
    def share(self) -> float:
        """Return the share of alerts that must be covered, 0..1."""
        if self.threshold is not None:
            return self.threshold
        return 1.0 if self.baseline is None else 0.0
