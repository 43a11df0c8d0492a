"""Time for tests on a busy machine, which must not fail them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENT_SECONDS = 20.0
MOST_SECONDS = 120.0


def longer(seconds: float) -> Iterator[float]:
    """Yield times for something to run out of, the first being ``seconds`` and each four times the last.

    For tests of what happens when time is up behind a certain point: where the machine was so busy that
    the point was not reached, they try again with more, and what is never reached fails them.
    """
    while seconds < MOST_SECONDS:
        yield seconds
        seconds *= 4


@contextlib.contextmanager
def patient_function(seconds: float = PATIENT_SECONDS) -> Iterator[None]:
    """Give a query of the function in this process so many seconds in place of its budget.

    What the budget itself promises is tested without this, in tests/faults and tests/system.
    """
    with (
        patch("lambdas.retrieve_knowledge.handler.DEFAULT_DEADLINE_SECONDS", seconds),
        patch("lambdas.retrieve_knowledge.settings.DEFAULT_DEADLINE_SECONDS", seconds),
    ):
        yield
