"""Streamed responses: ``application/vnd.amazon.eventstream`` messages, sent piece by piece.

A message is two lengths and their checksum, headers, a payload, and the checksum of all of it::

    total length (4) | headers' length (4) | CRC32 of both (4) | headers | payload | CRC32 (4)

All numbers are big-endian. A header is the length of its name (1), the name, the type of its value
(1; 7 is text), the length of the value (2) and the value.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from starlette.types import Receive, Scope, Send


CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"

MAX_HEADERS_BYTES: Final = 128 * 1024
MAX_PAYLOAD_BYTES: Final = 24 * 1024 * 1024
"""What readers of the format take at most, botocore among them."""

PRELUDE_BYTES: Final = 12
_TRAILER_BYTES: Final = 4
_TEXT: Final = 7
_MAX_NAME: Final = 255
_MAX_VALUE: Final = 32_767


class Event(NamedTuple):
    """One message of a stream: its member of the operation's output, its JSON, whether it is an error."""

    kind: str
    payload: Mapping[str, Any]
    failed: bool = False


def encode(event: Event) -> bytes:
    """Return an event's message."""
    message_type = "exception" if event.failed else "event"
    headers = {
        f":{message_type}-type": event.kind,
        ":content-type": "application/json",
        ":message-type": message_type,
    }
    return message(headers, json.dumps(event.payload).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message; names have 1..255 bytes and values up to 32,767, as UTF-8.

    Raises:
        ValueError: something is longer than the format or its readers take.
    """
    head = b"".join(_header(name, value) for name, value in headers.items())
    if len(head) > MAX_HEADERS_BYTES or len(payload) > MAX_PAYLOAD_BYTES:
        raise ValueError(f"headers of {len(head)} and a payload of {len(payload)} bytes")
    total = PRELUDE_BYTES + len(head) + len(payload) + _TRAILER_BYTES
    lengths = struct.pack(">II", total, len(head))
    checked = b"".join((lengths, struct.pack(">I", zlib.crc32(lengths)), head, payload))
    return checked + struct.pack(">I", zlib.crc32(checked))


def _header(name: str, value: str) -> bytes:
    named, text = name.encode(), value.encode()
    if not 1 <= len(named) <= _MAX_NAME or len(text) > _MAX_VALUE:
        raise ValueError(f"header {name[:40]!r} of {len(named)} bytes with a value of {len(text)}")
    return struct.pack(f">B{len(named)}sBH", len(named), named, _TEXT, len(text)) + text


MAX_TURNS: Final = 16
"""Answers in the making at a time. Each waits in a thread for the function, which asks this very
server: without a bound of their own they would leave its question no thread."""


class Streamed:
    """An ASGI response of unknown length.

    Args:
        pieces: made one at a time in a thread of the limiter's; closed when the client has gone.
        headers: beside the framing's own.
        limiter: bounds how many are in the making.
    """

    def __init__(
        self,
        pieces: Generator[bytes],
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
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self) -> bytes | None:
        return await anyio.to_thread.run_sync(next, self._pieces, None, limiter=self._limiter)


async def _gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
