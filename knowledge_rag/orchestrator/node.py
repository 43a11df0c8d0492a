"""The knowledge agent as a node of a LangGraph graph.

It returns its part of the state and nothing else, and never raises: an outage of the knowledge base is
an empty recommendation that says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypedDict

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS
from knowledge_rag.orchestrator.recommendation import AGENT_ID, Recommendation
from knowledge_rag.orchestrator.retrieval import contained
from knowledge_rag.orchestrator.wording import UNREACHABLE

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Notify
    from knowledge_rag.orchestrator.retrieval import Retrieval


def merge_outputs(
    left: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Merge the outputs of agents that ran in parallel; the later one of the same name counts."""
    return {**(left or {}), **(right or {})}


class AgentOutputs(TypedDict):
    """The partial state that the node returns.

    ``agent_outputs["knowledge-rag"]`` is a recommendation as in schemas/recommendation.schema.json.
    """

    agent_outputs: Annotated[dict[str, Any], merge_outputs]


class IncidentState(TypedDict, total=False):
    """A state that the node reads; a graph's own may have more members, and any of these may be missing.

    A graph whose state is not derived from this one needs ``agent_outputs`` with a reducer of its own.
    See :meth:`knowledge_rag.orchestrator.incident.Incident.from_state` for each.
    """

    incident: Any
    signals: Any
    evidence: Any
    history: Any
    agent_outputs: Annotated[dict[str, Any], merge_outputs]


class Node(Protocol):
    """An asynchronous node: reads a state, returns a part of one."""

    async def __call__(self, state: Any) -> AgentOutputs:  # noqa: ANN401 - see below
        """Advise on the incident of a state.

        Args:
            state: a mapping such as :class:`IncidentState`, a dataclass or a pydantic model. Its type
                is not declared, since LangGraph would then pass only the declared keys, and refuse a
                graph that merges ``agent_outputs`` in its own way.
        """
        ...


def knowledge_rag_node(retrieval: Retrieval, advisor: Advisor | None = None) -> Node:
    """Return the knowledge agent as a node.

    In a graph that streams with ``stream_mode="custom"`` it sends the events of
    :data:`knowledge_rag.orchestrator.consultation.Notify`.
    """

    async def node(state: Any) -> AgentOutputs:  # noqa: ANN401 - see Node
        return {"agent_outputs": {AGENT_ID: await _advised(state, retrieval, advisor)}}

    return node


async def _advised(state: object, retrieval: Retrieval, advisor: Advisor | None) -> dict[str, Any]:
    with contained("consultation raised"):  # a defect here must not end the incident's graph
        incident = Incident.from_state(as_mapping(state))
        consultation = await consult(incident, retrieval, advisor, notify=_stream_writer())
        return consultation.recommendation.to_dict()
    return _FAILED.to_dict()


_FAILED: Final = Recommendation(
    Status.DEGRADED,
    UNREACHABLE,
    "The incident could not be looked up, because something failed within the knowledge agent.",
    reason=Reason.INTERNAL,
)


def _stream_writer() -> Notify | None:
    from langgraph.config import get_stream_writer  # noqa: PLC0415 - the rest needs no LangGraph

    try:
        return get_stream_writer()
    except (RuntimeError, KeyError):  # no graph runs it
        return None


_NESTED: Final = ("incident", "signals", "evidence", "history", "labels", "annotations")

_DEPTH: Final = 3
"""A list of signals, a signal, its labels."""


def as_mapping(state: object) -> object:
    """Return a state, and the dataclasses and pydantic models in it, as mappings of their fields.

    Other types stay as they are. Only members that are read are converted.
    """
    fields = _fields(state)
    if fields is None:
        return state
    plain: dict[object, object] = dict(fields)
    plain.update((key, _plain(fields[key], _DEPTH)) for key in _NESTED if key in fields)
    return plain


def _plain(value: object, depth: int) -> object:
    if depth == 0:
        return value
    if isinstance(value, list | tuple):
        return [*(_plain(member, depth - 1) for member in value[:MAX_ITEMS]), *value[MAX_ITEMS:]]
    fields = _fields(value)
    if fields is None:
        return value
    read = islice(fields.items(), MAX_ITEMS)
    return {**fields, **{key: _plain(member, depth - 1) for key, member in read}}


def _fields(value: object) -> Mapping[object, object] | None:
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)  # as pydantic's models have them
    if isinstance(names, Mapping):
        return {name: getattr(value, name, None) for name in names}
    return None
