"""One absolute deadline and one largest size, applied at the socket.

A timeout per read is no budget: a peer that sends one byte every 0.3 s satisfies it forever. Here
every connect, handshake, receive and send gets the time left until one instant, so no peer can
prolong a call, and no thread has to be abandoned to leave it. Bytes are counted in the same place,
because a peer can announce any length.
"""

from __future__ import annotations

import http.client
import io
import select
import ssl
import time
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from knowledge_rag.core.errors import DeadlineExceeded

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from _typeshed import ReadableBuffer, WriteableBuffer

RETRIEVAL_BUDGET_SECONDS: Final = 2.0
"""The longest that a caller waits for one query, everything included."""

DEFAULT_DEADLINE_SECONDS: Final = 1.8
"""When work on it stops, so that the answer still arrives within the budget."""

MAX_RESPONSE_BYTES: Final = 4 * 2**20
"""Maximum bytes that one exchange may receive, headers included.

Retrieve returns at most 100 results. One of our chunks with its metadata takes about 3 KB of JSON, and
35 KB with the largest possible cap (8,192 tokens): a hundred of those are 3.5 MB."""


GIVE_UP_SECONDS: Final = 0.5
"""How long an exchange may continue after its caller has given up."""

_Done = TypeVar("_Done")


class ResponseTooLarge(http.client.HTTPException):
    """The response exceeds :data:`MAX_RESPONSE_BYTES`."""


class Deadline(NamedTuple):
    """The instant by which a call must have ended.

    Args:
        at: that instant, in seconds of ``clock``.
        clock: returns the present instant; never goes backwards.
        is_given_up: returns whether the caller has left early; called from any thread. ``None``
        if no caller can.
    """

    at: float
    clock: Callable[[], float] = time.monotonic
    is_given_up: Callable[[], bool] | None = None

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline ``seconds`` from now."""
        return cls(clock() + seconds, clock)

    def remaining(self) -> float:
        """Return the seconds left, more than 0.

        Raises:
            DeadlineExceeded: no time is left, or the caller has left.
        """
        if self.is_given_up is not None and self.is_given_up():
            raise DeadlineExceeded("the caller has given up")
        left = self.at - self.clock()
        if left <= 0:
            raise DeadlineExceeded("the deadline has passed")
        return left

    def patiently(self, sock: socket.socket, act: Callable[[], _Done]) -> _Done:
        """Do something that may wait for a peer, and repeat it after a wait that was only a check.

        Args:
            sock: the socket to wait on.
            act: waits on it once, and can be repeated after a timeout.

        Raises:
            TimeoutError: the deadline came first, or the caller has left.
        """
        while True:
            left = self.remaining()
            wait = left if self.is_given_up is None else min(left, GIVE_UP_SECONDS)
            sock.settimeout(wait)
            try:
                return act()
            except TimeoutError:
                if wait >= left:
                    raise

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply this deadline to every exchange that the block starts, in this thread or task.

        It is a context variable because botocore's call has no parameter for it.
        """
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current_deadline() -> Deadline:
    """Return the current deadline; if none is set, the default from now on."""
    return _current.get() or Deadline.after(DEFAULT_DEADLINE_SECONDS)


class DeadlineSocket:
    """A connected socket, plain or TLS, on which no wait exceeds the deadline.

    It offers the part of a socket that ``http.client`` uses. ``close`` does nothing, since ``http.client``
    closes its socket before it has read the body of a last response: the code that opened it calls
    :meth:`shut`.

    Args:
        sock: a connected socket.
        deadline: of the current exchange; each exchange on a kept connection sets its own.

    Attributes:
        received: bytes received since the current exchange began.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self.deadline = deadline
        self.received = 0
        self._unasked = False

    def begin(self, deadline: Deadline) -> None:
        """Start another exchange, with its own deadline."""
        self.deadline = deadline
        self.received = 0

    def recv_into(self, buffer: WriteableBuffer) -> int:
        """Receive the available bytes, at least one unless the peer has closed.

        Raises:
            TimeoutError: the deadline came first.
            ResponseTooLarge: this exchange has received more than MAX_RESPONSE_BYTES.
        """
        count = self.deadline.patiently(self._sock, lambda: self._sock.recv_into(buffer))
        self.received += count
        if self.received > MAX_RESPONSE_BYTES:
            raise ResponseTooLarge(f"more than {MAX_RESPONSE_BYTES} bytes")
        return count

    def sendall(self, data: ReadableBuffer) -> None:
        """Send all of ``data``; a peer that reads slowly gets no extra time.

        Raises:
            TimeoutError: the deadline came first.
        """
        left = memoryview(data)
        while left:
            sent = self.deadline.patiently(self._sock, partial(self._sock.send, left))
            left = left[sent:]

    def makefile(self, mode: str = "rb") -> io.BufferedReader:
        """Return a buffered reader over this socket; closing it leaves the socket open."""
        if mode != "rb":
            raise ValueError(f"mode {mode!r}: only 'rb' is offered")
        return _Buffer(_Reader(self), self._note_unasked)

    def is_stale(self) -> bool:
        """Return whether the peer has closed, or sent unexpected bytes, since the last use."""
        if self._unasked or self._has_decrypted():
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def _has_decrypted(self) -> bool:
        # TLS reads whole records from the network: the rest of one that ended after a response shows
        # neither in the reader's buffer nor in a poll, and would answer the next request.
        return isinstance(self._sock, ssl.SSLSocket) and self._sock.pending() > 0

    def _note_unasked(self) -> None:
        self._unasked = True

    def close(self) -> None:
        """Do nothing; see :meth:`shut`."""

    def shut(self) -> None:
        """Close the socket for good."""
        self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: DeadlineSocket) -> None:
        self._sock = sock
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int | None:
        return None if self.ended else self._sock.recv_into(buffer)


class _Buffer(io.BufferedReader):
    """Reports when it is closed with unread bytes: the peer has sent more than its response."""

    def __init__(self, reader: _Reader, on_unread: Callable[[], None]) -> None:
        super().__init__(reader)
        self._reader = reader
        self._on_unread = on_unread

    def close(self) -> None:
        if not self.closed:
            self._reader.ended = True  # so that peeking into the buffer can't block
            if self.peek(1):
                self._on_unread()
        super().close()
