"""Answers in the wire formats of model providers, as their published API schemas have them, whole and streamed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.evaluation.faults.server import http

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CLOSED = ("Connection: close",)
EVENTS = "text/event-stream"


def pieces(text, size=7):
    """Cut a text into the deltas of a stream."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def _data(body, event=None):
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {json.dumps(body)}\n\n"


def openai_stream(deltas: Sequence[str], ending: str | None = "stop", *, done: bool = True) -> str:
    """Return the events of ``POST /chat/completions`` with ``stream``."""

    def chunk(delta, finish=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_763_000_000}
        return _data({**head, "model": "some-model", "choices": [choice]})

    said = [chunk({"content": one}) for one in deltas]
    ends = [chunk({}, ending)] if ending else []
    closed = ["data: [DONE]\n\n"] if done else []
    return "".join([chunk({"role": "assistant", "content": ""}), *said, *ends, *closed])


def openai_tool_call() -> str:
    """Return the events of a model that calls a tool that it was not given."""
    call = {"index": 0, "id": "call_1", "type": "function"}
    function = {"name": "restart_everything", "arguments": "{}"}
    delta = {"role": "assistant", "tool_calls": [{**call, "function": function}]}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = [({"index": 0, "delta": delta, "finish_reason": None}), ({"index": 0, "delta": {}, "finish_reason": "tool_calls"})]  # fmt: skip
    return "".join(_data({**head, "choices": [one]}) for one in events) + "data: [DONE]\n\n"


def anthropic_stream(
    deltas: Sequence[str], ending: str | None = "end_turn", *, thinking: str = "", done: bool = True
) -> str:
    """Return the events of ``POST /v1/messages`` with ``stream``; ``thinking`` comes in a block before the text."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "some-model",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    events = [("message_start", {"message": message}), ("ping", {})]
    blocks = []
    if thinking:
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, [{"type": "thinking_delta", "thinking": thinking}]))  # fmt: skip
    blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": one} for one in deltas]))  # fmt: skip
    for index, (block, parts) in enumerate(blocks):
        events.append(("content_block_start", {"index": index, "content_block": block}))
        events += [("content_block_delta", {"index": index, "delta": part}) for part in parts]
        events.append(("content_block_stop", {"index": index}))
    if ending:
        delta = {"stop_reason": ending, "stop_sequence": None}
        events.append(("message_delta", {"delta": delta, "usage": {"output_tokens": 9}}))
    if done:
        events.append(("message_stop", {}))
    return "".join(_data({"type": name, **body}, name) for name, body in events)


def anthropic_tool_call() -> str:
    """Return the events of a model that uses a tool that it was not given."""
    return anthropic_stream(["I will restart."], "tool_use")


def ollama_stream(deltas: Sequence[str], ending: str | None = "stop") -> str:
    """Return the lines of ``POST /api/chat``."""
    head = {"model": "some-model", "created_at": "2026-11-23T10:00:00.000000Z"}
    lines = [{**head, "message": {"role": "assistant", "content": one}, "done": False} for one in deltas]  # fmt: skip
    if ending:
        counts = {"total_duration": 1, "eval_count": 9, "prompt_eval_count": 10}
        lines.append({**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": ending, **counts})  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in lines)


@dataclass(frozen=True)
class Provider:
    """A provider: its name for LangChain, its environment, its wire format.

    Args:
        environment: with ``{url}`` where its address belongs.
        stream: from deltas and why it ended to a body.
        ends: its words for a whole answer, one that was cut off and one that was blocked.
        error: the body of an error of a kind, with a message.
    """

    name: str
    environment: dict[str, str]
    path: str
    stream: Callable[..., str]
    ends: tuple[str, str, str | None]
    kind: str = EVENTS
    tool_call: Callable[[], str] | None = None

    def answer(self, text: str, ending: str | None = None, **more: object) -> bytes:
        """Return the response that says a text."""
        return self.sent(self.stream(pieces(text), ending or self.ends[0], **more))

    def sent(self, body: str) -> bytes:
        """Return a response with a body of the format."""
        return http(body.encode(), content_type=self.kind, headers=CLOSED)

    def error(self, status: str, kind: str, *headers: str) -> bytes:
        """Return an error, in the provider's form."""
        body = {"type": "error", "error": {"type": kind, "message": "secret words", "code": kind}}
        said = {"error": "secret words"} if self.name == "ollama" else body
        return http(said, status, headers=(*CLOSED, *headers))


OPENAI = Provider(
    "openai",
    {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "sk-of-a-test"},
    "/v1/chat/completions",
    openai_stream,
    ("stop", "length", "content_filter"),
    tool_call=openai_tool_call,
)
ANTHROPIC = Provider(
    "anthropic",
    {"ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_API_KEY": "sk-of-a-test"},
    "/v1/messages",
    anthropic_stream,
    ("end_turn", "max_tokens", "refusal"),
    tool_call=anthropic_tool_call,
)
OLLAMA = Provider(
    "ollama",
    {"OLLAMA_HOST": "{url}"},
    "/api/chat",
    ollama_stream,
    ("stop", "length", None),
    kind="application/x-ndjson",
)
PROVIDERS = (OPENAI, ANTHROPIC, OLLAMA)
