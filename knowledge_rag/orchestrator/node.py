"""The knowledge agent as a node of a LangGraph graph.

It runs beside other agents, returns its part of the state and nothing else, and never raises: an
outage of the knowledge base is an honest, empty recommendation.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypedDict

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.graph_state import as_mapping
from knowledge_rag.orchestrator.held import is_cancelled, tell_of
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.recommendation import AGENT_ID, Recommendation
from knowledge_rag.orchestrator.wording import UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.retrieval import Retrieval
    from knowledge_rag.orchestrator.telling import Notify


def merge_outputs(
    left: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Put the outputs of agents that ran beside each other together; the later one of a name stands."""
    return {**(left or {}), **(right or {})}


class AgentOutputs(TypedDict):
    """What the node returns: a partial state.

    ``agent_outputs["knowledge-rag"]`` is a recommendation by schemas/recommendation.schema.json.
    """

    agent_outputs: Annotated[dict[str, Any], merge_outputs]


class IncidentState(TypedDict, total=False):
    """A state that the node reads; a graph's own may have more, and any of these may be missing.

    A graph whose state is not made from this one needs ``agent_outputs`` with a reducer of its own.
    What is understood of each is told by
    :meth:`knowledge_rag.orchestrator.incident.Incident.from_state`.
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
            state: an :class:`IncidentState`, or whatever else a graph has: a mapping, a dataclass
                or a pydantic model. It is not declared, since LangGraph would then hand over the
                declared keys only, and refuse a graph that merges ``agent_outputs`` in its own way.
        """
        ...


def knowledge_rag_node(retrieval: Retrieval, advisor: Advisor | None = None) -> Node:
    """Make the node.

    In a graph that streams with ``stream_mode="custom"`` it tells what it is doing: see
    :data:`knowledge_rag.orchestrator.telling.Notify`.

    Args:
        retrieval: the way to the knowledge base; its budget bounds each query.
        advisor: who writes the guidance; by default the one without a model.
    """

    async def node(state: Any) -> AgentOutputs:  # noqa: ANN401 - see Node
        return {"agent_outputs": {AGENT_ID: await _advised(state, retrieval, advisor)}}

    return node


async def _advised(state: object, retrieval: Retrieval, advisor: Advisor | None) -> dict[str, Any]:
    try:
        incident = Incident.from_state(as_mapping(state))
        consultation = await consult(incident, retrieval, advisor, notify=_stream_writer())
        return consultation.recommendation.to_dict()
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        tell_of(error, "consultation raised")
    except Exception as error:  # noqa: BLE001 - a defect here must not end the incident's graph
        tell_of(error, "consultation raised")
    return _FAILED.to_dict()


_FAILED: Final = Recommendation(
    Status.DEGRADED,
    UNREACHABLE,
    "The incident could not be looked up, for something failed within the knowledge agent.",
    reason=Reason.INTERNAL,
)


def _stream_writer() -> Notify | None:
    """Give the writer of the graph's custom stream; ``None`` outside a graph."""
    from langgraph.config import get_stream_writer  # noqa: PLC0415 - the rest needs no LangGraph

    try:
        return get_stream_writer()
    except (RuntimeError, KeyError):  # nothing runs around it; or something else than a graph does
        return None
