"""How long a caller waits for a query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.net.deadline import (
    DEFAULT_DEADLINE_SECONDS,
    RETRIEVAL_BUDGET_SECONDS,
    Deadline,
)

MIN_BUDGET_SECONDS: Final = 0.1
MAX_BUDGET_SECONDS: Final = 600.0
"""Enough for a large knowledge base on a busy machine; a deployed one that slept wakes in 30 s."""

_WORKING_SHARE: Final = DEFAULT_DEADLINE_SECONDS / RETRIEVAL_BUDGET_SECONDS
_LONGEST_ENDING_SECONDS: Final = 1.0
"""Maximum time reserved for the end of the work, however long the budget."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The longest time that a caller waits for one query, everything included.

    Args:
        seconds: MIN_BUDGET_SECONDS..MAX_BUDGET_SECONDS.

    Raises:
        InvalidSettings: it is out of range.
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
        """Seconds after which the work stops, so that it ends within the budget."""
        return max(self.seconds * _WORKING_SHARE, self.seconds - _LONGEST_ENDING_SECONDS)

    def deadline(self) -> Deadline:
        """Return the deadline, from now, at which the work stops."""
        return Deadline.after(self.working_seconds)
