"""Runs several things at once within a time limit."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Result = TypeVar("_Result")


def all_within(
    seconds: float, works: Mapping[str, Callable[[], _Result]]
) -> Iterator[tuple[str, Future[_Result] | None]]:
    """Start everything at once and yield each as it ends; ``None`` for those that haven't by then.

    A task that takes longer is left behind on a daemon thread: a library's timeout doesn't limit everything
    (name resolution, slow bodies, credentials from a helper program).
    """
    ended: queue.Queue[tuple[str, Future[_Result]]] = queue.Queue()

    def run(name: str, work: Callable[[], _Result]) -> None:
        result: Future[_Result] = Future()
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised again where the result is wanted
            result.set_exception(error)
        ended.put((name, result))

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
