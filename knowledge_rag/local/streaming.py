"""Sends a response that is made piece by piece, as slowly and as badly as its maker wants."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Receive, Scope, Send

    from knowledge_rag.local.event_stream import Event

MAX_TURNS: Final = 16
"""Answers in the making at a time. Each waits in a thread for the function, which asks this very
server: without a bound of their own they would leave its question no thread."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so many seconds."""

    seconds: float


class Cut(Enum):
    """The connection ends here, in the middle of the response."""

    HERE = "here"


Piece = bytes | Pause | Literal[Cut.HERE]
EventStep = Callable[[Iterable["Event"]], Generator["Event"]]
"""From the events of a stream to those that are sent."""
ByteStep = Callable[[Iterable[bytes]], Generator[Piece]]
"""From their bytes to the pieces that are sent."""


def unaltered(events: Iterable[Event]) -> Generator[Event]:
    """Give the events as they come."""
    yield from events


def whole(messages: Iterable[bytes]) -> Generator[Piece]:
    """Send the messages as they come."""
    yield from messages


class Streamed:
    """An ASGI response of unknown length.

    Args:
        pieces: made one at a time in a thread of the limiter's; closed when the client has gone.
        headers: beside the framing's own.
        limiter: bounds how many are in the making.
    """

    def __init__(
        self,
        pieces: Generator[Piece],
        headers: Mapping[str, str],
        limiter: anyio.CapacityLimiter,
    ) -> None:
        self._pieces = pieces
        self._headers = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, until it is over or nobody reads it any more."""
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_gone, receive, tasks.cancel_scope)
                await self._play(send)
                tasks.cancel_scope.cancel()
        finally:
            self._pieces.close()

    async def _play(self, send: Send) -> None:
        while (piece := await self._next()) is not None:
            if piece is Cut.HERE:
                return  # the server closes a connection whose response was never completed
            if isinstance(piece, Pause):
                await anyio.sleep(piece.seconds)
            else:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> Piece | None:
        return await anyio.to_thread.run_sync(next, self._pieces, None, limiter=self._limiter)


async def _gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
