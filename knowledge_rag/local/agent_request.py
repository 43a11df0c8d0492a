"""Bedrock's ``InvokeAgent`` request, checked as the service checks it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.local.retrieve_operation import ServiceError
from knowledge_rag.local.service_models import service_model
from knowledge_rag.local.wire_validation import problems

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.model import OperationModel

MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""More than twice the longest ``inputText``, 25,000,000 characters."""

_NAMED_PROBLEMS: Final = 20
_NOT_HERE: Final = {
    "files": "this agent has no code interpreter",
    "knowledgeBaseConfigurations": "the agent's knowledge base is behind its action group",
}


@dataclass(frozen=True, slots=True)
class InvokeRequest:
    """A request that has been found valid.

    Args:
        agent_id: 1..10 letters and digits.
        alias_id: likewise.
        session_id: 2..100 characters.
        text: what is asked, ``""`` when a returned control's results come back instead.
        traced: whether trace events are wanted.
        streamed: whether the answer may come in several chunks.
        ends: whether the session ends with this turn.
        session_attributes: that the request sets; ``None`` leaves the session's own.
        prompt_attributes: of this turn.
        invocation_id: of the control that was returned.
        results: of that control, as the wire has them.
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
    invocation_id: str = ""
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
        invocation_id=state.get("invocationId") or "",
        results=results,
    )


def check(values: Mapping[str, Any], operation: OperationModel) -> None:
    """Hold a request to the service's model.

    Raises:
        ServiceError: ValidationException that names the broken constraints.
    """
    opaque = frozenset({"RetrievalFilter"})
    found = list(islice(problems(values, operation.input_shape, "", opaque), _NAMED_PROBLEMS))
    if found:
        plural = "" if len(found) == 1 else "s"
        raise invalid(f"{len(found)} validation error{plural} detected: {'; '.join(found)}")


def invalid(message: str) -> ServiceError:
    """Give the error of a request that can't be served as it stands."""
    return ServiceError("ValidationException", 400, message)
