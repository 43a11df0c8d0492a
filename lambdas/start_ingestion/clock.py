"""The time that one invocation has; passed in, so that tests need not wait for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from botocore.exceptions import ClientError

from knowledge_rag.core.errors import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

PROPAGATION_SECONDS: Final = 90
"""How long new rights may take to be known; what is refused later is refused for good."""
RETRY_SECONDS: Final = 15

_REFUSED: Final = frozenset({"403", "AccessDenied", "AccessDeniedException"})
"""Codes of a call without rights; an answer to HEAD has no body and so no code but its status."""

_T = TypeVar("_T")


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
            raise DeadlineExceeded(f"the function's time is up while {what}")


def with_new_rights(work: Callable[[], _T], clock: Clock) -> _T:
    """Do what needs rights that may have been given a second ago.

    The policy names the one archive of this deployment, so it is new each time, and CloudFormation
    goes on as soon as IAM has taken it, not when every service knows.

    Args:
        work: it may be done again from its beginning.
        clock: how long everything may take.

    Raises:
        botocore.exceptions.ClientError: it is still refused after :data:`PROPAGATION_SECONDS`, or
            failed for another reason.
    """
    patience = min(clock.now() + PROPAGATION_SECONDS, clock.end)
    while True:
        try:
            return work()
        except ClientError as error:
            if error_code(error) not in _REFUSED or clock.now() + RETRY_SECONDS > patience:
                raise
        clock.sleep(RETRY_SECONDS)


def error_code(error: ClientError) -> str:
    """Give the service's code of an error, ``""`` where it has none."""
    return str(error.response.get("Error", {}).get("Code", ""))
