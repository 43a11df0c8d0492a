"""Lets the real function wait: for tests of what is found, which a busy machine must not fail."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING
from unittest.mock import patch

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENT_SECONDS = 20.0


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
