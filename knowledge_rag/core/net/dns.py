"""Name resolution that a caller can stop waiting for.

``getaddrinfo`` takes no timeout and can't be interrupted, so it runs on a daemon thread and the
caller stops waiting at its deadline. Each name has one lookup in flight (a second one once the first
looks stuck), so a dead resolver costs two threads, however many calls need it.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import DeadlineExceeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.net.deadline import Deadline

FRESH_SECONDS: Final = 30.0
"""An answer this recent is reused without a lookup; AWS endpoints publish 60 s."""

STALE_AFTER_SECONDS: Final = 0.25
"""An older answer is used if a fresh one takes longer than this."""

STUCK_AFTER_SECONDS: Final = 1.0
"""A lookup in flight for longer than this no longer blocks a new one."""

MAX_LOOKUPS: Final = 2
"""Maximum lookups of one name in flight at once."""

Address = tuple[int, int, int, Any]
"""family, type, protocol and socket address: the arguments for opening a socket."""


def system_lookup(host: str, port: int, flags: int = 0) -> tuple[Address, ...]:
    """Ask the system's resolver; may block for any length of time.

    Raises:
        OSError: the name can't be resolved, or is invalid.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError as error:  # a label that IDNA refuses
        raise socket.gaierror(socket.EAI_NONAME, f"{host!r} is not a host name") from error
    return tuple((family, kind, proto, address) for family, kind, proto, _, address in found)


@dataclass(slots=True, eq=False)
class _Flight:
    started: float
    error: OSError | None = None


@dataclass(slots=True)
class _Name:
    addresses: tuple[Address, ...] = ()
    answered: float = 0.0
    flights: list[_Flight] = field(default_factory=list)


class Resolver:
    """Resolves names for any number of threads, each waiting no longer than its deadline.

    Args:
        lookup: resolves one name, blocking; raises ``OSError`` if it can't.
        clock: seconds, never going backwards.
    """

    def __init__(
        self,
        lookup: Callable[[str, int], tuple[Address, ...]] = system_lookup,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._clock = clock
        self._names: dict[tuple[str, int], _Name] = {}
        self._changed = threading.Condition()

    def resolve(self, host: str, port: int, deadline: Deadline) -> tuple[Address, ...]:
        """Return the addresses of ``host``, at least one.

        Raises:
            DeadlineExceeded: no answer came in time, and there is no older one to use.
            OSError: the name can't be resolved.
        """
        try:
            return system_lookup(host, port, socket.AI_NUMERICHOST)  # no lookup takes place
        except socket.gaierror:
            pass
        with self._changed:
            name = self._names.setdefault((host, port), _Name())
            if name.addresses and self._clock() - name.answered < FRESH_SECONDS:
                return name.addresses
            return self._wait(name, self._flight(name, host, port), deadline)

    def forget(self, host: str, port: int) -> None:
        """Drop the cached answer for ``host``: none of its addresses could be reached."""
        with self._changed:
            name = self._names.get((host, port))
            if name is not None:
                name.addresses = ()

    def _wait(self, name: _Name, flight: _Flight, deadline: Deadline) -> tuple[Address, ...]:
        asked, older = flight.started, name.addresses
        left = deadline.remaining()
        self._changed.wait_for(
            lambda: flight.error is not None or (name.addresses and name.answered >= asked),
            min(left, STALE_AFTER_SECONDS) if older else left,
        )
        if name.addresses:
            return name.addresses
        if flight.error is not None:
            raise flight.error
        raise DeadlineExceeded("name resolution took too long")

    def _flight(self, name: _Name, host: str, port: int) -> _Flight:
        newest = name.flights[-1] if name.flights else None
        stuck = newest is not None and self._clock() - newest.started > STUCK_AFTER_SECONDS
        if newest is not None and (not stuck or len(name.flights) >= MAX_LOOKUPS):
            return newest
        flight = _Flight(self._clock())
        thread = threading.Thread(
            target=self._run, args=(name, flight, host, port), name="dns", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:  # no more threads; a flight that never starts never ends
            raise OSError("no thread for name resolution") from error
        name.flights.append(flight)  # before it can end: that needs the lock, which is taken here
        return flight

    def _run(self, name: _Name, flight: _Flight, host: str, port: int) -> None:
        addresses: tuple[Address, ...] = ()
        error: OSError | None = None
        try:
            addresses = self._lookup(host, port)
        except OSError as caught:
            error = caught
        with self._changed:
            name.flights.remove(flight)
            if addresses:
                name.addresses, name.answered = addresses, self._clock()
            else:
                flight.error = error or OSError(f"{host!r} has no address")
            self._changed.notify_all()
