"""Answers other agents over A2A: a card that describes the agent, and a task for each question.

The SDK implements the protocol; this module adds the answer to a message, and limits.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from a2a.helpers import new_data_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, SimpleRequestContextBuilder
from a2a.server.jsonrpc_models import InvalidRequestError, JSONParseError
from a2a.server.request_handlers import DefaultRequestHandler, build_error_response
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Role,
    TaskState,
)
from a2a.utils.constants import (
    AGENT_CARD_WELL_KNOWN_PATH,
    PROTOCOL_VERSION_0_3,
    PROTOCOL_VERSION_1_0,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    UnsupportedOperationError,
)
from starlette.requests import Request

from knowledge_rag.channel.json_requests import Refused, decoded, read_body
from knowledge_rag.console import limits
from knowledge_rag.console.json_http import Json, base_of, check_type
from knowledge_rag.console.questions import BROKEN
from knowledge_rag.console.replies import USER, Page, Replies, read_conversation
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.version import VERSION
from knowledge_rag.orchestrator.fitting import MIN_TOKENS
from knowledge_rag.orchestrator.follow_ups import WELCOME, is_no_question
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from a2a.server.agent_execution import RequestContext
    from a2a.server.context import ServerCallContext
    from a2a.server.events import EventQueue
    from a2a.types.a2a_pb2 import (
        ListTasksRequest,
        ListTasksResponse,
        Part,
        SendMessageRequest,
        Task,
    )
    from starlette.responses import Response
    from starlette.types import Message

    from knowledge_rag.console.app import Handler
    from knowledge_rag.console.questions import Asker
    from knowledge_rag.console.replies import Reply, Turn

PATH: Final = "/a2a"
CARD_PATH: Final = AGENT_CARD_WELL_KNOWN_PATH

_MARKDOWN: Final = "text/markdown"
_JSON: Final = "application/json"
LIMIT: Final = "max_tokens"
"""Key in the metadata of a request."""

_BASE: Final = "base"
"""Key in the state of a call: the console's address as the client uses it."""

_OVER: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)


def agent_card(base: str) -> AgentCard:
    """Return the card of an agent at an address without a path."""
    interfaces = [
        AgentInterface(url=base + PATH, protocol_binding="JSONRPC", protocol_version=it)
        for it in (PROTOCOL_VERSION_1_0, PROTOCOL_VERSION_0_3)
    ]
    skill = AgentSkill(
        id="ask",
        name="Ask the runbooks",
        description="Returns the whole procedure for an alert, its JSON or a question, each step with numbered "
        "citations of exact lines; or says that nothing is documented or that the search failed. Where it is unclear "
        "which procedure is meant, it lists names: answer in the same context with a number or a name.",
        tags=["runbooks", "incidents", "operations"],
        examples=["SQS queue is backing up", "How do I undo it?"],
    )
    return AgentCard(
        name="Knowledge RAG",
        description="Answers from a team's runbooks and postmortems. Each citation was retrieved for the question and "
        "points at existing lines; a model can't make one up.",
        version=VERSION,
        supported_interfaces=interfaces,
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain"],
        default_output_modes=[_MARKDOWN, _JSON],
        skills=[skill],
    )


class Agents:
    """The routes for other agents, and their shared state."""

    def __init__(self, asker: Asker) -> None:
        # it quotes requests in its warnings, and questions must not get into a log
        logging.getLogger("a2a").setLevel(logging.CRITICAL)
        executor = _Executor(Replies(asker))
        self._handler = DefaultRequestHandler(
            executor, _Tasks(), agent_card(""), request_context_builder=_Checked(executor)
        )

    @property
    def reading(self) -> dict[str, Handler]:
        """Handlers of GET, by path."""
        return {CARD_PATH: _card}

    @property
    def writing(self) -> dict[str, Handler]:
        """Handlers of POST, by path."""
        (rpc,) = create_jsonrpc_routes(self._handler, PATH, _Calls(), enable_v0_3_compat=True)
        return {PATH: _bounded(rpc.endpoint)}

    async def aclose(self) -> None:
        """End the running tasks."""
        await self._handler.aclose()


async def _card(request: Request) -> Response:
    (route,) = create_agent_card_routes(agent_card(base_of(request)))
    response: Response = await route.endpoint(request)
    return response


def _bounded(endpoint: Handler) -> Handler:
    """Let only JSON of a limited size and depth through to the SDK, which has no such limits."""

    async def bounded(request: Request) -> Response:
        try:
            check_type(request)
            body = await read_body(request, limits.MAX_BODY_BYTES)
            decoded(body)
        except Refused as error:
            wrong = JSONParseError if error.status == 400 else InvalidRequestError
            return Json(build_error_response(None, wrong(message=str(error))), error.status)

        async def receive() -> Message:
            return {"type": "http.request", "body": body}

        return await endpoint(Request(request.scope, receive))

    return bounded


class _Calls(DefaultServerCallContextBuilder):
    """Stores the address that a client has called."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state[_BASE] = base_of(request)
        return context


class _Checked(SimpleRequestContextBuilder):
    """Refuses messages that can't be answered before there is a task."""

    def __init__(self, executor: _Executor) -> None:
        super().__init__()
        self._executor = executor

    async def build(
        self,
        context: ServerCallContext,
        params: SendMessageRequest | None = None,
        task_id: str | None = None,
        context_id: str | None = None,
        task: Task | None = None,
    ) -> RequestContext:
        if params is not None:
            _check(params)
        if self._executor.waiting >= limits.MAX_AGENT_WAITING:
            raise InternalError(
                f"{limits.MAX_AGENT_WAITING} questions are waiting; ask again in a moment"
            )
        return await super().build(context, params, task_id, context_id, task)


def _check(params: SendMessageRequest) -> None:
    if params.configuration.HasField("task_push_notification_config"):
        raise PushNotificationNotSupportedError(
            "push notifications are not sent: read the stream, or get the task again"
        )
    message = params.message
    if message.role != Role.ROLE_USER:
        raise InvalidParamsError("the message must be the user's")
    if any(part.WhichOneof("content") != "text" for part in message.parts):
        raise ContentTypeNotSupportedError("parts must be text: files and data aren't read")
    if not all(part.text for part in message.parts) or not message.parts:
        raise InvalidParamsError("a part of the message has no text")
    if message.task_id:
        raise UnsupportedOperationError(
            "each question is a task of its own: leave out taskId, and keep contextId to continue"
        )
    if len(message.context_id) > limits.MAX_CONTEXT_ID:
        raise InvalidParamsError(f"contextId may have {limits.MAX_CONTEXT_ID} characters")


class _Executor(AgentExecutor):
    """Answers a message with a task.

    An answer is an artifact of a completed task. Without an answer, the task fails or is rejected, and its message
    says why.
    """

    def __init__(self, replies: Replies) -> None:
        self.waiting = 0
        self._replies = replies
        self._room = asyncio.Semaphore(limits.MAX_AGENT_ASKS)
        self._contexts = Contexts()

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """See ``a2a.server.agent_execution.AgentExecutor``."""
        assert context.message is not None  # noqa: S101 - the SDK executes messages only
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        self.waiting += 1
        try:
            await self._room.acquire()
        finally:
            self.waiting -= 1
        try:
            await updater.start_work()
            await self._answer(context, updater)
        finally:
            self._room.release()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """See ``a2a.server.agent_execution.AgentExecutor``; the SDK has ended :meth:`execute`."""
        assert context.task_id is not None  # noqa: S101 - only a task is cancelled
        assert context.context_id is not None  # noqa: S101 - likewise
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()

    async def _answer(self, context: RequestContext, updater: TaskUpdater) -> None:
        base = str(context.call_context.state[_BASE])
        try:
            parts, is_answer = await self._parts(context, updater.context_id, base)
        except Refused as error:
            said = updater.new_agent_message([_text(str(error))])
            await (updater.reject(said) if error.status < 500 else updater.failed(said))
        except Exception as error:  # noqa: BLE001 - logged without its message; the client learns nothing
            log_defect(error, "an answer failed")
            await updater.failed(updater.new_agent_message([_text(BROKEN)]))
        else:
            if is_answer:
                await updater.add_artifact(parts, name="answer")
                await updater.complete()
            else:
                await updater.failed(updater.new_agent_message(parts))

    async def _parts(
        self, context: RequestContext, context_id: str, base: str
    ) -> tuple[list[Part], bool]:
        """Return the parts of a reply, and whether the knowledge base could be searched for it."""
        asked, most = context.get_user_input(), _most_tokens(context.metadata)
        turns: list[Turn] = [*self._contexts.turns(context_id), {"role": USER, "content": asked}]
        conversation = await asyncio.to_thread(read_conversation, turns, "message")
        if is_no_question(asked):
            return [_text(WELCOME)], True
        advisor = next(iter(self._replies.asker.advisors))
        question = await self._replies.question(conversation, advisor)
        events = self._replies.asker.events(replace(question, max_tokens=most))
        reply = await self._replies.reply(events, Page(base=base, asked=asked))
        self._contexts.keep(context_id, conversation.turns_with(reply.text))
        data = new_data_part(_data(reply), media_type=_JSON)
        return [_text(reply.text), data], reply.status is not Status.DEGRADED


def _most_tokens(metadata: Mapping[str, Any]) -> int:
    """Return the maximum tokens that a message allows, 0 for any number; protobuf has no whole numbers."""
    given = metadata.get(LIMIT, 0)
    if not isinstance(given, float | int) or given != int(given) or 0 != given < MIN_TOKENS:
        raise Refused(400, f"{LIMIT} must be a whole number of at least {MIN_TOKENS}")
    return int(given)


def _text(text: str) -> Part:
    return new_text_part(text, media_type=_MARKDOWN)


def _data(reply: Reply) -> dict[str, Any]:
    cited = {it.number: it for it in reply.annotations}
    citations = [
        {
            "number": number,
            "source_file": it.place[0],
            "start_line": it.place[1],
            "end_line": it.place[2],
            "url": it.url,
            "text": it.cited,
        }
        for number, it in sorted(cited.items())
    ]
    return {
        "status": reply.status.value,
        "written_by_model": reply.by_model,
        "choices": list(reply.choices),
        "citations": citations,
    }


class Contexts:
    """The last turns of conversations, within limits of number and bytes; the one unused for longest is dropped first."""

    def __init__(
        self, most: int = limits.MAX_CONTEXTS, most_bytes: int = limits.MAX_CONTEXTS_BYTES
    ) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[list[Turn], int]] = OrderedDict()

    def turns(self, context_id: str) -> list[Turn]:
        """Return the turns of a conversation; none if it is new or was dropped."""
        return self._kept.get(context_id, ([], 0))[0]

    def keep(self, context_id: str, turns: list[Turn]) -> None:
        """Store a conversation's turns in place of earlier ones."""
        size = sum(len(it["content"].encode(errors="surrogatepass")) for it in turns)
        self._bytes += size - self._kept.pop(context_id, ([], 0))[1]
        self._kept[context_id] = turns, size
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._kept.popitem(last=False)[1][1]


class _Tasks(InMemoryTaskStore):
    """Stores the last tasks in memory by id, within limits of number and bytes."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """Sizes of tasks that are over, the oldest first."""

    async def save(self, task: Task, context: ServerCallContext) -> None:
        await super().save(task, context)
        if task.status.state in _OVER:
            self._sizes[task.id] = task.ByteSize()
        while (
            len(self._sizes) > limits.MAX_TASKS
            or sum(self._sizes.values()) > limits.MAX_TASKS_BYTES
        ):
            oldest, _ = self._sizes.popitem(last=False)
            await self.delete(oldest, context)

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        """Return the tasks of one context: clients must not see the questions of others."""
        if not params.context_id:
            raise InvalidParamsError("contextId is missing: tasks are listed for one context")
        return await super().list(params, context)
