"""An HTTP connection of uvicorn's whose client has to take its turn in time.

Uvicorn waits for ever for the rest of a request.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio


class TimedConnection(H11Protocol):
    """Serves one client; a subclass says when it is the client's turn, how long, and what then."""

    _patience: asyncio.TimerHandle | None = None

    @abstractmethod
    def _is_clients_turn(self) -> bool:
        """Whether the connection waits for the client."""

    @abstractmethod
    def _seconds(self) -> float:
        """Give how long it waits."""

    @abstractmethod
    def _give_up(self) -> None:
        """End the waiting; called when that is over."""

    def data_received(self, data: bytes) -> None:
        """Take in what has arrived."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request, or go on with what the client has sent meanwhile."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Be impatient exactly as long as it is the client's turn."""
        if self.transport.is_closing() or not self._is_clients_turn():
            self._stop_waiting()
        elif self._patience is None:
            self._patience = self.loop.call_later(self._seconds(), self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
