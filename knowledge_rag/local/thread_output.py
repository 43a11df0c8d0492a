"""Standard output, collected for one thread while the others keep theirs."""

from __future__ import annotations

import io
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock: Final = threading.Lock()


class _Split(io.TextIOBase):
    """Stands in for standard output while any thread's is collected.

    Args:
        usual: where everyone else's goes.
    """

    def __init__(self, usual: TextIO) -> None:
        self.usual = usual
        self.collecting = 0
        self.own = threading.local()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the usual one has
        return getattr(self.usual, name)

    def write(self, text: str, /) -> int:
        return self._current().write(text)

    def flush(self) -> None:
        self._current().flush()

    def _current(self) -> TextIO:
        current: TextIO = getattr(self.own, "buffer", self.usual)
        return current


@contextmanager
def collected_output() -> Iterator[io.StringIO]:
    """Collect what this thread writes to standard output while the block runs."""
    with _lock:
        split = sys.stdout if isinstance(sys.stdout, _Split) else _Split(sys.stdout)
        split.collecting += 1
        sys.stdout = split
    split.own.buffer = buffer = io.StringIO()
    try:
        yield buffer
    finally:
        del split.own.buffer
        with _lock:
            split.collecting -= 1
            if not split.collecting and sys.stdout is split:
                sys.stdout = split.usual
