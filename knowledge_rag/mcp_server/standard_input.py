"""Standard input, read so that waiting for it holds nothing up.

The SDK reads it in a thread that can't be left: a server that is told to stop would wait until its
client says something. This thread ends with the process.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_DESCRIPTOR: Final = 0
_AT_ONCE: Final = 65_536
_WAITING: Final = 16
"""Messages that are read ahead; then the client has to wait."""


class StandardInput:
    """The messages that a client writes, one a line; made inside the event loop.

    Args:
        max_bytes: of a message; a longer one is read to its end and given as an empty line, which is
            no message, so that its sender is told.
        descriptor: to read from; it is the caller's no longer.
    """

    def __init__(self, max_bytes: int, descriptor: int) -> None:
        self._max_bytes = max_bytes
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = threading.Semaphore(_WAITING)
        threading.Thread(target=self._read, name="standard-input", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Give each line, without its end, until the input is closed."""
        while (line := await self._lines.get()) is not None:
            self._room.release()
            yield line

    def _read(self) -> None:
        try:
            self._read_lines()
        except (OSError, RuntimeError):
            pass  # closed at the other end, or the loop has gone: nobody waits for more
        finally:
            self._give(None)

    def _read_lines(self) -> None:
        begun = bytearray()
        too_long = False
        while data := os.read(self._descriptor, _AT_ONCE):
            *ended, rest = data.split(b"\n")
            for part in ended:
                line = b"" if too_long or len(begun) + len(part) > self._max_bytes else begun + part
                self._room.acquire()
                self._give(line.decode(errors="replace"))
                begun.clear()
                too_long = False
            too_long = too_long or len(begun) + len(rest) > self._max_bytes
            begun = bytearray() if too_long else begun + rest
        if begun:
            self._give(begun.decode(errors="replace"))

    def _give(self, line: str | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
        except RuntimeError:  # the loop is closed
            return


def taken_standard_input() -> int:
    """Take descriptor 0 for oneself and leave the null device in its place.

    Raises:
        OSError: it is closed.
    """
    mine = os.dup(_DESCRIPTOR)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _DESCRIPTOR)
    os.close(nothing)
    return mine
