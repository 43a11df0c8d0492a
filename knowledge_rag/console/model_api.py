"""Answers chat clients in the formats of OpenAI and Anthropic, with citations as annotations."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sse_starlette.sse import EventSourceResponse
from starlette.requests import ClientDisconnect

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.json_http import Json, base_of, read_object, text_in
from knowledge_rag.console.limits import MAX_CONVERSATION_BYTES, PING_SECONDS
from knowledge_rag.console.model_formats import FORMS, OWNER, RESPONSE, Unfit
from knowledge_rag.console.questions import BROKEN
from knowledge_rag.console.replies import Page, Reply, read_conversation
from knowledge_rag.orchestrator.follow_ups import WELCOME, is_no_question
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping

    from sse_starlette.event import ServerSentEvent
    from starlette.requests import Request
    from starlette.responses import Response

    from knowledge_rag.console.events import Event
    from knowledge_rag.console.model_formats import Form
    from knowledge_rag.console.replies import Conversation, Replies

MODEL: Final = "knowledge-rag"
"""The model for the default advisor; with ``-NAME`` appended, for the advisor of that name."""

_MAX_MODEL: Final = 200
_MAX_KEY: Final = 100
_CREATED: Final = 0
"""Creation time of a model: an advisor has none."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ModelApi:
    """The handlers, and their shared state."""

    replies: Replies

    async def models(self, request: Request) -> Response:
        """Return all models, or the one in the path."""
        name = request.path_params.get("name")
        if name is not None:
            self._advisor(name)
            return Json(_model(name))
        return Json({"object": "list", "data": [_model(it) for it in self._models()]})

    async def reply(self, request: Request) -> Response:
        """Answer the last turn of a conversation, in the format of the path; as a stream if requested."""
        form = FORMS[request.url.path]
        body = await read_object(request, MAX_CONVERSATION_BYTES)
        _check(body)
        most = _most_tokens(body, form)
        model = text_in(body, "model", _MAX_MODEL)
        advisor = self._advisor(model)
        conversation = await asyncio.to_thread(self._conversation, body)
        if is_no_question(conversation.asked):
            reply = _small_talk(body, model)
            if body.get("stream"):
                return EventSourceResponse(_said(form, reply), ping=PING_SECONDS, sep="\n")
            return Json(form.whole(reply))
        asked = await _while_connected(request, self.replies.question(conversation, advisor))
        asked = replace(asked, max_tokens=most)
        page = Page(model, base_of(request), conversation.asked)
        events = self.replies.asker.events(asked)
        if body.get("stream"):
            stream = self._stream(form, events, page)
            return EventSourceResponse(stream, ping=PING_SECONDS, sep="\n")
        reply = await _while_connected(request, self.replies.reply(events, page))
        return Json(form.whole(reply))

    def _models(self) -> list[str]:
        named = [f"{MODEL}-{it}" for it in self.replies.asker.advisors]
        return [MODEL, *named] if len(named) > 1 else [MODEL]

    def _advisor(self, model: str) -> str:
        advisors = list(self.replies.asker.advisors)
        if model == MODEL:
            return advisors[0]
        advisor = model.removeprefix(f"{MODEL}-")
        if advisor == model or advisor not in advisors:
            known = ", ".join(self._models())
            raise Unfit(
                404, f"there is no such model; known models: {known}", "model", "model_not_found"
            )
        return advisor

    def _conversation(self, body: Mapping[str, Any]) -> Conversation:
        if "messages" in body:
            return read_conversation(body["messages"], "messages")
        given = body.get("input")
        turns = [{"role": "user", "content": given}] if isinstance(given, str) else given
        key = _previous(body)
        if key and not key.startswith(_TALK):
            earlier = self.replies.asker.answers.get(key)
            if earlier is None or not isinstance(turns, list):
                message = "there is no such response, or it isn't kept any more"
                raise Unfit(404, message, "previous_response_id", "previous_response_not_found")
            said = Page(asked=earlier.question).reply(key, earlier).text
            turns = [
                {"role": "user", "content": earlier.question},
                {"role": "assistant", "content": said},
                *turns,
            ]
        return read_conversation(turns, "input")

    async def _stream(
        self, form: Form, events: AsyncGenerator[Event], page: Page
    ) -> AsyncIterator[ServerSentEvent]:
        try:
            reply = await self.replies.reply(events, page)
        except Refused as error:
            yield form.failed(error)
            return
        except Exception as error:  # noqa: BLE001 - logged without its message; the client learns nothing
            log_defect(error, "an answer failed")
            yield form.failed(Refused(500, BROKEN))
            return
        for event in form.events(reply):
            yield event


def _previous(body: Mapping[str, Any]) -> str:
    return text_in(dict(body), "previous_response_id", _MAX_KEY).removeprefix(RESPONSE)


_TALK: Final = "talk-"
"""The beginning of the id of a reply to small talk: no answer is stored for it."""


def _small_talk(body: Mapping[str, Any], model: str) -> Reply:
    """Return the reply to small talk; later turns still refer to the answer before it."""
    key = _previous(body) or f"{_TALK}{secrets.token_hex(8)}"
    return Reply(key, model, int(time.time()), WELCOME)


async def _said(form: Form, reply: Reply) -> AsyncIterator[ServerSentEvent]:
    for event in form.events(reply):
        yield event


def _check(body: Mapping[str, Any]) -> None:
    """Refuse options that an answer would not follow. Sampling parameters are ignored."""
    for name in ("stream", "background"):
        if not isinstance(body.get(name) or False, bool):
            raise Unfit(400, f"{name} must be true or false", name)
    if body.get("n") not in (None, 1):
        raise Unfit(400, "n must be 1: there is one answer", "n")
    if body.get("background"):
        raise Unfit(400, "background must be false: nothing is answered later", "background")
    text = body.get("text")
    for name, wanted in (
        ("response_format", body.get("response_format")),
        ("text.format", text.get("format") if isinstance(text, dict) else None),
    ):
        if isinstance(wanted, dict) and wanted.get("type") not in (None, "text"):
            raise Unfit(400, f"{name} must be text: answers are Markdown", name)


def _most_tokens(body: Mapping[str, Any], form: Form) -> int:
    """Return the maximum tokens that a request allows, 0 for any number."""
    given = {name: body[name] for name in form.limits if body.get(name) is not None}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise Unfit(400, f"{name} must be a whole number of at least 1", name)
    return min(given.values(), default=0)


def _model(name: str) -> dict[str, Any]:
    """Return a model, in OpenAI's form and in Anthropic's."""
    anthropic = {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": OWNER, **anthropic}


async def _while_connected(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run work for as long as the client waits for it.

    Raises:
        ClientDisconnect: it has left, and the work is cancelled.
    """
    working, left = asyncio.ensure_future(work), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((working, left), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, left):
            task.cancel()
        with suppress(asyncio.CancelledError):
            await left


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
