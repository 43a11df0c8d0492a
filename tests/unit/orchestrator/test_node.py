"""The node in graphs of others: it returns its part of the state, whatever it meets, and holds no one up."""

import asyncio
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda
from langgraph.errors import NodeTimeoutError
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.node import (
    IncidentState,
    as_mapping,
    knowledge_rag_node,
    merge_outputs,
)
from knowledge_rag.orchestrator.wording import UNREACHABLE
from tests.support.patience import longer
from tests.support.retrievals import NOTHING, Answering, Waiting, found
from tests.unit.orchestrator.evidence import RUNBOOK_RESULTS
from tests.unit.orchestrator.schema import VALIDATOR

STATE = {
    "incident": {"incident_id": "INC-7", "service": "quokka-db"},
    "signals": [{"alert_name": "RDS failover"}],
}
EVIDENCE = found(*RUNBOOK_RESULTS)


def advised(state, retrieval, advisor=None):
    """Call the node and give its output, held against the schema."""
    returned = asyncio.run(knowledge_rag_node(retrieval, advisor)(state))
    assert list(returned) == ["agent_outputs"]
    assert list(returned["agent_outputs"]) == ["knowledge-rag"]
    output = returned["agent_outputs"]["knowledge-rag"]
    VALIDATOR.validate(output)
    return output


def graph_of(retrieval, state=IncidentState, **nodes):
    """Give a graph in which the node runs beside others."""
    graph = StateGraph(state)
    for name, node in {"knowledge": knowledge_rag_node(retrieval), **nodes}.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph.compile()


# what it returns


def test_it_returns_its_own_output_and_nothing_else():
    output = advised(STATE, Answering(EVIDENCE))
    assert output["status"] == "ok"
    assert output["recommendation"]["guidance"]


def test_a_chosen_procedure_is_given_by_its_document_and_line():
    chosen = RUNBOOK_RESULTS[-1].citation
    at = f"{chosen.source_file}:{chosen.start_line}-{chosen.end_line}"
    output = advised({"incident": {"title": "what now", "at": at}}, Answering(EVIDENCE))
    assert output["status"] == "ok"
    assert "you chose this procedure" in output["evidence"]["reasons"]


@pytest.mark.parametrize("at", ["runbooks/rds.md", "/etc/passwd:1", 7, ["a.md:1"], "a.md:0"])
def test_what_is_no_place_chooses_nothing_and_is_a_problem(at):
    incident = Incident.from_state({"incident": {"title": "RDS failover", "at": at}})
    assert incident.at is None
    assert any(problem.startswith("incident.at: ") for problem in incident.problems)
    output = advised({"incident": {"title": "RDS failover", "at": at}}, Answering(EVIDENCE))
    assert "you chose this procedure" not in str(output)


def test_only_the_incident_itself_chooses():
    assert Incident.from_state({"title": "RDS failover", "at": "runbooks/rds.md:3"}).at is None
    assert Incident.from_state({"incident": {"at": "runbooks/rds.md:3"}}).at == (
        "runbooks/rds.md",
        3,
    )


def test_it_leaves_the_state_that_it_was_given_alone():
    state = {**STATE, "agent_outputs": {"metrics": {"cpu": 0.9}}}
    before = repr(state)
    advised(state, Answering(EVIDENCE))
    assert repr(state) == before


# what it meets


@pytest.mark.parametrize(
    "retrieval",
    [None, object(), Answering(None), Answering(lambda _: 1 / 0)],
    ids=["none", "no such method", "gives nothing", "raises"],
)
def test_a_broken_way_to_the_knowledge_base_is_an_outage(retrieval):
    output = advised(STATE, retrieval)
    assert (output["status"], output["reason"]) == ("degraded", "internal")


class Raising(dict):
    def get(self, *_):
        raise RuntimeError(STATE)

    keys = items = __iter__ = __getitem__ = get


def cyclic():
    state = {"incident": {}, "signals": []}
    state["incident"] |= {"labels": state, "title": state}
    state["signals"] += [state, state["signals"]]
    return state


def deep():
    state = {}
    for _ in range(5_000):
        state = {"signals": [state], "incident": {"labels": state}}
    return state


HOSTILE = {
    "nothing": None,
    "empty": {},
    "no mapping": ["incident"],
    "wrong types": {"incident": 7, "signals": b"bytes", "evidence": {1, 2}, "history": object()},
    "wrong keys": {7: 1, None: 2, ("a",): 3},
    "cycles": cyclic(),
    "deep": deep(),
    "huge": {"signals": ["x" * 10_000] * 10_000, "incident": {"title": "y" * 10**7}},
    "surrogates": {"incident": "\ud800 \x00 \u202e", "signals": ["\udfff"]},
    "huge number": {"incident": {"title": 10**5_000}},
    "raises": Raising(incident=1),
    "raises inside": {"incident": {"title": "t"}, "signals": [Raising(a=1)]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_state_makes_it_raise(name, caplog):
    output = advised(HOSTILE[name], Answering(EVIDENCE))
    assert output["status"] in {"ok", "no_match", "degraded"}
    assert "quokka" not in caplog.text


def test_a_state_that_can_not_be_read_is_no_statement_about_what_is_documented():
    output = advised(HOSTILE["raises"], Answering(EVIDENCE))
    assert (output["status"], output["reason"]) == ("degraded", "internal")
    assert output["recommendation"]["summary"] == UNREACHABLE


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.binary(max_size=3),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["alert_name", "service", "labels", "title", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.sampled_from(["incident", "signals", "evidence", "history", "labels", "alert_name"]),
        anything,
        max_size=4,
    )
)
def test_whatever_stands_in_a_state_gives_a_valid_output(state):
    advised(state, Answering(EVIDENCE))


# in graphs of others


class OwnReducer(TypedDict, total=False):
    alert_name: str
    agent_outputs: Annotated[dict[str, Any], operator.or_]


@dataclass
class Data:
    alert_name: str = ""
    agent_outputs: Annotated[dict[str, Any], merge_outputs] = field(default_factory=dict)


class Model(BaseModel):
    alert_name: str = ""
    agent_outputs: Annotated[dict[str, Any], merge_outputs] = {}


@pytest.mark.parametrize("schema", [OwnReducer, Data, Model])
def test_it_reads_whatever_a_graphs_state_is_made_of(schema):
    retrieval = Answering(NOTHING)
    graph = graph_of(retrieval, schema)
    result = asyncio.run(graph.ainvoke({"alert_name": "quokka-db-writer-unavailable"}))
    assert result["agent_outputs"]["knowledge-rag"]["status"] == "no_match"
    assert all("quokka-db-writer-unavailable" in query.text for query in retrieval.asked)
    assert len(retrieval.asked) == 2


def test_it_runs_where_there_is_no_graph_too():
    runnable = RunnableLambda(knowledge_rag_node(Answering(EVIDENCE)))
    result = asyncio.run(runnable.ainvoke(STATE))
    assert result["agent_outputs"]["knowledge-rag"]["status"] == "ok"


def test_what_it_streams_arrives_in_order():
    async def stream():
        graph = graph_of(Answering(EVIDENCE))
        return [part async for part in graph.astream(STATE, stream_mode="custom")]

    searching, found_, evidence, text, done = asyncio.run(stream())
    assert searching["event"] == "searching"
    assert len(searching["queries"]) == 3
    assert found_ == {"event": "found", "status": "ok", "sources": len(RUNBOOK_RESULTS)}
    assert [evidence["event"], text["event"]] == ["evidence", "text"]
    assert done == {"event": "done", "status": "ok"}


def test_a_slower_agent_beside_it_finds_it_done():
    """Nothing is added to the critical path: the other one is not even half through by then."""

    async def run():
        events, done = [], asyncio.Event()

        async def slower(_):
            events.append("slower began")
            async with asyncio.timeout(30):
                await done.wait()
            events.append("slower ended")
            return {"agent_outputs": {"slower": {}}}

        async for part in graph_of(Answering(EVIDENCE), slower=slower).astream(
            STATE, stream_mode="custom"
        ):
            events.append(part["event"])
            if part["event"] == "done":
                done.set()
        return events

    events = asyncio.run(run())
    assert events.index("slower began") < events.index("done") < events.index("slower ended")


def test_an_agent_beside_it_does_not_wait_for_it():
    async def run():
        other_ended = asyncio.Event()

        async def answer():
            async with asyncio.timeout(30):
                await other_ended.wait()
            return EVIDENCE

        async def other(_):
            other_ended.set()
            return {"agent_outputs": {"other": {"found": 1}}}

        return await graph_of(Answering(lambda _: answer()), other=other).ainvoke(STATE)

    outputs = asyncio.run(run())["agent_outputs"]
    assert outputs["other"] == {"found": 1}
    assert outputs["knowledge-rag"]["status"] == "ok"


def test_cancelling_the_graph_cancels_its_queries():
    async def cancel():
        waiting = Waiting(expected=3)
        running = asyncio.create_task(graph_of(waiting).ainvoke(STATE))
        await waiting.all_wait.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return waiting.cancelled

    assert asyncio.run(cancel()) == 3


def test_a_timeout_on_the_node_ends_it_with_its_queries():
    async def run(seconds):
        waiting = Waiting(expected=3)
        graph = StateGraph(IncidentState)
        graph.add_node("knowledge", knowledge_rag_node(waiting), timeout=seconds)
        graph.add_edge(START, "knowledge")
        with pytest.raises(NodeTimeoutError):
            await graph.compile().ainvoke(STATE)
        return waiting

    for seconds in longer(0.2):
        waiting = asyncio.run(run(seconds))
        if waiting.waiting == 3:
            break
    assert waiting.cancelled == waiting.waiting == 3


def test_incidents_at_once_do_not_mix():
    async def run():
        meeting = asyncio.Barrier(6)

        async def answer(query):
            if query.source_file:
                return NOTHING
            async with asyncio.timeout(30):
                await meeting.wait()
            return EVIDENCE if "quokka-db" in query.text else NOTHING

        graph = graph_of(Answering(answer))
        other = {"incident": {"incident_id": "INC-8"}, "signals": [{"alert_name": "wombat-down"}]}
        return await asyncio.gather(
            graph.ainvoke(STATE), graph.ainvoke({**other, "evidence": ["e"]})
        )

    documented, not_documented = asyncio.run(run())
    assert documented["agent_outputs"]["knowledge-rag"]["status"] == "ok"
    assert not_documented["agent_outputs"]["knowledge-rag"]["status"] == "no_match"
    assert documented["incident"]["incident_id"] == "INC-7"


def test_outputs_of_a_name_are_replaced_and_others_kept():
    assert merge_outputs(None, {"a": 1}) == {"a": 1}
    assert merge_outputs({"a": 1, "b": 2}, {"a": 3}) == {"a": 3, "b": 2}
    assert merge_outputs({"a": 1}, None) == {"a": 1}


class Labels(BaseModel):
    alertname: str = "KubePodCrashLooping"


class Signal(BaseModel):
    labels: Labels = Labels()
    message: str = "restarts"


@dataclass
class DataState:
    incident: dict = field(default_factory=lambda: {"id": "INC-7"})
    signals: list = field(default_factory=lambda: [Signal(), "latency"])
    lock: object = field(default_factory=object)


class ModelState(BaseModel):
    incident: dict = {"id": "INC-7"}
    signals: list[Signal | str] = [Signal(), "latency"]


@pytest.mark.parametrize(
    "state",
    [DataState(), ModelState(), dict(ModelState()), {"incident": {"id": "INC-7"}, "signals": (Signal(), "latency")}],
    ids=["dataclass", "model", "mapping of models", "tuple"],
)  # fmt: skip
def test_fields_are_read_wherever_they_stand(state):
    incident = Incident.from_state(as_mapping(state))
    assert incident == Incident(
        incident_id="INC-7",
        alert_name="KubePodCrashLooping",
        signals=("KubePodCrashLooping: restarts", "latency"),
    )


@pytest.mark.parametrize("state", [None, 7, "text", [1], object(), DataState, ModelState])
def test_what_has_no_fields_is_given_back(state):
    assert as_mapping(state) is state


def test_members_that_are_not_read_are_counted_still():
    state = as_mapping({"signals": ["s"] * 1_000})
    assert set(Incident.from_state(state).problems) == {
        "signals: 1000 members, the first 50 are read"
    }
