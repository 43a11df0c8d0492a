"""One HTTP connection of the console: uvicorn's, for which a request's head has to come within seconds.

Uvicorn waits for ever for the rest of a head, and counts those that wait among its requests: some
that never end would leave nobody else a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from knowledge_rag.console import limits

if TYPE_CHECKING:
    import asyncio


class PatientConnection(H11Protocol):
    """Serves one client."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a head; where there are too many, in place of who has waited longest."""
        super().connection_made(transport)
        if len(self.connections) >= limits.MAX_REQUESTS:
            self._replace_one()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what has arrived."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next head; uvicorn ends a connection that stays silent sooner."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def waits_until(self) -> float | None:
        """When its patience ends, by the loop's clock; ``None`` while it waits for no head."""
        return None if self._waiting is None else self._waiting.when()

    def give_way(self) -> None:
        """End the connection at once."""
        self._stop_waiting()
        self.connections.discard(self)  # it counts no more, even before its end is noticed
        self.transport.abort()

    def _watch(self) -> None:
        """Be impatient while a head is missing."""
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(limits.HEAD_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _replace_one(self) -> None:
        others = (one for one in self.connections if isinstance(one, PatientConnection))
        waiting = [one for one in others if one.waits_until is not None]
        if waiting:
            min(waiting, key=lambda one: one.waits_until or 0.0).give_way()
