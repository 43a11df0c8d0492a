"""The knowledge agent as a node of a LangGraph graph.

It runs beside other agents, returns its part of the state and nothing else, and never raises: an
outage of the knowledge base is an honest, empty recommendation.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol, TypedDict

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.orchestrator.composition import without_advice
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.findings import Asked, Findings
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.queries import build_queries
from knowledge_rag.orchestrator.recommendation import AGENT_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.orchestrator.advisors.advisor import Advisor
    from knowledge_rag.orchestrator.consultation import Notify
    from knowledge_rag.orchestrator.retrieval import Retrieval

_logger: Final = logging.getLogger(__name__)


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

    async def __call__(self, state: IncidentState) -> AgentOutputs:
        """Advise on the incident of a state."""
        ...


def knowledge_rag_node(retrieval: Retrieval, advisor: Advisor | None = None) -> Node:
    """Make the node.

    In a graph that streams with ``stream_mode="custom"`` it tells what it is doing: see
    :data:`knowledge_rag.orchestrator.consultation.Notify`.

    Args:
        retrieval: the way to the knowledge base; its budget bounds each query.
        advisor: who writes the guidance; by default the one without a model.
    """

    async def node(state: IncidentState) -> AgentOutputs:
        return {"agent_outputs": {AGENT_ID: await _advised(state, retrieval, advisor)}}

    return node


async def _advised(state: object, retrieval: Retrieval, advisor: Advisor | None) -> dict[str, Any]:
    incident = Incident.from_state(state)
    try:
        consultation = await consult(incident, retrieval, advisor, notify=_stream_writer())
    except Exception as error:  # noqa: BLE001 - an adviser's defect must not end the incident's graph
        # without its message, which may quote the incident
        _logger.error("error=<%s> | consultation raised", type(error).__name__)  # noqa: TRY400 - likewise
        return without_advice(incident, _unasked(incident)).to_dict()
    return consultation.recommendation.to_dict()


def _unasked(incident: Incident) -> Findings:
    outcome = RetrievalOutcome(Status.DEGRADED, reason=Reason.INTERNAL)
    return Findings(tuple(Asked(query, outcome) for query in build_queries(incident)))


def _stream_writer() -> Notify | None:
    """Give the writer of the graph's custom stream; ``None`` outside a graph."""
    from langgraph.config import get_stream_writer  # noqa: PLC0415 - the rest needs no LangGraph

    try:
        return get_stream_writer()
    except RuntimeError:
        return None
