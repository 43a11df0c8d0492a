"""The local server with agents and models that do what tests want, by ``agentId`` and ``modelId``."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import RetrievalOutcome
from knowledge_rag.core.retrieval import select
from knowledge_rag.local.action_group import EVIDENCE_FLOOR_HYBRID, FunctionProcess
from knowledge_rag.local.bedrock import server
from knowledge_rag.local.bedrock.converse import (
    MODEL_ID,
    Models,
    events_of,
    extracted,
    model_missing,
    parse_converse_request,
    reply,
)
from knowledge_rag.local.bedrock.invoke_agent import (
    ACTION_GROUP,
    AGENT_ID,
    ALIAS_ID,
    Agents,
    Traces,
    Turn,
    agent_missing,
    control_not_returned,
    guarded,
    outcome_of,
    parse_invoke_request,
    planned,
    properties_of,
)
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID, retrieve
from knowledge_rag.local.bedrock.wire import Event, ServiceError, encode, service_model
from lambdas.retrieve_knowledge.events import API_PATH, HTTP_METHOD
from tests.support.patience import PATIENT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.local.knowledge_base import KnowledgeBase

AnswerWriter = Callable[[str, Sequence[RetrievalOutcome]], str]
EventStep = Callable[[Iterable[Event]], Generator[Event]]
ByteStep = Callable[[Iterable[bytes]], Generator[bytes]]
Reshape = Callable[[dict[str, Any]], dict[str, Any]]

_RESULTS: Final = 5


class CutHere(Exception):  # noqa: N818 - raised by a stream that ends in the middle
    """The server closes a connection whose response was never completed."""


class Evidence(Enum):
    """Where an agent looks things up."""

    ACTION_GROUP = "action group"
    KNOWLEDGE_BASE = "knowledge base"
    CALLER = "caller"


def _same(given):
    return given


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent: how it writes, asks and looks up, and what becomes of its events and their bytes."""

    write: AnswerWriter = extracted
    plan: Callable[[str], Sequence[str]] = planned
    evidence: Evidence = Evidence.ACTION_GROUP
    alter: EventStep = _same
    transmit: ByteStep = _same
    refusal: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A model: how it writes, and what becomes of its response, its events and their bytes."""

    write: AnswerWriter = extracted
    reshape: Reshape = _same
    alter: EventStep = _same
    transmit: ByteStep = _same
    refusal: ServiceError | None = None
    seconds: float = 0.0
    """Before its response, where it is not streamed."""


HONEST_AGENT: Final = ScriptedAgent()
HONEST_MODEL: Final = ScriptedModel()


class ScriptedTraces(Traces):
    """Traces also what an agent looks up in a knowledge base of its own."""

    def lookup_input(self, step: int, knowledge_base_id: str, text: str) -> Event:
        asked = {"knowledgeBaseId": knowledge_base_id, "text": text}
        return self._input(step, "KNOWLEDGE_BASE", {"knowledgeBaseLookupInput": asked})

    def lookup_output(self, step: int, references: Sequence[Mapping[str, Any]]) -> Event:
        found = {"retrievedReferences": [dict(reference) for reference in references]}
        return self._observation(step, "KNOWLEDGE_BASE", {"knowledgeBaseLookupOutput": found})


def return_control(invocation_id: str, properties: Sequence[Mapping[str, str]]) -> Event:
    """Ask the caller to carry out the action group's operation himself."""
    asked = {
        "actionGroup": ACTION_GROUP,
        "apiPath": API_PATH,
        "httpMethod": HTTP_METHOD,
        "actionInvocationType": "RESULT",
        "requestBody": {"content": {"application/json": {"properties": list(properties)}}},
    }
    inputs = [{"apiInvocationInput": asked}]
    return Event("returnControl", {"invocationId": invocation_id, "invocationInputs": inputs})


@dataclass(kw_only=True)
class ScriptedTurn(Turn):
    agent: ScriptedAgent
    knowledge_base: KnowledgeBase

    @property
    def text(self):
        return self.request.text or getattr(self.session, "text", "")

    def plan(self):
        return self.agent.plan(self.text)

    def write(self, question):
        return self.agent.write(question, self.outcomes)

    def events(self):
        if self.agent.evidence is Evidence.CALLER and not self.request.results:
            yield self._returned_control()
        else:
            yield from super().events()

    def evidence(self):
        if self.request.results:
            yield from self._given()
        elif self.agent.evidence is Evidence.KNOWLEDGE_BASE:
            for query in self.plan():
                yield self.traces.rationale(self.steps, f"The documents may answer: {query[:500]}")
                yield from self._looked_up(query)
                self.steps += 1
        else:
            yield from super().evidence()

    def _looked_up(self, query):
        """Look up in the agent's own knowledge base; the trace has also what is below the floor."""
        yield self.traces.lookup_input(self.steps, KNOWLEDGE_BASE_ID, query)
        asked = {"retrievalQuery": {"text": query}}
        results = retrieve(self.knowledge_base, KNOWLEDGE_BASE_ID, asked)["retrievalResults"]
        references = [
            {name: result[name] for name in ("content", "location", "metadata")}
            for result in results
        ]
        yield self.traces.lookup_output(self.steps, references)
        self.outcomes.append(select(results, _RESULTS, EVIDENCE_FLOOR_HYBRID))

    def _returned_control(self):
        self.session.invocation_id = str(uuid.uuid4())
        self.session.text = self.request.text
        query = next(iter(self.plan()), self.text)
        return return_control(self.session.invocation_id, properties_of(self.event(query, {})))

    def _given(self):
        """Read what the caller's own call of the operation gave."""
        for member in self.request.results:
            bodies = (member.get("apiResult") or {}).get("responseBody") or {}
            text = (bodies.get("application/json") or {}).get("body") or ""
            yield self.traces.tool_output(self.steps, text)
            self.outcomes.append(outcome_of(text))
            self.steps += 1


class ScriptedAgents(Agents):
    def __init__(self, knowledge_base, agents):
        super().__init__()
        self._function = FunctionProcess(PATIENT_SECONDS)
        self._knowledge_base = knowledge_base
        self._agents = {AGENT_ID: HONEST_AGENT, **agents}

    def invoke(self, names, body, endpoint_url):
        request = parse_invoke_request(*names, body)
        agent = self._agents.get(request.agent_id)
        if agent is None or request.alias_id != ALIAS_ID:
            raise agent_missing(*names)
        if agent.refusal is not None:
            raise agent.refusal
        session = self._session(request)
        returned = (body.get("sessionState") or {}).get("invocationId") or ""
        if request.results and returned != getattr(session, "invocation_id", ""):
            raise control_not_returned()
        turn = ScriptedTurn(
            request=request,
            session=session,
            traces=ScriptedTraces(request, lambda: datetime.now(UTC), uuid.uuid4().hex[:13]),
            ask=partial(self._function.invoke, endpoint_url=endpoint_url),
            agent=agent,
            knowledge_base=self._knowledge_base,
        )
        messages = (encode(event) for event in agent.alter(guarded(turn.events())))
        return agent.transmit(messages)


def _events_of(answer):
    """Stream an answer, also where it uses a tool, which the server's own model never does."""
    message = answer["output"]["message"]
    uses = {at: it["toolUse"] for at, it in enumerate(message["content"]) if "toolUse" in it}
    content = [{"text": ""} if at in uses else it for at, it in enumerate(message["content"])]
    for event in events_of({**answer, "output": {"message": {**message, "content": content}}}):
        index = event.payload.get("contentBlockIndex")
        if event.kind == "contentBlockStop" and (use := uses.get(index)):
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            yield Event("contentBlockStart", {"contentBlockIndex": index, "start": start})
            delta = {"toolUse": {"input": "{}"}}
            yield Event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield event


class ScriptedModels(Models):
    def __init__(self, models):
        self._models = {MODEL_ID: HONEST_MODEL, **models}

    def converse(self, model_id, body):
        model, answer = self._answered(model_id, body)
        time.sleep(model.seconds)
        return answer

    def stream(self, model_id, body):
        model, answer = self._answered(model_id, body)
        return model.transmit(encode(event) for event in model.alter(_events_of(answer)))

    def _answered(self, model_id, body):
        request = parse_converse_request(model_id, body)
        model = self._models.get(model_id)
        if model is None:
            raise model_missing()
        if model.refusal is not None:
            raise model.refusal
        return model, model.reshape(reply(request, model.write))


class LocalBedrock(server.LocalBedrock):
    """The local server with further agents and models, each by its id."""

    def __init__(self, knowledge_base, *, agents=None, models=None):
        super().__init__(
            knowledge_base,
            agents=ScriptedAgents(knowledge_base, agents or {}),
            models=ScriptedModels(models or {}),
        )


@lru_cache(maxsize=32)
def modelled_error(service: str, code: str, message: str) -> ServiceError:
    """Give an error of a service's model, with the status that the model gives it."""
    status = service_model(service).shape_for(code).metadata["error"]["httpStatusCode"]
    return ServiceError(code, status, message)


def modelled_exceptions(service: str, stream: str) -> tuple[str, ...]:
    """Give the names of the exceptions that a service's model has in a stream."""
    members: Mapping[str, Any] = getattr(service_model(service).shape_for(stream), "members", {})
    return tuple(shape.name for shape in members.values() if shape.metadata.get("exception"))
