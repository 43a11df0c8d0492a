"""How commands end that are told to: what they were at is put away first."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


def put_away_when_killed() -> None:
    """Make SIGTERM, and a terminal that closes, an exception: nothing half made is left behind."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not every system has both
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)  # as shells have it


@contextmanager
def until_told_to_stop() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM, whenever they come, the ordinary end of the block."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        return
