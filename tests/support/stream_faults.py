"""What goes wrong with streamed answers: on the level of events, and on that of bytes.

Each function gives a step that takes a stream and gives another. None of it is random, and what
waits has an end.
"""

from __future__ import annotations

import base64
import struct
import time
import zlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from knowledge_rag.local.bedrock.invoke_agent import chunk, failure
from knowledge_rag.local.bedrock.wire import Event
from tests.support.scripted import CutHere

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from tests.support.scripted import ByteStep, EventStep


def failing(code: str, *, after: int = 0) -> EventStep:
    """End a stream with a modelled error, such as ``DependencyFailedException``, after some events."""

    def step(events: Iterable[Event]) -> Generator[Event]:
        yield from islice(events, after)
        yield failure(code, "It failed")

    return step


def without(unwanted: Callable[[Event], bool]) -> EventStep:
    """Leave events out."""
    return lambda events: (event for event in events if not unwanted(event))


def with_only_the_first(wanted: Callable[[Event], bool]) -> EventStep:
    """Leave out all events of a kind but the first."""

    def step(events: Iterable[Event]) -> Generator[Event]:
        seen = False
        for event in events:
            if not (wanted(event) and seen):
                yield event
            seen = seen or wanted(event)

    return step


def with_files(events: Iterable[Event]) -> Generator[Event]:
    """Give a file before all else, as an agent with a code interpreter may."""
    plot = {"name": "plot.png", "type": "image/png", "bytes": "iVBORw0KGgo="}
    yield Event("files", {"files": [plot]})
    yield from events


def rechunked(size: int) -> EventStep:
    """Give the answer in chunks of ``size`` bytes, wherever characters and references end."""

    def step(events: Iterable[Event]) -> Generator[Event]:
        for event in events:
            if event.kind != "chunk":
                yield event
                continue
            data = chunk_bytes(event)
            for start in range(0, len(data), size):
                yield chunk(data[start : start + size])

    return step


def attributed(attribution: Mapping[str, Any]) -> EventStep:
    """Give every chunk this attribution."""

    def step(events: Iterable[Event]) -> Generator[Event]:
        for event in events:
            more = {"attribution": dict(attribution)} if event.kind == "chunk" else {}
            yield event._replace(payload={**event.payload, **more})

    return step


def garbled(events: Iterable[Event]) -> Generator[Event]:
    """Cut what the tool answered in two, so that it is no JSON any more."""
    for event in events:
        output = _tool_output(event)
        if output is not None:
            output["text"] = output["text"][: len(output["text"]) // 2]
        yield event


def with_unknown_members(events: Iterable[Event]) -> Generator[Event]:
    """Add what a later version of the service might: members, and a kind of event, not known yet."""
    for event in events:
        yield Event("tomorrow", {"what": "is new"})
        yield event._replace(payload={**event.payload, "p": "abcdefgh"})


def cut_off(*, after: int) -> ByteStep:
    """Break the connection in the middle of a message, after some whole ones."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        yield from _begun(messages, after, 0.5)
        raise CutHere

    return step


def ending_early(*, after: int, part: float = 0.5) -> ByteStep:
    """End the response, properly as HTTP goes, within a message."""
    return lambda messages: _begun(messages, after, part)


def damaged(*, after: int, where: int) -> ByteStep:
    """Flip a byte of one message, so that a checksum does not hold: 8 is the lengths', -1 the message's."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        for count, message in enumerate(messages):
            data = bytearray(message)
            if count == after:
                data[where] ^= 0xFF
            yield bytes(data)

    return step


def replaced_by(data: bytes) -> ByteStep:
    """Send these bytes, and nothing of the answer."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        for _ in messages:
            pass
        if data:
            yield data

    return step


def dripping(seconds: float, *, size: int, most_seconds: float) -> ByteStep:
    """Send ``size`` bytes at a time, with pauses; after so many seconds of them the rest comes at once."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        left = most_seconds
        for message in messages:
            for start in range(0, len(message), size):
                yield message[start : start + size]
                if left > 0:
                    time.sleep(seconds)
                    left -= seconds

    return step


def late(seconds: float) -> ByteStep:
    """Send nothing for so long, then everything."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        time.sleep(seconds)
        yield from messages

    return step


def never_ending(seconds: float, *, most_seconds: float) -> ByteStep:
    """Repeat the first message, with pauses, and come to the others when nobody waits any more."""

    def step(messages: Iterable[bytes]) -> Generator[bytes]:
        remaining = iter(messages)
        first = next(remaining, b"")
        for _ in range(int(most_seconds / seconds)):
            yield first
            time.sleep(seconds)
        yield from remaining

    return step


def oversized_message() -> bytes:
    """Give the beginning of a message that claims to be longer than any may be."""
    lengths = struct.pack(">II", 48 * 2**20, 0)  # readers take 24 MiB
    return lengths + struct.pack(">I", zlib.crc32(lengths)) + b"\0" * 64


def chunk_bytes(event: Event) -> bytes:
    return base64.b64decode(event.payload.get("bytes", ""))


def is_trace(event: Event) -> bool:
    return event.kind == "trace"


def is_observation(event: Event) -> bool:
    """Whether it has what a tool or a knowledge base answered."""
    return is_trace(event) and "observation" in event.payload["trace"]["orchestrationTrace"]


def _begun(messages: Iterable[bytes], after: int, part: float) -> Generator[bytes]:
    for count, message in enumerate(messages):
        if count == after:
            yield message[: int(len(message) * part)]
            return
        yield message


def _tool_output(event: Event) -> dict[str, Any] | None:
    if not is_observation(event):
        return None
    observation = event.payload["trace"]["orchestrationTrace"]["observation"]
    output: dict[str, Any] | None = observation.get("actionGroupInvocationOutput")
    return output
