"""One HTTP connection of the wire server: uvicorn's, with bounds on patience and number.

Uvicorn waits for ever for the rest of a request, and answers what is no HTTP in plain text. Here a
request has to arrive within seconds, connections are counted, and every answer has the service's
form.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import h11

from knowledge_rag.local.timed_connection import TimedConnection

if TYPE_CHECKING:
    import asyncio

REQUEST_SECONDS: Final = 10.0
"""How long a request may take to arrive, from its first byte, or the connection's start, on."""

MAX_CONNECTIONS: Final = 128
"""At a time; one more is told so and closed."""


class Connection(TimedConnection):
    """Serves one client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.write(
                _canned("429 Too Many Requests", "ThrottlingException", "Rate exceeded")
            )
            transport.close()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what has arrived."""
        if self._is_idle():
            self._stop_waiting()  # a request begins, with all the time there is
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request."""
        self._close_with(_canned("400 Bad Request", "ValidationException", msg))

    def _is_idle(self) -> bool:
        return self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def _is_clients_turn(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _seconds(self) -> float:
        return REQUEST_SECONDS

    def _give_up(self) -> None:
        if self._is_idle():
            self.transport.close()
            return
        late = f"The request did not arrive within {REQUEST_SECONDS:g} seconds"
        self._close_with(_canned("408 Request Timeout", "RequestTimeoutException", late))

    def _close_with(self, answer: bytes) -> None:
        self._stop_waiting()
        cycle = getattr(self, "cycle", None)  # uvicorn says it is there before it is
        if cycle is None or not cycle.response_started or cycle.response_complete:
            self.transport.write(answer)
        self.transport.close()


def _canned(status: str, code: str, message: str) -> bytes:
    body = json.dumps({"message": message})
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nx-amzn-ErrorType: {code}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()
