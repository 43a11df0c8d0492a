"""Streamed responses: ``application/vnd.amazon.eventstream`` messages, sent one by one.

A message consists of two lengths and their checksum, headers, a payload, and the checksum of all of it::

    total length (4) | headers' length (4) | CRC32 of both (4) | headers | payload | CRC32 (4)

All numbers are big-endian. A header consists of the length of its name (1), the name, the type of its
value (1; 7 is text), the length of the value (2) and the value.
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from anyio import to_thread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Mapping

    from anyio import CapacityLimiter


CONTENT_TYPE: Final = "application/vnd.amazon.eventstream"
_FRAME_BYTES: Final = 16
_TEXT: Final = 7


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
    """Return one message; names have 1..255 bytes and values up to 65,535, as UTF-8."""
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack(">II", _FRAME_BYTES + len(head) + len(payload), len(head))
    checked = b"".join((lengths, struct.pack(">I", zlib.crc32(lengths)), head, payload))
    return checked + struct.pack(">I", zlib.crc32(checked))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(f">B{len(name)}sBH", len(name), name, _TEXT, len(value)) + value


async def made_in_threads(
    messages: Generator[bytes], limiter: CapacityLimiter
) -> AsyncIterator[bytes]:
    """Yield messages, each made in one of the limiter's threads; the generator is closed at the end."""
    try:
        while (one := await to_thread.run_sync(next, messages, None, limiter=limiter)) is not None:
            yield one
    finally:
        messages.close()
