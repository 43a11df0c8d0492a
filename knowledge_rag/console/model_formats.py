"""Replies in the formats of OpenAI's Chat Completions and Responses and of Anthropic's Messages, whole and streamed.

A reply is complete, and every citation in it proven, before its first character is sent: these formats can't retract
streamed text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from sse_starlette.event import ServerSentEvent

from knowledge_rag.channel.json_requests import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.console.replies import Annotation, Reply

OWNER: Final = "knowledge-rag"


class Unfit(Refused):
    """A request with a wrong member.

    ``param`` is the member's name, ``code`` the API's code for the error.
    """

    def __init__(self, status: int, message: str, param: str, code: str | None = None) -> None:
        super().__init__(status, message)
        self.param = param
        self.code = code


class Form(Protocol):
    """The format of an API.

    ``limits`` are optional members of a request that bound the answer's tokens.
    """

    limits: ClassVar[tuple[str, ...]] = ()

    def whole(self, reply: Reply) -> dict[str, Any]:
        """Return a reply in one piece."""

    def events(self, reply: Reply) -> Iterator[ServerSentEvent]:
        """Yield a reply as a stream."""

    def failed(self, error: Refused) -> ServerSentEvent:
        """Return the last event of a stream that ends without a reply."""
        return _event(self.error(error))

    def error(self, error: Refused) -> dict[str, Any]:
        """Return the body of a response with an error's status."""
        return _openai_error(error)


class _ChatCompletions(Form):
    """OpenAI's Chat Completions."""

    limits = ("max_completion_tokens", "max_tokens")

    def whole(self, reply: Reply) -> dict[str, Any]:
        message = {"role": "assistant", "content": reply.text, "refusal": None}
        message |= _url_citations(reply.annotations)
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return {**self._head(reply, "chat.completion"), "choices": [choice]}

    def events(self, reply: Reply) -> Iterator[ServerSentEvent]:
        yield self._chunk(reply, {"role": "assistant", "content": ""})
        for line, cited in reply.lines():
            yield self._chunk(reply, {"content": line} | _url_citations(cited))
        yield self._chunk(reply, {}, "stop")
        yield ServerSentEvent("[DONE]", sep="\n")

    def _chunk(
        self, reply: Reply, delta: dict[str, Any], finish: str | None = None
    ) -> ServerSentEvent:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return _event({**self._head(reply, "chat.completion.chunk"), "choices": [choice]})

    def _head(self, reply: Reply, kind: str) -> dict[str, Any]:
        head = {"id": f"chatcmpl-{reply.key}", "object": kind, "created": reply.created}
        return {**head, "model": reply.model}


class _Responses(Form):
    """OpenAI's Responses."""

    limits = ("max_output_tokens",)

    def whole(self, reply: Reply) -> dict[str, Any]:
        return self._response(reply, "completed", [self._item(reply)])

    def events(self, reply: Reply) -> Iterator[ServerSentEvent]:
        for number, (kind, data) in enumerate(self._events(reply)):
            yield _event({"type": kind, "sequence_number": number, **data}, kind)

    def failed(self, error: Refused) -> ServerSentEvent:
        data = {"code": "server_error", "message": str(error), "param": None}
        return _event({"type": "error", "sequence_number": 0, **data}, "error")

    def _events(self, reply: Reply) -> Iterator[tuple[str, dict[str, Any]]]:
        begun = {"response": self._response(reply, "in_progress", [])}
        yield "response.created", begun
        yield "response.in_progress", begun
        empty = {**self._item(reply), "status": "in_progress", "content": []}
        yield "response.output_item.added", {"output_index": 0, "item": empty}
        where = {"item_id": empty["id"], "output_index": 0, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        yield "response.content_part.added", {**where, "part": part}
        index = 0
        for line, cited in reply.lines():
            yield "response.output_text.delta", {**where, "delta": line, "logprobs": []}
            for one in cited:
                data = {**where, "annotation_index": index, "annotation": _flat(one)}
                yield "response.output_text.annotation.added", data
                index += 1
        yield "response.output_text.done", {**where, "text": reply.text, "logprobs": []}
        yield "response.content_part.done", {**where, "part": self._part(reply)}
        yield "response.output_item.done", {"output_index": 0, "item": self._item(reply)}
        yield "response.completed", {"response": self.whole(reply)}

    def _item(self, reply: Reply) -> dict[str, Any]:
        item = {"id": f"msg_{reply.key}", "type": "message", "role": "assistant"}
        return {**item, "status": "completed", "content": [self._part(reply)]}

    def _part(self, reply: Reply) -> dict[str, Any]:
        annotations = [_flat(it) for it in reply.annotations]
        return {"type": "output_text", "text": reply.text, "annotations": annotations}

    def _response(self, reply: Reply, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"{RESPONSE}{reply.key}",
            "object": "response",
            "created_at": reply.created,
            "status": status,
            "model": reply.model,
            "output": output,
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": False,
            "temperature": None,
            "tool_choice": "none",
            "tools": [],
            "top_p": None,
            "usage": None,
        }


RESPONSE: Final = "resp_"
"""Prefix of an answer's key in the id of a response."""


class _Messages(Form):
    """Anthropic's Messages; a text is split into blocks that each end with a citation.

    Clients must send max_tokens, so its value says nothing about the wanted length.
    """

    def whole(self, reply: Reply) -> dict[str, Any]:
        content = [
            {"type": "text", "text": text, "citations": cited or None}
            for text, cited in self._blocks(reply)
        ]
        return {**self._head(reply), "content": content, "stop_reason": "end_turn"}

    def events(self, reply: Reply) -> Iterator[ServerSentEvent]:
        yield _typed("message_start", message=self._head(reply))
        for index, (text, cited) in enumerate(self._blocks(reply)):
            empty: dict[str, Any] = {"type": "text", "text": ""}
            empty["citations"] = [] if cited else None
            yield _typed("content_block_start", index=index, content_block=empty)
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": text}]
            deltas += [{"type": "citations_delta", "citation": it} for it in cited]
            for delta in deltas:
                yield _typed("content_block_delta", index=index, delta=delta)
            yield _typed("content_block_stop", index=index)
        ended = {"stop_reason": "end_turn", "stop_sequence": None}
        yield _typed("message_delta", delta=ended, usage={"output_tokens": 0})
        yield _typed("message_stop")

    def failed(self, error: Refused) -> ServerSentEvent:
        return _event(self.error(error), "error")

    def error(self, error: Refused) -> dict[str, Any]:
        by_status = _MESSAGES_ERRORS.get(error.status)
        kind = by_status or ("api_error" if error.status >= _SERVER else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": str(error)}}

    def _head(self, reply: Reply) -> dict[str, Any]:
        return {
            "id": f"msg_{reply.key}",
            "type": "message",
            "role": "assistant",
            "model": reply.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def _blocks(self, reply: Reply) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        start, results = 0, list(dict.fromkeys(it.url for it in reply.annotations))
        for one in reply.annotations:
            cited = {
                "type": "search_result_location",
                "source": one.url,
                "title": one.title,
                "cited_text": one.cited,
                "search_result_index": results.index(one.url),
                "start_block_index": 0,
                "end_block_index": 1,
            }
            yield reply.text[start : one.end], [cited]
            start = one.end
        if rest := reply.text[start:]:
            yield rest, []


_MESSAGES_ERRORS: Final = {
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    503: "overloaded_error",
    504: "timeout_error",
}
_SERVER: Final = 500
"""The first status of an error that isn't the client's."""

FORMS: Final[dict[str, Form]] = {
    "/v1/chat/completions": _ChatCompletions(),
    "/v1/responses": _Responses(),
    "/v1/messages": _Messages(),
}
"""Formats by path."""


def refusal(path: str, error: Refused) -> dict[str, Any]:
    """Return the body of an error in the format of the path's API, otherwise in the console's own."""
    if form := next((it for at, it in FORMS.items() if f"{path}/".startswith(f"{at}/")), None):
        return form.error(error)
    return _openai_error(error) if path.startswith("/v1/") else {"error": str(error)}


def _openai_error(error: Refused) -> dict[str, Any]:
    param, code = (error.param, error.code) if isinstance(error, Unfit) else (None, None)
    kind = "server_error" if error.status >= _SERVER else "invalid_request_error"
    return {"error": {"message": str(error), "type": kind, "param": param, "code": code}}


def _flat(one: Annotation) -> dict[str, Any]:
    place = {"start_index": one.start, "end_index": one.end}
    return {"type": "url_citation", **place, "url": one.url, "title": one.title}


def _url_citations(annotations: Sequence[Annotation]) -> dict[str, Any]:
    """Return the member of a message that lists its annotations; nothing if there are none."""
    listed = []
    for one in annotations:
        citation = _flat(one)
        listed.append({"type": citation.pop("type"), "url_citation": citation})
    return {"annotations": listed} if listed else {}


def _typed(kind: str, **data: object) -> ServerSentEvent:
    return _event({"type": kind, **data}, kind)


def _event(data: dict[str, Any], name: str | None = None) -> ServerSentEvent:
    return ServerSentEvent(json.dumps(data), event=name, sep="\n")
