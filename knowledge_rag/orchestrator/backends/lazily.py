"""What takes unknown time to make, made once, on first use, and waited for no longer than a deadline."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.net.deadline import Deadline

_Made = TypeVar("_Made")


class Lazily(Generic[_Made]):
    """Makes one thing for all threads.

    botocore fetches the first credentials while it makes a client, from wherever they come and with
    timeouts of its own.

    Args:
        name: of the thread that makes it.
        make: makes it; after a failure the next call tries again.
    """

    def __init__(self, name: str, make: Callable[[], _Made]) -> None:
        self._name = name
        self._make = make
        self._lock = threading.Lock()
        self._making: Background[_Made] | None = None

    def get(self, deadline: Deadline) -> _Made:
        """Give the thing.

        Args:
            deadline: until when to wait for it; made later, it serves the next call.

        Raises:
            DeadlineExceeded: it could not be made in time.
            Exception: what making it raised.
        """
        making = self._under_way()
        if not making.over.wait(deadline.remaining()):
            raise DeadlineExceeded(f"making the {self._name} took too long")
        if making.result is None:
            raise making.error or RuntimeError(f"the {self._name} is nothing")
        return making.result

    def made(self) -> _Made | None:
        """Give the thing if it is there, and forget it."""
        with self._lock:
            making, self._making = self._making, None
        return None if making is None else making.result

    def _under_way(self) -> Background[_Made]:
        with self._lock:
            if self._making is None or self._making.error is not None:
                self._making = Background(self._name, self._make)
            return self._making
