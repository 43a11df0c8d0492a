"""One absolute deadline and one largest size, applied at the socket.

A timeout a read is no budget: a peer that drips one byte each 0.3 s satisfies it for ever. Here
every connect, handshake, receive and send is given what is left until one instant, so nothing that
a peer does can prolong a call, and no thread has to be abandoned to leave it. Bytes are counted at
the same place, because a length that a peer writes into its response is the peer's to choose.
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
"""What a caller waits for one query at most, everything included (SPEC B3)."""

DEFAULT_DEADLINE_SECONDS: Final = 1.8
"""When the work for it stops, so that the answer still lands within the budget."""

MAX_RESPONSE_BYTES: Final = 4 * 2**20
"""Most that one exchange may receive, headers included.

Retrieve gives 100 results at most. A chunk of ours with its metadata takes about 3 KB of JSON, and
35 KB with the largest cap that can be set (8,192 tokens): a hundred of those are 3.5 MB."""


GIVE_UP_SECONDS: Final = 0.5
"""How long an exchange may go on at most that its caller has given up."""

_Done = TypeVar("_Done")


class ResponseTooLarge(http.client.HTTPException):
    """The response exceeds :data:`MAX_RESPONSE_BYTES`."""


class Deadline(NamedTuple):
    """The instant at which a call must have ended.

    Args:
        at: that instant, in seconds of ``clock``.
        clock: returns the present instant; never goes backwards.
        is_given_up: returns whether the caller has left before; asked from any thread. ``None``
            where no caller can.
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
            DeadlineExceeded: none are left, or the caller has left.
        """
        if self.is_given_up is not None and self.is_given_up():
            raise DeadlineExceeded("the caller has given up")
        left = self.at - self.clock()
        if left <= 0:
            raise DeadlineExceeded("the deadline has passed")
        return left

    def patiently(self, sock: socket.socket, act: Callable[[], _Done]) -> _Done:
        """Do what may wait for a peer; it is done again where the wait was only a look around.

        Args:
            sock: that is waited on.
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
        """Make this the deadline of every exchange that the block starts, in this thread or task.

        It travels in a context variable because botocore's call has no parameter to carry it.
        """
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def current_deadline() -> Deadline:
    """Return the deadline that applies here; without one, the default from now on."""
    return _current.get() or Deadline.after(DEFAULT_DEADLINE_SECONDS)


class DeadlineSocket:
    """A connected socket, plain or TLS, on which no wait outlasts the deadline.

    It offers what ``http.client`` uses of a socket. ``close`` does nothing, since ``http.client``
    closes its socket before it has read the body of a last response: whoever opened it calls
    :meth:`shut`.

    Args:
        sock: connected.
        deadline: of the exchange under way; each exchange on a kept connection sets its own.

    Attributes:
        received: bytes received since the exchange under way began.
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
        """Receive what there is, at least a byte unless the peer has closed.

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
        """Send all of ``data``; a peer that takes it in drips gets no more time for it.

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
        """Return whether the peer has closed, or sent what nobody asked for, since the last use."""
        if self._unasked or self._holds_decrypted():
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))

    def _holds_decrypted(self) -> bool:
        # TLS takes whole records from the network: the rest of one that ended behind a response
        # shows neither in the reader's buffer nor in a poll, and would answer the next request.
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
    """Reports when it is closed with bytes that nobody read: the peer has said more than was asked."""

    def __init__(self, reader: _Reader, tell: Callable[[], None]) -> None:
        super().__init__(reader)
        self._reader = reader
        self._tell = tell

    def close(self) -> None:
        if not self.closed:
            self._reader.ended = True  # so that looking into the buffer can't wait for more
            if self.peek(1):
                self._tell()
        super().close()
