"""A LangGraph graph with the knowledge agent, on this machine and without an account.

The knowledge agent and another agent look at the same signals in parallel, and their results are
merged. Run it: ``python examples/incident_graph.py``.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from langgraph.graph import END, START, StateGraph

from knowledge_rag.cli.knowledge_bases import sample_knowledge_base
from knowledge_rag.local.embeddings import MiniLm
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.local.settings import LocalSettings
from knowledge_rag.orchestrator.node import IncidentState, knowledge_rag_node

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from knowledge_rag.orchestrator.node import AgentOutputs, Node


class State(IncidentState, total=False):
    """The state of this graph: the knowledge agent's, and the decision."""

    decision: dict[str, Any]


INCIDENT: State = {
    "incident": {"incident_id": "INC-1042", "service": "rds", "severity": "SEV1"},
    "signals": [
        {"alert_name": "orders-db-writer-unavailable", "message": "replication lag keeps growing"}
    ],
}


async def count_signals(state: State) -> AgentOutputs:
    """Count the signals. Put an agent of yours here."""
    return {"agent_outputs": {"signals": {"count": len(state.get("signals", []))}}}


def merge(state: State) -> dict[str, Any]:
    """Decide from the results of both agents."""
    knowledge = state["agent_outputs"]["knowledge-rag"]
    steps = knowledge["recommendation"]["guidance"]
    return {
        "decision": {
            "documented": knowledge["status"],
            "first_step": steps[0] if steps else None,
            "signals": state["agent_outputs"]["signals"]["count"],
        }
    }


def incident_graph(knowledge: Node) -> CompiledStateGraph[State, None, State, State]:
    """Build the graph."""
    graph = StateGraph(State)
    graph.add_node("knowledge-rag", knowledge)
    graph.add_node("signals", count_signals)
    graph.add_node("merge", merge)
    graph.add_edge(START, "knowledge-rag")
    graph.add_edge(START, "signals")
    graph.add_edge(["knowledge-rag", "signals"], "merge")
    graph.add_edge("merge", END)
    return graph.compile()


async def main() -> None:
    """Run the graph on the sample runbooks and print what it streams and decides."""
    path, _ = sample_knowledge_base()
    embedder = MiniLm(LocalSettings.from_environment())
    with KnowledgeBase(path, embedder) as knowledge_base, local_retrieval(knowledge_base) as way:
        graph = incident_graph(knowledge_rag_node(way))
        final: dict[str, Any] = {}
        async for mode, part in graph.astream(INCIDENT, stream_mode=["custom", "values"]):
            if mode == "custom":
                print(part["event"], part.get("status", ""))
            else:
                final = part  # type: ignore[assignment] # in this mode, it is the state
    print(json.dumps(final["decision"], indent=2))


if __name__ == "__main__":
    asyncio.run(main())
