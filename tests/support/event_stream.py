"""InvokeAgent's and InvokeHarness' answers as responses of a played service; botocore reads the framing (tests/contract)."""

from __future__ import annotations

import json
from typing import Any

from knowledge_rag.local.bedrock import invoke_agent
from knowledge_rag.local.bedrock.wire import CONTENT_TYPE, Event, encode
from tests.support.loopback import Raw


def stream(*events: bytes) -> Raw:
    """Return the response that holds these events."""
    return Raw(b"".join(events), CONTENT_TYPE)


def chunk(text: str) -> bytes:
    """Return an event with a piece of the agent's answer."""
    return encode(invoke_agent.chunk(text.encode()))


def tool_output(body: Any) -> bytes:
    """Return the trace event with what the agent's tool answered."""
    output = {"actionGroupInvocationOutput": {"text": json.dumps(body)}}
    step = {"orchestrationTrace": {"observation": output}}
    return encode(Event("trace", {"agentId": "AGENT00001", "trace": step}))


def failure(kind: str, message: str) -> bytes:
    """Return an exception event, e.g. ``dependencyFailedException``."""
    return encode(invoke_agent.failure(kind, message))


def harness_text(text: str) -> bytes:
    """Return the events of a text that a harness writes."""
    return _block({"toolUse": {"toolUseId": "t", "name": "x"}}) + _block(None, {"text": text})


def harness_tool_result(*parts: dict[str, Any]) -> bytes:
    """Return the events of what a harness's tool answered, in pieces: ``{"text": ...}`` or ``{"json": ...}``."""
    start = {"toolResult": {"toolUseId": "t", "status": "success"}}
    return _block(start, *({"toolResult": [part]} for part in parts))


def _block(start: dict[str, Any] | None, *deltas: dict[str, Any]) -> bytes:
    index = {"contentBlockIndex": 0}
    begin = [Event("contentBlockStart", index | {"start": start})] if start else []
    middle = [Event("contentBlockDelta", index | {"delta": delta}) for delta in deltas]
    return b"".join(map(encode, [*begin, *middle, Event("contentBlockStop", index)]))
