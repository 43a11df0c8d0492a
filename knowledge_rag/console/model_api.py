"""Answers chat clients in the formats of OpenAI and Anthropic: the advice, its citations as annotations."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sse_starlette.sse import EventSourceResponse
from starlette.requests import ClientDisconnect

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.channel.markdown import note_from
from knowledge_rag.channel.message import document_of, lines_of, masked, message_from
from knowledge_rag.console.addresses import document_url
from knowledge_rag.console.conversation import read_conversation
from knowledge_rag.console.exports import message_of
from knowledge_rag.console.json_http import Json, read_object, text_in
from knowledge_rag.console.limits import MAX_CONVERSATION_BYTES, PING_SECONDS
from knowledge_rag.console.model_formats import FORMS, OWNER, RESPONSE, Annotation, Reply, Unfit
from knowledge_rag.console.questions import BROKEN, LATE, read_question
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.follow_ups import WELCOME, is_no_question
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterable, Mapping

    from sse_starlette.event import ServerSentEvent
    from starlette.requests import Request
    from starlette.responses import Response

    from knowledge_rag.channel.message import Place
    from knowledge_rag.console.answers import Answer
    from knowledge_rag.console.conversation import Conversation
    from knowledge_rag.console.events import Event
    from knowledge_rag.console.model_formats import Form
    from knowledge_rag.console.questions import Asker, Question
    from knowledge_rag.core.citations import Citation
    from knowledge_rag.orchestrator.consultation import Consultation

MODEL: Final = "knowledge-rag"
"""The model whose answers the default advisor writes; with ``-NAME`` behind it, the advisor of that name."""

CHOOSE: Final = "Answer with a number or a name to get its steps."

_MAX_MODEL: Final = 200
_MAX_KEY: Final = 100
_CREATED: Final = 0
"""Of a model: it isn't known when an advisor was made."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Page:
    """Writes answers as Markdown.

    Args:
        base: the console's address, where the cited lines are shown.
        with_title: whether an answer begins with what was asked, where that isn't the last turn's words.
    """

    base: str
    with_title: bool = False

    def written(self, answer: Answer) -> tuple[str, tuple[Annotation, ...]]:
        """Return an answer's text, and the citations in it."""
        message = message_of(answer)
        is_open = message.status is not Status.OK and message.reading
        message = replace(
            message,
            title=message.title if self.with_title else "",
            choose=CHOOSE if is_open else "",
        )
        note = note_from(message, self._address)
        annotations = tuple(
            Annotation(
                start,
                end,
                self._address(place),
                f"{document_of(place)}:{lines_of(place)}",
                masked(_lines(answer.sources, place)),
            )
            for start, end, place in note.cited
        )
        return note.text, annotations

    def _address(self, place: Place) -> str:
        return self.base + document_url(*place)


@dataclass(frozen=True, slots=True)
class ModelApi:
    """The handlers, and what they share."""

    asker: Asker

    async def models(self, request: Request) -> Response:
        """Return the models, or the one that the path names."""
        name = request.path_params.get("name")
        if name is not None:
            self._advisor(name)
            return Json(_model(name))
        return Json({"object": "list", "data": [_model(it) for it in self._models()]})

    async def reply(self, request: Request) -> Response:
        """Answer the last turn of a conversation, in the format of the path; as a stream if so wanted."""
        form = FORMS[request.url.path]
        body = await read_object(request, MAX_CONVERSATION_BYTES)
        _check(body)
        model = text_in(body, "model", _MAX_MODEL)
        advisor = self._advisor(model)
        conversation = await asyncio.to_thread(self._conversation, body)
        if is_no_question(conversation.asked):
            reply = _small_talk(body, model)
            if body.get("stream"):
                return EventSourceResponse(_said(form, reply), ping=PING_SECONDS, sep="\n")
            return Json(form.whole(reply))
        asked = await _while_connected(request, self._question(conversation, advisor))
        is_said = asked.text == " ".join(conversation.asked.split())
        page = _Page(str(request.base_url).rstrip("/"), with_title=not is_said)
        events = self.asker.events(asked)
        if body.get("stream"):
            stream = self._stream(form, events, model, page)
            return EventSourceResponse(stream, ping=PING_SECONDS, sep="\n")
        reply = await _while_connected(request, self._reply(events, model, page))
        return Json(form.whole(reply))

    def _models(self) -> list[str]:
        named = [f"{MODEL}-{it}" for it in self.asker.advisors]
        return [MODEL, *named] if len(named) > 1 else [MODEL]

    def _advisor(self, model: str) -> str:
        advisors = list(self.asker.advisors)
        if model == MODEL:
            return advisors[0]
        advisor = model.removeprefix(f"{MODEL}-")
        if advisor == model or advisor not in advisors:
            known = ", ".join(self._models())
            raise Unfit(
                404, f"there is no such model; known are {known}", "model", "model_not_found"
            )
        return advisor

    def _conversation(self, body: Mapping[str, Any]) -> Conversation:
        if "messages" in body:
            return read_conversation(body["messages"], "messages")
        given = body.get("input")
        turns = [{"role": "user", "content": given}] if isinstance(given, str) else given
        key = _previous(body)
        if key and not key.startswith(_TALK):
            earlier = self.asker.answers.get(key)
            if earlier is None or not isinstance(turns, list):
                message = "there is no such response, or it isn't kept any more"
                raise Unfit(404, message, "previous_response_id", "previous_response_not_found")
            said = _Page("").written(earlier)[0]
            turns = [
                {"role": "user", "content": earlier.question},
                {"role": "assistant", "content": said},
                *turns,
            ]
        return read_conversation(turns, "input")

    async def _question(self, conversation: Conversation, advisor: str) -> Question:
        """Return what to ask: a procedure that the last turn chooses, else its words.

        A number alone is never looked up: it chooses, or what it follows is answered again.
        """
        if conversation.is_follow_up and not await self._found(conversation, advisor):
            conversation = replace(conversation, before="", offered="")
        asked = self._read(conversation.question, advisor)
        if not conversation.may_choose and not conversation.is_number:
            return asked
        if not conversation.before:
            raise Refused(400, "a number alone is no question: ask in words")
        before = self._read(conversation.before, advisor)
        at = conversation.choice(await self._offered(before))
        return replace(before, at=at) if at or conversation.is_number else asked

    async def _found(self, conversation: Conversation, advisor: str) -> bool:
        """Whether the turn before comes to anything, now: else it is no context."""
        given = (await self._consulted(self._read(conversation.before, advisor))).recommendation
        return given.status is not Status.NO_MATCH or bool(given.meant)

    def _read(self, question: str, advisor: str) -> Question:
        return read_question({"question": question, "advisor": advisor}, self.asker.advisors)

    async def _offered(self, question: Question) -> tuple[tuple[str, Citation], ...]:
        consultation = await self._consulted(question)
        whole = consultation.recommendation.to_dict()
        message = message_from(question.text, whole, (), by_model=False)
        return () if message.status is Status.OK else message.reading

    async def _consulted(self, question: Question) -> Consultation:
        try:
            return await self.asker.offered(question)
        except TimeoutError as error:
            raise Refused(504, LATE) from error

    async def _stream(
        self, form: Form, events: AsyncGenerator[Event], model: str, page: _Page
    ) -> AsyncIterator[ServerSentEvent]:
        try:
            reply = await self._reply(events, model, page)
        except Refused as error:
            yield form.failed(error)
            return
        except Exception as error:  # noqa: BLE001 - logged without its message; the client learns nothing
            log_defect(error, "an answer failed")
            yield form.failed(Refused(500, BROKEN))
            return
        for event in form.events(reply):
            yield event

    async def _reply(self, events: AsyncGenerator[Event], model: str, page: _Page) -> Reply:
        async with aclosing(events):
            async for name, data in events:
                if name == "error":
                    raise Refused(504 if data["reason"] == "timeout" else 500, data["message"])
                if name == "done":
                    key = data["answerId"]
        answer = await asyncio.to_thread(self.asker.answers.get, key)
        if answer is None:
            raise Refused(500, "the answer could not be kept; ask again")
        text, annotations = page.written(answer)
        created = int(datetime.fromisoformat(answer.asked_at).timestamp())
        return Reply(key, model, created, text, annotations)


def _previous(body: Mapping[str, Any]) -> str:
    return text_in(dict(body), "previous_response_id", _MAX_KEY).removeprefix(RESPONSE)


_TALK: Final = "talk-"
"""What the id of a reply to no question begins with: no answer is kept for it."""


def _small_talk(body: Mapping[str, Any], model: str) -> Reply:
    """Return the reply to what is no question; the answer before it stays the one that is referred to."""
    key = _previous(body) or f"{_TALK}{secrets.token_hex(8)}"
    return Reply(key, model, int(time.time()), WELCOME, ())


async def _said(form: Form, reply: Reply) -> AsyncIterator[ServerSentEvent]:
    for event in form.events(reply):
        yield event


def _check(body: Mapping[str, Any]) -> None:
    """Refuse options that an answer would not keep to. Sampling parameters are ignored."""
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


def _model(name: str) -> dict[str, Any]:
    """Return a model, in OpenAI's form and in Anthropic's."""
    anthropic = {"type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": OWNER, **anthropic}


def _lines(sources: Iterable[Mapping[str, Any]], place: Place) -> str:
    """Return cited lines, as they were retrieved; ``""`` if no source holds them all."""
    name, first, last = place
    for one in sources:
        citation = one["citation"]
        start = citation["start_line"]
        if citation["source_file"] == name and start <= first <= last <= citation["end_line"]:
            return "\n".join(one["content"].split("\n")[first - start : last - start + 1])
    return ""


async def _while_connected(request: Request, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Do work for as long as the client waits for it.

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
