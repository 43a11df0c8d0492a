"""One HTTP connection of the console: uvicorn's, for which a request's head has to come within seconds.

Uvicorn waits for ever for the rest of a head, and counts those that wait among its requests: some
that never end would leave nobody else a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11

from knowledge_rag.console import limits
from knowledge_rag.local.timed_connection import TimedConnection

if TYPE_CHECKING:
    import asyncio


class PatientConnection(TimedConnection):
    """Serves one client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a head; where there are too many, in place of who has waited longest."""
        super().connection_made(transport)
        if len(self.connections) >= limits.MAX_REQUESTS:
            self._replace_one()
        self._watch()

    @property
    def waits_until(self) -> float | None:
        """When its patience ends, by the loop's clock; ``None`` while it waits for no head."""
        return None if self._patience is None else self._patience.when()

    def give_way(self) -> None:
        """End the connection at once."""
        self._stop_waiting()
        self.connections.discard(self)  # it counts no more, even before its end is noticed
        self.transport.abort()

    def _is_clients_turn(self) -> bool:
        return self.conn.their_state is h11.IDLE  # a head is missing

    def _seconds(self) -> float:
        return limits.HEAD_SECONDS

    def _give_up(self) -> None:
        self.transport.close()

    def _replace_one(self) -> None:
        others = (one for one in self.connections if isinstance(one, PatientConnection))
        waiting = [one for one in others if one.waits_until is not None]
        if waiting:
            min(waiting, key=lambda one: one.waits_until or 0.0).give_way()
