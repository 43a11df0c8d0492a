"""The events of ``InvokeAgent``'s stream: what an agent did, and what it said."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.local.event_stream import Event
from lambdas.retrieve_knowledge.events import API_PATH, HTTP_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from knowledge_rag.local.agent_request import InvokeRequest

ACTION_GROUP: Final = "retrieve_knowledge"
MAX_CHUNK_BYTES: Final = 1_000_000
"""What one ``chunk`` holds at most (``PartBody`` of the service's model)."""

_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Traces:
    """Writes the trace events of one turn.

    Args:
        request: whose turn it is.
        now: the clock.
        trace_id: of the turn, at most 13 characters; with a step's number it has at most 16.
    """

    request: InvokeRequest
    now: Callable[[], datetime]
    trace_id: str

    def rationale(self, step: int, text: str) -> Event:
        """Tell why the agent does what comes next."""
        return self._orchestration({"rationale": {"traceId": self._id(step), "text": text}})

    def tool_input(self, step: int, properties: Sequence[Mapping[str, str]]) -> Event:
        """Tell what the agent asks its action group."""
        asked = {
            "actionGroupName": ACTION_GROUP,
            "apiPath": API_PATH,
            "verb": HTTP_METHOD.lower(),
            "executionType": "LAMBDA",
            "requestBody": {"content": {_JSON: [dict(each) for each in properties]}},
        }
        return self._input(step, "ACTION_GROUP", {"actionGroupInvocationInput": asked})

    def tool_output(self, step: int, text: str) -> Event:
        """Tell what the action group answered, exactly as its function wrote the body."""
        output = {"actionGroupInvocationOutput": {"text": text}}
        return self._observation(step, "ACTION_GROUP", output)

    def lookup_input(self, step: int, knowledge_base_id: str, text: str) -> Event:
        """Tell what the agent asks a knowledge base of its own."""
        asked = {"knowledgeBaseId": knowledge_base_id, "text": text}
        return self._input(step, "KNOWLEDGE_BASE", {"knowledgeBaseLookupInput": asked})

    def lookup_output(self, step: int, references: Sequence[Mapping[str, Any]]) -> Event:
        """Tell what that knowledge base gave."""
        found = {"retrievedReferences": [dict(reference) for reference in references]}
        output = {"knowledgeBaseLookupOutput": found}
        return self._observation(step, "KNOWLEDGE_BASE", output)

    def final_response(self, step: int, text: str) -> Event:
        """Tell what the agent says."""
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


def chunk(data: bytes, attribution: Mapping[str, Any] | None = None) -> Event:
    """Give a piece of the answer's UTF-8."""
    payload: dict[str, Any] = {"bytes": base64.b64encode(data).decode()}
    if attribution is not None:
        payload["attribution"] = dict(attribution)
    return Event("chunk", payload)


def return_control(invocation_id: str, properties: Sequence[Mapping[str, str]]) -> Event:
    """Ask the caller to carry out the action group's operation himself."""
    asked = {
        "actionGroup": ACTION_GROUP,
        "apiPath": API_PATH,
        "httpMethod": HTTP_METHOD,
        "actionInvocationType": "RESULT",
        "requestBody": {"content": {_JSON: {"properties": [dict(each) for each in properties]}}},
    }
    inputs = [{"apiInvocationInput": asked}]
    return Event("returnControl", {"invocationId": invocation_id, "invocationInputs": inputs})


def failure(code: str, message: str, **more: str) -> Event:
    """Give the exception event of an error, e.g. ``throttlingException`` for ThrottlingException."""
    return Event(code[:1].lower() + code[1:], {"message": message, **more}, failed=True)
