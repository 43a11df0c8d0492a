"""Writes ``application/vnd.amazon.eventstream``, the framing of InvokeAgent's answer."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

from tests.support.loopback import Raw

CONTENT_TYPE = "application/vnd.amazon.eventstream"


def stream(*events: bytes) -> Raw:
    """Give the response that holds these events."""
    return Raw(b"".join(events), CONTENT_TYPE)


def chunk(text: str) -> bytes:
    """Give an event with a piece of the agent's answer."""
    return _event("chunk", {"bytes": base64.b64encode(text.encode()).decode()})


def tool_output(body: Any) -> bytes:
    """Give the trace event that tells what the agent's tool answered."""
    output = {"actionGroupInvocationOutput": {"text": json.dumps(body)}}
    step = {"orchestrationTrace": {"observation": output}}
    return _event("trace", {"agentId": "AGENT00001", "trace": step})


def failure(kind: str, message: str) -> bytes:
    """Give an exception event, e.g. ``dependencyFailedException``."""
    headers = {":message-type": "exception", ":exception-type": kind}
    return _frame(headers, {"message": message})


def _event(kind: str, payload: Any) -> bytes:
    return _frame({":message-type": "event", ":event-type": kind}, payload)


def _frame(headers: dict[str, str], payload: Any) -> bytes:
    head = b"".join(
        _header(*each) for each in {**headers, ":content-type": "application/json"}.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", len(head) + len(body) + 16, len(head))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    data = value.encode()
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(data)) + data
