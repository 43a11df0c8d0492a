"""Several things at once, none of which may take longer than a bound."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Result = TypeVar("_Result")


class Ended(Generic[_Result]):
    """How one thing ended: with a value, or with an error that :attr:`value` raises."""

    def __init__(self, work: Callable[[], _Result]) -> None:
        self._error: Exception | None = None
        self._value: _Result
        try:
            self._value = work()
        except Exception as error:  # noqa: BLE001 - raised again where the value is wanted
            self._error = error

    @property
    def value(self) -> _Result:
        """The value.

        Raises:
            Exception: what ended the work.
        """
        if self._error is not None:
            raise self._error
        return self._value


def all_within(
    seconds: float, works: Mapping[str, Callable[[], _Result]]
) -> Iterator[tuple[str, Ended[_Result] | None]]:
    """Start everything at once and give each as it ends; ``None`` for what has not by then.

    What goes on longer is left behind on a daemon thread: no timeout of a library bounds all that it
    may do (look names up, drip-fed bodies, credentials from a helper program).
    """
    ended: queue.Queue[tuple[str, Ended[_Result]]] = queue.Queue()

    def run(name: str, work: Callable[[], _Result]) -> None:
        ended.put((name, Ended(work)))

    for name, work in works.items():
        threading.Thread(target=run, args=(name, work), name=name, daemon=True).start()
    running = dict.fromkeys(works)
    until = time.monotonic() + seconds
    while running:
        try:
            name, result = ended.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            break
        del running[name]
        yield name, result
    for name in running:
        yield name, None
