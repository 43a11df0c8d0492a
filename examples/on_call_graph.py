"""A LangGraph graph that asks a person before it posts: triage, knowledge-rag, a person, post.

The graph stops at the person and is kept by its checkpointer; whoever answers, hours later or in another process,
goes on from there, and nothing is looked up again. Where it is unclear which procedure is meant, the person chooses
one by its lines. Run it: ``python examples/on_call_graph.py``.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from knowledge_rag.cli.knowledge_bases import sample_knowledge_base
from knowledge_rag.local.embeddings import MiniLm
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.local.settings import LocalSettings
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.node import IncidentState, knowledge_rag_node
from knowledge_rag.orchestrator.showing import LABELS

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from knowledge_rag.orchestrator.node import Node


class State(IncidentState, total=False):
    """The state of this graph: the knowledge agent's, and whether something was posted."""

    posted: bool


ALERT: State = {
    "incident": {
        "title": "Orders pile up",
        "severity": "SEV2",
        "alert_name": "sqs-backlog-order-events",
    }
}


def triage(state: State) -> Command[Literal["knowledge-rag", "__end__"]]:
    """Leave out what nobody has to act on. Put your own rules here."""
    is_minor = state["incident"].get("severity") in ("SEV4", "SEV5")
    return Command(goto="__end__" if is_minor else "knowledge-rag")


def ask_a_person(state: State) -> Command[Literal["knowledge-rag", "post", "__end__"]]:
    """Show what was found, and wait: ``post``, ``drop``, or the lines of a procedure, ``FILE:LINE``."""
    answer = interrupt(shown(state["agent_outputs"]["knowledge-rag"]))
    if answer in ("post", "drop"):
        return Command(goto="post" if answer == "post" else "__end__")
    chosen = {"incident": {**state["incident"], "at": answer}}
    return Command(update=chosen, goto="knowledge-rag")


def shown(knowledge: dict[str, Any]) -> dict[str, Any]:
    """Return what the person decides on: the steps, or the procedures to choose from."""
    advice = knowledge["recommendation"]
    reading = advice.get("reading", [])
    names = advice.get("meant") or [it["section_header"] for it in reading]
    return {
        "status": knowledge["status"],
        "summary": advice["summary"],
        "steps": steps_in_words(advice["guidance"]),
        "choices": {
            f"{it['source_file']}:{it['end_line']}": name
            for name, it in zip(names, reading, strict=True)
        },
        "warnings": [it["message"] for it in knowledge["warnings"]],
    }


def steps_in_words(steps: list[dict[str, Any]]) -> list[str]:
    """Return the steps as lines of text: above each what governs it, behind it its commands and its lines."""
    lines: list[str] = []
    for step in steps:
        for it in step.get("warnings", ()):
            label = LABELS[Governs(it["kind"])]
            said = " ".join(filter(None, (label and f"{label}:", *it["text"].split())))
            lines += [said] if said not in lines else []
        mark = f"[destructive: {', '.join(found)}] " if (found := step.get("destructive")) else ""
        cited = step["citation"]
        where = f"{cited['source_file']}:{cited['start_line']}-{cited['end_line']}"
        lines.append(f"{step['step']}. {mark}{step['action']} ({where})")
        commands = [line for it in step.get("commands", ()) for line in it.split("\n")]
        lines += [f"    {line}" for line in commands]
    return lines


def on_call_graph(
    knowledge: Node, send: Callable[[str], None], checkpointer: BaseCheckpointSaver[Any]
) -> CompiledStateGraph[State, None, State, State]:
    """Build the graph.

    Args:
        knowledge: the knowledge agent.
        send: posts a text where your people are.
        checkpointer: keeps the graph while a person thinks; one on disk survives a restart.
    """

    def post(state: State) -> dict[str, Any]:
        found = shown(state["agent_outputs"]["knowledge-rag"])
        send("\n".join((found["summary"], *found["steps"])))
        return {"posted": True}

    graph = StateGraph(State)
    graph.add_node("triage", triage)
    graph.add_node("knowledge-rag", knowledge, timeout=60)
    graph.add_node("person", ask_a_person)
    graph.add_node("post", post)
    graph.add_edge(START, "triage")
    graph.add_edge("knowledge-rag", "person")
    graph.add_edge("post", END)
    return graph.compile(checkpointer=checkpointer)


async def main() -> None:
    """Run the graph on the sample runbooks, and post as if a person had agreed."""
    path, _ = sample_knowledge_base()
    embedder = MiniLm(LocalSettings.from_environment())
    with KnowledgeBase(path, embedder) as knowledge_base, local_retrieval(knowledge_base) as way:
        graph = on_call_graph(knowledge_rag_node(way), print, InMemorySaver())
        thread: RunnableConfig = {"configurable": {"thread_id": "INC-1042"}}
        asked = await graph.ainvoke(ALERT, thread)
        print(json.dumps(asked["__interrupt__"][0].value, indent=2)[:400])
        await graph.ainvoke(Command(resume="post"), thread)


if __name__ == "__main__":
    asyncio.run(main())
