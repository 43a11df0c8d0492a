"""Criteria by which `coverage` passes a build."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.drift.baseline import Baseline


class StepsCheck(StrEnum):
    """What to do about a runbook that is found and gives no step."""

    OFF = "off"
    WARN = "warn"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Criteria by which a build passes.

    Args:
        top: among how many results of a query a runbook has to be, 1..5.
        threshold: share of alerts that has to be covered, 0..1; by default 1, or 0 with a baseline.
        steps: whether a runbook without steps is a gap, a warning, or not looked for.
        baseline: known gaps.
    """

    top: int
    threshold: float | None = None
    steps: StepsCheck = StepsCheck.WARN
    baseline: Baseline | None = None

    @property
    def share(self) -> float:
        """Return the share of alerts that has to be covered, 0..1."""
        if self.threshold is not None:
            return self.threshold
        return 1.0 if self.baseline is None else 0.0
