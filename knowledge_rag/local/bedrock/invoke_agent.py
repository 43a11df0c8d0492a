"""Bedrock's ``InvokeAgent``: an agent's turn that calls the real function, as an event stream."""

from __future__ import annotations

import base64
import logging
import re
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import KnowledgeRagError, RequestRefused
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, degraded
from knowledge_rag.local.action_group import FunctionFailed, FunctionProcess, agent_event
from knowledge_rag.local.bedrock.converse import extracted
from knowledge_rag.local.bedrock.wire import (
    Event,
    ServiceError,
    check,
    encode,
    invalid,
    service_model,
)
from knowledge_rag.local.errors import described
from lambdas.retrieve_knowledge.events import API_PATH, HTTP_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome


AGENT_ID: Final = "LOCALAGENT"
ALIAS_ID: Final = "LOCALALIAS"
"""Ten characters each, like the service's."""

MAX_QUERIES: Final = 3
"""Queries per turn, as in the agent's prompt."""

_LISTED: Final = re.compile(r".*\bqueries:[ \t]*+\n(.*+)", re.DOTALL | re.IGNORECASE)
_ITEM: Final = re.compile(r"(?:[-*]|[0-9]++[.)])\s++(.+)")
_FORMS: Final = re.compile(
    r"(?:how to diagnose|resolution steps for|similar incidents involving)\b.*|.*\?", re.IGNORECASE
)


def planned(text: str) -> Sequence[str]:
    """Return the queries for a request.

    They are the items of the last list below a line that ends with ``queries:``; else the lines that
    end with a question mark or have one of the three forms that the agent's prompt names; else all
    of the text as one query.
    """
    listed = _LISTED.fullmatch(text)
    lines = [line.strip() for line in (listed[1] if listed else text).split("\n")]
    items = [item[1] if (item := _ITEM.fullmatch(line)) else line for line in lines]
    asked = [item for item in items if item and (listed or _FORMS.fullmatch(item))]
    queries = list(dict.fromkeys(asked))[:MAX_QUERIES] or [" ".join(text.split())]
    return [query[:MAX_QUERY_CHARACTERS] for query in queries]


MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""More than twice the longest ``inputText``, 25,000,000 characters."""

_NOT_HERE: Final = {
    "files": "this agent has no code interpreter",
    "knowledgeBaseConfigurations": "the agent's knowledge base is behind its action group",
}


@dataclass(frozen=True, slots=True)
class InvokeRequest:
    """A valid request.

    ``text`` is ``""`` if the request has ``results`` instead, of a control that was returned to the caller, in wire
    form. ``session_attributes`` of ``None`` leave the session's own.
    """

    agent_id: str
    alias_id: str
    session_id: str
    text: str = ""
    traced: bool = False
    streamed: bool = False
    ends: bool = False
    session_attributes: Mapping[str, str] | None = None
    prompt_attributes: Mapping[str, str] = field(default_factory=dict)
    results: tuple[Mapping[str, Any], ...] = ()


def parse_invoke_request(
    agent_id: str, alias_id: str, session_id: str, body: Mapping[str, Any]
) -> InvokeRequest:
    """Check a request as the service does.

    Raises:
        ServiceError: ValidationException.
    """
    path = {"agentId": agent_id, "agentAliasId": alias_id, "sessionId": session_id}
    check({**body, **path}, service_model().operation_model("InvokeAgent"))
    state = body.get("sessionState") or {}
    for name, why in _NOT_HERE.items():
        if state.get(name):
            raise invalid(f"sessionState.{name} is not available locally: {why}")
    if body.get("memoryId") is not None:
        raise invalid("memoryId is not available locally: this agent has no memory")
    results = tuple(state.get("returnControlInvocationResults") or ())
    text = "" if results else body.get("inputText") or ""
    if not text.strip() and not results:
        raise invalid("inputText must not be blank")
    return InvokeRequest(
        agent_id,
        alias_id,
        session_id,
        text,
        traced=bool(body.get("enableTrace")),
        streamed=bool((body.get("streamingConfigurations") or {}).get("streamFinalResponse")),
        ends=bool(body.get("endSession")),
        session_attributes=state.get("sessionAttributes"),
        prompt_attributes=state.get("promptSessionAttributes") or {},
        results=results,
    )


ACTION_GROUP: Final = "retrieve_knowledge"
MAX_CHUNK_BYTES: Final = 1_000_000
"""Maximum bytes of one ``chunk`` (``PartBody`` in the service's model)."""

_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Traces:
    """Builds the trace events of one turn; ``trace_id`` has at most 13 characters."""

    request: InvokeRequest
    now: Callable[[], datetime]
    trace_id: str

    def rationale(self, step: int, text: str) -> Event:
        """Report why the agent takes the next step."""
        return self._orchestration({"rationale": {"traceId": self._id(step), "text": text}})

    def tool_input(self, step: int, properties: Sequence[Mapping[str, str]]) -> Event:
        """Report the agent's request to its action group."""
        asked = {
            "actionGroupName": ACTION_GROUP,
            "apiPath": API_PATH,
            "verb": HTTP_METHOD.lower(),
            "executionType": "LAMBDA",
            "requestBody": {"content": {_JSON: [dict(each) for each in properties]}},
        }
        return self._input(step, "ACTION_GROUP", {"actionGroupInvocationInput": asked})

    def tool_output(self, step: int, text: str) -> Event:
        """Report the action group's answer, exactly as its function wrote the body."""
        output = {"actionGroupInvocationOutput": {"text": text}}
        return self._observation(step, "ACTION_GROUP", output)

    def final_response(self, step: int, text: str) -> Event:
        """Report the agent's answer."""
        return self._observation(step, "FINISH", {"finalResponse": {"text": text}})

    def _input(self, step: int, kind: str, what: Mapping[str, Any]) -> Event:
        invocation = {"traceId": self._id(step), "invocationType": kind, **what}
        return self._orchestration({"invocationInput": invocation})

    def _observation(self, step: int, kind: str, what: Mapping[str, Any]) -> Event:
        observation = {"traceId": self._id(step), "type": kind, **what}
        return self._orchestration({"observation": observation})

    def _orchestration(self, step: Mapping[str, Any]) -> Event:
        request = self.request
        return Event(
            "trace",
            {
                "agentId": request.agent_id,
                "agentAliasId": request.alias_id,
                "agentVersion": "DRAFT",
                "sessionId": request.session_id,
                "eventTime": self.now().isoformat(),
                "trace": {"orchestrationTrace": step},
            },
        )

    def _id(self, step: int) -> str:
        return f"{self.trace_id}-{step}"


def chunk(data: bytes) -> Event:
    """Return a piece of the answer's UTF-8."""
    return Event("chunk", {"bytes": base64.b64encode(data).decode()})


def failure(code: str, message: str, **more: str) -> Event:
    """Return the exception event of an error, e.g. ``throttlingException`` for ThrottlingException."""
    return Event(code[:1].lower() + code[1:], {"message": message, **more}, failed=True)


MAX_SESSIONS: Final = 1_000
"""Maximum sessions; beyond it, the least recently used one is dropped."""

STREAMED_CHARACTERS: Final = 40
"""Characters per chunk if the final response is streamed."""

_RESULTS: Final = 5
_logger = logging.getLogger(__name__)


@dataclass
class Session:
    """The state of a session between turns."""

    attributes: Mapping[str, str] = field(default_factory=dict)


class Agents:
    """The agents of one server: a single one, with its sessions and the function that it calls."""

    def __init__(self) -> None:
        self._function = FunctionProcess()
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def close(self) -> None:
        """End the function's process."""
        self._function.close()

    def invoke(
        self, names: tuple[str, str, str], body: Mapping[str, Any], endpoint_url: str
    ) -> Generator[bytes]:
        """Begin a turn; return the messages of the response's body. Nothing happens before the first is consumed.

        ``names`` are agent, alias and session, from the request's path. At ``endpoint_url``, this server's, the
        function finds the knowledge base.

        Raises:
            ServiceError: the request can't be served.
        """
        request = parse_invoke_request(*names, body)
        if (request.agent_id, request.alias_id) != (AGENT_ID, ALIAS_ID):
            raise agent_missing(*names)
        session = self._session(request)
        if request.results:
            raise control_not_returned()
        ask = partial(self._function.invoke, endpoint_url=endpoint_url)
        traces = Traces(request, lambda: datetime.now(UTC), uuid.uuid4().hex[:13])
        turn = Turn(request=request, session=session, traces=traces, ask=ask)
        return (encode(event) for event in guarded(turn.events()))

    def _session(self, request: InvokeRequest) -> Session:
        key = (request.agent_id, request.session_id)
        with self._lock:
            session = self._sessions.pop(key, None) or Session()
            if not request.ends:
                self._sessions[key] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        if request.session_attributes is not None:
            session.attributes = request.session_attributes
        return session


@dataclass(kw_only=True)
class Turn:
    """One turn of an agent."""

    request: InvokeRequest
    session: Session
    traces: Traces
    ask: Callable[[dict[str, Any]], dict[str, Any]]
    outcomes: list[RetrievalOutcome] = field(default_factory=list)
    steps: int = 0

    def events(self) -> Iterator[Event]:
        """Yield the agent's steps and its answer; traces only if requested."""
        for event in self.evidence():
            if self.request.traced:
                yield event
        # the actual question, without the instructions around it
        question = "\n".join(self.plan()) or self.text
        text = self.write(question)
        if self.request.traced:
            yield self.traces.final_response(self.steps, text)
        for part in _parts(text, STREAMED_CHARACTERS if self.request.streamed else 0):
            yield chunk(part)

    @property
    def text(self) -> str:
        """The request's text."""
        return self.request.text

    def plan(self) -> Sequence[str]:
        """Return the queries, in order."""
        return planned(self.text)

    def write(self, question: str) -> str:
        """Return the answer."""
        return extracted(question, self.outcomes)

    def evidence(self) -> Iterator[Event]:
        """Send the queries."""
        prompt_attributes = dict(self.request.prompt_attributes)
        for query in self.plan():
            yield self.traces.rationale(self.steps, f"The documents may answer: {query[:500]}")
            prompt_attributes = yield from self._asked(query, prompt_attributes)
            self.steps += 1

    def _asked(
        self, query: str, prompt_attributes: Mapping[str, str]
    ) -> Generator[Event, None, dict[str, str]]:
        """Call the function; return the turn's attributes as the function left them."""
        event = self.event(query, prompt_attributes)
        yield self.traces.tool_input(self.steps, properties_of(event))
        answer = self.ask(event)
        text: str = answer["response"]["responseBody"]["application/json"]["body"]
        yield self.traces.tool_output(self.steps, text)
        self.outcomes.append(outcome_of(text))
        self.session.attributes = answer["sessionAttributes"]
        return dict(answer["promptSessionAttributes"])

    def event(self, query: str, prompt_attributes: Mapping[str, str]) -> dict[str, Any]:
        """Return the event to send to the function for a query."""
        request = self.request
        event = agent_event(
            {"query": query, "max_results": _RESULTS}, session_id=request.session_id
        )
        agent = {**event["agent"], "id": request.agent_id, "alias": request.alias_id}
        return event | {
            "agent": agent,
            "inputText": request.text,
            "sessionAttributes": dict(self.session.attributes),
            "promptSessionAttributes": dict(prompt_attributes),
        }


def agent_missing(agent: str, alias: str, _session: str) -> ServiceError:
    """Return the error of an agent or alias that does not exist."""
    message = f"Failed to retrieve resource: no agent {agent} with alias {alias}"
    return ServiceError("ResourceNotFoundException", 404, message)


def control_not_returned() -> ServiceError:
    """Return the error for results that were not requested."""
    return invalid("sessionState.invocationId doesn't match the returned control")


def guarded(events: Iterator[Event]) -> Iterator[Event]:
    """End a failing stream the way the service does: with an exception event."""
    try:
        yield from events
    except FunctionFailed as error:
        _logger.error("the agent's function failed: %s", described(error))  # noqa: TRY400 - in one line
        yield failure(
            "DependencyFailedException",
            "The Lambda function of the action group failed",
            resourceName="retrieve_knowledge",
        )
    except Exception as error:  # noqa: BLE001 - logged in one line; the client learns nothing
        _logger.error("local InvokeAgent failed: %s", described(error))  # noqa: TRY400
        yield failure("InternalServerException", "Internal server error")


def outcome_of(text: str) -> RetrievalOutcome:
    """Parse the function's answer; a refused request counts as a search that wasn't made."""
    try:
        return read_outcome(read_json(text))
    except RequestRefused:
        return degraded(Reason.INTERNAL)
    except KnowledgeRagError:
        return degraded(Reason.MALFORMED_RESPONSE)


def properties_of(event: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the properties of an event's request to the function."""
    properties: list[dict[str, str]] = event["requestBody"]["content"]["application/json"][
        "properties"
    ]
    return properties


def _parts(text: str, characters: int) -> Iterator[bytes]:
    if not characters:
        data = text.encode(errors="replace")
        yield from (data[n : n + MAX_CHUNK_BYTES] for n in range(0, len(data), MAX_CHUNK_BYTES))
        return
    for start in range(0, len(text), characters):
        yield text[start : start + characters].encode(errors="replace")
