"""Whether the time that reading takes grows with the length of a text and no faster."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TRIES = 5


def assert_linear(read: Callable[[str], object], text: str, seconds: float = 0.05) -> None:
    """Read an eighth of a text, then all of it; fail if that takes more than 24 times as long.

    Quadratic time would be 64 times as much, at each try; a slow moment of the machine lasts for one.

    Args:
        read: what is timed, by the processor's time of this process.
        text: long enough that quadratic time is over ``seconds``.
        seconds: a text that is read within them has passed.
    """
    gc.disable()  # a collection of what other tests left is no time of this one
    try:
        for _ in range(_TRIES):
            part, whole = _cpu_seconds(read, text[: len(text) // 8]), _cpu_seconds(read, text)
            if whole < max(seconds, 24 * part):
                return
    finally:
        gc.enable()
    raise AssertionError(f"{part:.3f} s for an eighth of the text, {whole:.3f} s for all of it")


def _cpu_seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started
