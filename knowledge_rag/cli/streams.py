"""Standard output and standard error, whatever they are connected to."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare_streams() -> None:
    """Make both streams writable with any text.

    What the encoding of the other end lacks is written as an escape, and a stream that was closed
    before this program started swallows what it is given.
    """
    if sys.stdout is None:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Let what is still buffered go nowhere: writing it has failed, and would fail again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nowhere() -> io.TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for the process's life
