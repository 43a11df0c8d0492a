"""Uninterruptible work on a thread of its own: callers decide how long to wait."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


class Background(Generic[_Result]):
    """Work that starts at once, on a named thread; the process may end before a daemon does.

    Attributes:
        over: set when it has ended.
        result: its value; ``None`` until it ends, or if it failed.
        error: its exception; ``None`` until it ends, or if it raised none.
    """

    def __init__(self, name: str, work: Callable[[], _Result], *, daemon: bool = True) -> None:
        self._work = work
        self.over = threading.Event()
        self.result: _Result | None = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, name=name, daemon=daemon).start()

    def _run(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:  # noqa: BLE001 - for the caller that waits to raise again
            self.error = error
        self.over.set()
