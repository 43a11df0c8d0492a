"""Writes ``application/vnd.amazon.eventstream``, the framing of the service's streamed answers.

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

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """One message of a stream.

    Args:
        kind: the member of the operation's stream that it is, e.g. ``chunk`` or
            ``throttlingException``.
        payload: its JSON.
        failed: whether it is an exception, after which nothing comes.
    """

    kind: str
    payload: Mapping[str, Any]
    failed: bool = False


def encode(event: Event) -> bytes:
    """Give an event's message.

    Raises:
        ValueError: its payload is longer than MAX_PAYLOAD_BYTES.
    """
    message_type = "exception" if event.failed else "event"
    headers = {
        f":{message_type}-type": event.kind,
        ":content-type": "application/json",
        ":message-type": message_type,
    }
    return message(headers, json.dumps(event.payload).encode())


def message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Give one message.

    Args:
        headers: names of 1..255 bytes and values of 0..32,767, as UTF-8.
        payload: at most MAX_PAYLOAD_BYTES.

    Raises:
        ValueError: something is longer than the format can say or its readers take.
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
