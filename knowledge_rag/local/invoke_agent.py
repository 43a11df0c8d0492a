"""Bedrock's ``InvokeAgent``: an agent's turn through the real function, as an event stream."""

from __future__ import annotations

import logging
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
from knowledge_rag.core.retrieval import degraded, select
from knowledge_rag.local.action_group import agent_event
from knowledge_rag.local.agent_request import invalid, parse_invoke_request
from knowledge_rag.local.agent_traces import (
    MAX_CHUNK_BYTES,
    Traces,
    chunk,
    failure,
    return_control,
)
from knowledge_rag.local.defects import described
from knowledge_rag.local.event_stream import encode
from knowledge_rag.local.floors import EVIDENCE_FLOOR_HYBRID
from knowledge_rag.local.function_process import FunctionFailed, FunctionProcess
from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID, ServiceError, retrieve
from knowledge_rag.local.scripted_agents import AGENT_ID, ALIAS_ID, HONEST, Evidence

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.local.agent_request import InvokeRequest
    from knowledge_rag.local.event_stream import Event
    from knowledge_rag.local.knowledge_base import KnowledgeBase
    from knowledge_rag.local.scripted_agents import ScriptedAgent
    from knowledge_rag.local.streaming import Piece

MAX_SESSIONS: Final = 1_000
"""Sessions that are remembered; beyond it the one that was used longest ago is forgotten."""

STREAMED_CHARACTERS: Final = 40
"""Of one chunk, where the final response is streamed."""

_RESULTS: Final = 5
_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Session:
    attributes: Mapping[str, str] = field(default_factory=dict)
    invocation_id: str = ""
    text: str = ""


class Agents:
    """The agents of one server, with their sessions and the function that they call.

    Args:
        knowledge_base: what an agent that has a knowledge base of its own looks things up in.
        scripted: further agents, by ``agentId``.
    """

    def __init__(
        self, knowledge_base: KnowledgeBase, scripted: Mapping[str, ScriptedAgent] | None = None
    ) -> None:
        self._knowledge_base = knowledge_base
        self._agents = {AGENT_ID: HONEST, **(scripted or {})}
        self._function = FunctionProcess()
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()

    def close(self) -> None:
        """End the function's process."""
        self._function.close()

    def invoke(
        self, names: tuple[str, str, str], body: Mapping[str, Any], endpoint_url: str
    ) -> Generator[Piece]:
        """Begin a turn.

        Args:
            names: agent, alias and session, from the request's path.
            body: the decoded JSON object.
            endpoint_url: of this server, where the function finds the knowledge base.

        Returns:
            The pieces of the response's body; nothing is done before the first of them is taken.

        Raises:
            ServiceError: the request can't be served.
        """
        request = parse_invoke_request(*names, body)
        agent = self._agents.get(request.agent_id)
        if agent is None or request.alias_id != ALIAS_ID:
            message = f"Failed to retrieve resource: no agent {names[0]} with alias {names[1]}"
            raise ServiceError("ResourceNotFoundException", 404, message)
        if agent.refusal is not None:
            raise agent.refusal
        session = self._session(request)
        if request.results and request.invocation_id != session.invocation_id:
            raise invalid("sessionState.invocationId is not that of the control that was returned")
        traces = Traces(request, lambda: datetime.now(UTC), uuid.uuid4().hex[:13])
        ask = partial(self._function.invoke, endpoint_url=endpoint_url)
        turn = _Turn(agent, request, session, traces, self._knowledge_base, ask)
        messages = (encode(event) for event in agent.alter(_guarded(turn.events())))
        return agent.transmit(messages)

    def _session(self, request: InvokeRequest) -> _Session:
        key = (request.agent_id, request.session_id)
        with self._lock:
            session = self._sessions.pop(key, None) or _Session()
            if not request.ends:
                self._sessions[key] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
        if request.session_attributes is not None:
            session.attributes = request.session_attributes
        return session


@dataclass(slots=True)
class _Turn:
    """One turn of an agent, from its text to its events."""

    agent: ScriptedAgent
    request: InvokeRequest
    session: _Session
    traces: Traces
    knowledge_base: KnowledgeBase
    ask: Callable[[dict[str, Any]], dict[str, Any]]
    outcomes: list[RetrievalOutcome] = field(default_factory=list)
    steps: int = 0

    def events(self) -> Iterator[Event]:
        """Play it; the traces come as things happen, and only to those who want them."""
        if self.agent.evidence is Evidence.CALLER and not self.request.results:
            yield self._returned_control()
            return
        for event in self._evidence():
            if self.request.traced:
                yield event
        # what was asked for, without the instructions around it
        question = "\n".join(self.agent.plan(self._text)) or self._text
        text = self.agent.write(question, self.outcomes)
        if self.request.traced:
            yield self.traces.final_response(self.steps, text)
        for part in _parts(text, STREAMED_CHARACTERS if self.request.streamed else 0):
            yield chunk(part)

    @property
    def _text(self) -> str:
        return self.request.text or self.session.text

    def _evidence(self) -> Iterator[Event]:
        if self.request.results:
            yield from self._given()
            return
        prompt_attributes = dict(self.request.prompt_attributes)
        for query in self.agent.plan(self._text):
            yield self.traces.rationale(self.steps, f"The documents may say: {query[:500]}")
            if self.agent.evidence is Evidence.KNOWLEDGE_BASE:
                yield from self._looked_up(query)
            else:
                prompt_attributes = yield from self._asked(query, prompt_attributes)
            self.steps += 1

    def _asked(
        self, query: str, prompt_attributes: Mapping[str, str]
    ) -> Generator[Event, None, dict[str, str]]:
        """Ask the function, and give the turn's attributes as it has left them."""
        event = self._event(query, prompt_attributes)
        yield self.traces.tool_input(self.steps, _properties(event))
        answer = self.ask(event)
        text: str = answer["response"]["responseBody"]["application/json"]["body"]
        yield self.traces.tool_output(self.steps, text)
        self.outcomes.append(_outcome(text))
        self.session.attributes = answer["sessionAttributes"]
        return dict(answer["promptSessionAttributes"])

    def _event(self, query: str, prompt_attributes: Mapping[str, str]) -> dict[str, Any]:
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

    def _looked_up(self, query: str) -> Iterator[Event]:
        """Look up in the agent's own knowledge base; the trace has also what is below the floor."""
        yield self.traces.lookup_input(self.steps, KNOWLEDGE_BASE_ID, query)
        found = retrieve(
            self.knowledge_base, KNOWLEDGE_BASE_ID, {"retrievalQuery": {"text": query}}
        )
        results: Any = found["retrievalResults"]
        references = [
            {name: result[name] for name in ("content", "location", "metadata")}
            for result in results
        ]
        yield self.traces.lookup_output(self.steps, references)
        self.outcomes.append(select(results, _RESULTS, EVIDENCE_FLOOR_HYBRID))

    def _returned_control(self) -> Event:
        self.session.invocation_id = str(uuid.uuid4())
        self.session.text = self.request.text
        query = next(iter(self.agent.plan(self._text)), self._text)
        return return_control(self.session.invocation_id, _properties(self._event(query, {})))

    def _given(self) -> Iterator[Event]:
        """Take what the caller's own call of the operation gave."""
        for member in self.request.results:
            bodies = (member.get("apiResult") or {}).get("responseBody") or {}
            text = (bodies.get("application/json") or {}).get("body") or ""
            yield self.traces.tool_output(self.steps, text)
            self.outcomes.append(_outcome(text))
            self.steps += 1


def _guarded(events: Iterator[Event]) -> Iterator[Event]:
    """End a stream that fails as the service does: by an exception event."""
    try:
        yield from events
    except FunctionFailed as error:
        _logger.error("the agent's function failed: %s", described(error))  # noqa: TRY400 - in one line
        yield failure(
            "DependencyFailedException",
            "The Lambda function of the action group failed",
            resourceName="retrieve_knowledge",
        )
    except Exception as error:  # noqa: BLE001 - told in one line; the client learns nothing
        _logger.error("local InvokeAgent failed: %s", described(error))  # noqa: TRY400
        yield failure("InternalServerException", "Internal server error")


def _outcome(text: str) -> RetrievalOutcome:
    """Read what the function answered; a request that it refused is a search that was not made."""
    try:
        return read_outcome(read_json(text))
    except RequestRefused:
        return degraded(Reason.INTERNAL)
    except KnowledgeRagError:
        return degraded(Reason.MALFORMED_RESPONSE)


def _properties(event: Mapping[str, Any]) -> list[dict[str, str]]:
    properties: list[dict[str, str]] = event["requestBody"]["content"]["application/json"][
        "properties"
    ]
    return properties


def _parts(text: str, characters: int) -> Iterator[bytes]:
    """Cut an answer into chunks: one, unless it is streamed or too long for one."""
    if not characters:
        data = text.encode(errors="replace")
        yield from (data[n : n + MAX_CHUNK_BYTES] for n in range(0, len(data), MAX_CHUNK_BYTES))
        return
    for start in range(0, len(text), characters):
        yield text[start : start + characters].encode(errors="replace")
