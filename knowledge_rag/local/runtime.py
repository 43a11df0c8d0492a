"""onnxruntime, imported so that it reports nothing and can be interrupted.

By default it reports its use to its maker, and keeps an identity of this machine in the home folder
for that. Interrupted while it loads, it fails with an error of its own: so Ctrl-C waits until it is
loaded. All other modules import it from here.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ["ORT_DISABLE_TELEMETRY"] = "1"


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # no other thread is interrupted
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


with _interrupted_afterwards():
    import onnxruntime

__all__ = ["onnxruntime"]
