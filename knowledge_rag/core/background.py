"""Work that can't be told to stop, on a daemon thread of its own: who waits for it decides how long."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


class Background(Generic[_Result]):
    """One piece of work, begun at once.

    Args:
        name: of the thread.
        work: what it does; libraries' own timeouts need not bound it.

    Attributes:
        over: set when it has ended, one way or the other.
        result: what it gave; ``None`` until then, and where it failed.
        error: what it raised; ``None`` until then, and where it did not.
    """

    def __init__(self, name: str, work: Callable[[], _Result]) -> None:
        self._work = work
        self.over = threading.Event()
        self.result: _Result | None = None
        self.error: Exception | None = None
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def _run(self) -> None:
        try:
            self.result = self._work()
        except Exception as error:  # noqa: BLE001 - for whoever waits to raise again
            self.error = error
        self.over.set()
