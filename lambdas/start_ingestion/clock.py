"""The time that one invocation has; passed in, so that tests need not wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Clock:
    """A monotonic clock with an end.

    Args:
        now: gives seconds.
        sleep: waits for seconds.
        end: the second at which work has to be over.
    """

    now: Callable[[], float]
    sleep: Callable[[float], None]
    end: float

    def left(self) -> float:
        """Give the seconds that are left, negative when there are none."""
        return self.end - self.now()

    def until(self, end: float) -> Clock:
        """Give the same clock with an earlier end; a later one is not granted."""
        return Clock(self.now, self.sleep, min(end, self.end))

    def check(self, what: str) -> None:
        """Go on only while there is time.

        Raises:
            DeadlineExceeded: there is none left; says what was being done.
        """
        if self.left() <= 0:
            raise DeadlineExceeded(f"the function's time is up while {what}; deploy again to go on")
