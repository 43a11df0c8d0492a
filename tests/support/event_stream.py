"""InvokeAgent's answers as responses of a played service; botocore reads the framing (tests/contract)."""

from __future__ import annotations

import json
from typing import Any

from knowledge_rag.local.bedrock import invoke_agent
from knowledge_rag.local.bedrock.streams import CONTENT_TYPE, Event, encode
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
