"""How commands that run until they are told to stop are told."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def until_told_to_stop() -> Iterator[None]:
    """Make Ctrl-C and SIGTERM, whenever they come, the ordinary end of the block."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        return
