"""What a LangChain agent says is verified before its state and its streams have it."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import chain
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import Field

from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.orchestrator.langchain import KnowledgeTool
from knowledge_rag.orchestrator.langchain_agent import REPORT, VerifiedAnswers
from tests.support.evidence import passage
from tests.support.retrievals import DOWN, NOTHING, Answering, found

RUNBOOK = "# Failover\n\n1. Promote the replica with `promote --now`.\n2. Wait 5 minutes.\n"
FOUND = found(passage("runbooks/failover.md", RUNBOOK))
LINES = "[Source: runbooks/failover.md, lines 1-4]"
FORGED = "[Source: runbooks/never.md, lines 1-9]"
GOOD = f"Promote the replica with `promote --now`. {LINES}"
BAD = f"Promote the replica with `promote --later`. {LINES}"
SEARCH = AIMessage(
    f"I look it up {FORGED}",
    tool_calls=[{"name": "retrieve_knowledge", "args": {"query": "failover"}, "id": "1"}],
)
WAYS = ("invoke", "ainvoke")


class Saying(BaseChatModel):
    """Says one message after the other, whole or word by word; remembers what it was told."""

    messages: Any
    told: list = Field(default_factory=list)
    _llm_type = "saying"

    def bind_tools(self, _tools, **_more):
        return self

    def _generate(self, messages, *_args, **_more):
        self.told.append(messages)
        return ChatResult(generations=[ChatGeneration(message=next(self.messages))])

    def _stream(self, messages, *_args, **_more):
        self.told.append(messages)
        said = next(self.messages)
        chunks = [AIMessageChunk(it) for it in re.findall(r"\S+\s*", said.content)]
        calls = [
            {"name": it["name"], "args": json.dumps(it["args"]), "id": it["id"], "index": 0}
            for it in said.tool_calls
        ]
        chunks += [AIMessageChunk("", tool_call_chunks=calls)] if calls else []
        yield from (ChatGenerationChunk(message=it) for it in chunks)


def agent_of(*said, outcome=FOUND, **more):
    model = Saying(messages=iter([SEARCH, *said]))
    tool = KnowledgeTool(retrieval=Answering(outcome))
    middleware = [VerifiedAnswers(**more)]
    return create_agent(model, [tool], middleware=middleware), model


def asked(agent, way="invoke"):
    state = {"messages": [HumanMessage("How do we fail over?")]}
    ran = asyncio.run(agent.ainvoke(state)) if way == "ainvoke" else agent.invoke(state)
    return ran["messages"]


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_is_backed_passes_as_it_is_with_its_report(way):
    agent, model = agent_of(AIMessage(GOOD))
    last = asked(agent, way)[-1]
    assert last.content == GOOD
    report = last.response_metadata[REPORT]
    assert report["verified"] is True
    assert report["citations"][0]["source_file"] == "runbooks/failover.md"
    assert len(model.told) == 2


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_with_errors_goes_back_once_and_leaves_no_trace_in_the_state(way):
    agent, model = agent_of(AIMessage(BAD), AIMessage(GOOD))
    messages = asked(agent, way)
    assert messages[-1].content == GOOD
    assert [it.type for it in messages] == ["human", "ai", "tool", "ai"]
    *_, answer, told = model.told[-1]
    assert answer.content == BAD
    assert "flag --later is not in runbooks/failover.md, lines 1-4" in told.content


@pytest.mark.parametrize("way", WAYS)
def test_what_stays_wrong_is_reported_and_its_references_are_gone(way):
    agent, _ = agent_of(AIMessage(f"{BAD} {FORGED}"), AIMessage(f"{BAD} Reboot it. {FORGED}"))
    last = asked(agent, way)[-1]
    assert last.content.strip() == f"{BAD} Reboot it."
    assert last.response_metadata[REPORT]["verified"] is False
    assert last.response_metadata[REPORT]["removed"][0]["reference"] == FORGED


def test_how_often_it_goes_back_can_be_set():
    agent, model = agent_of(AIMessage(BAD), AIMessage(BAD), AIMessage(GOOD), retries=2)
    assert asked(agent)[-1].content == GOOD
    assert len(model.told) == 4
    agent, model = agent_of(AIMessage(BAD), retries=0)
    assert asked(agent)[-1].response_metadata[REPORT]["verified"] is False
    with pytest.raises(ValueError, match="retries must be 0 or more, not -1"):
        VerifiedAnswers(-1)


def test_words_beside_a_call_of_a_tool_lose_what_they_can_t_cite():
    agent, _ = agent_of(AIMessage(GOOD))
    assert asked(agent)[1].content.strip() == "I look it up"
    assert asked(agent_of(AIMessage(GOOD))[0])[1].tool_calls[0]["name"] == "retrieve_knowledge"


def test_what_isn_t_about_runbooks_isn_t_checked():
    model = Saying(messages=iter([AIMessage("Hello! Run `ls` 3 times.")]))
    agent = create_agent(model, [], middleware=[VerifiedAnswers()])
    last = asked(agent)[-1]
    assert last.content == "Hello! Run `ls` 3 times."
    assert REPORT not in last.response_metadata


def test_an_answer_without_a_search_can_cite_nothing():
    model = Saying(messages=iter([AIMessage(f"Do it. {LINES}"), AIMessage(f"Do it! {LINES}")]))
    agent = create_agent(model, [], middleware=[VerifiedAnswers()])
    assert asked(agent)[-1].content.strip() == "Do it!"


def test_an_outage_is_no_proof_that_nothing_is_documented():
    nothing = "No documented guidance found for this scenario"
    agent, model = agent_of(
        AIMessage(nothing), AIMessage("It could not be searched."), outcome=DOWN
    )
    asked(agent)
    assert "could not be searched (unavailable)" in model.told[-1][-1].content
    agent, model = agent_of(AIMessage(nothing), outcome=NOTHING)
    assert asked(agent)[-1].content == nothing
    assert len(model.told) == 2


def test_blocks_of_thought_stay_in_front_of_the_text():
    thought = {"type": "thinking", "thinking": f"I cite {LINES}", "signature": "x"}
    parts = [thought, {"type": "text", "text": GOOD}, {"type": "text", "text": f" {FORGED}"}]
    last = asked(agent_of(AIMessage(content=parts), retries=0)[0])[-1]
    assert last.content[0] == thought
    assert last.content[1]["text"].strip() == GOOD
    assert len(last.content) == 2


@pytest.mark.parametrize(
    "block",
    [
        {"type": "refusal", "refusal": f"No: {FORGED} "}, {"type": "output_text", "text": f"{FORGED} "}, {"text": f"{FORGED} "},
        {"type": "text-plain", "text": f"{FORGED} "}, {"type": None, "text": f"{FORGED} "}, f"{FORGED} ",
    ],
)  # fmt: skip
def test_words_in_a_block_of_any_type_are_verified_like_text(block):
    parts = [block, {"type": "text", "text": GOOD}]
    last = asked(agent_of(AIMessage(content=parts), retries=0)[0])[-1]
    assert "never.md" not in str(last.content)
    assert GOOD in last.content[0]["text"]
    report = last.response_metadata[REPORT]
    assert [it["reference"] for it in report["removed"]] == [FORGED]
    assert "left_out" not in report


@pytest.mark.parametrize(
    "block",
    [
        {"type": "non_standard", "value": {"text": FORGED}}, {"type": "text", "text": {"value": FORGED}}, {"type": ["text"], "text": FORGED},
        {"type": "thinking", "thinking": f"I cite {FORGED}", "signature": "x"}, {"type": "reasoning", "summary": [{"text": FORGED}]},
        {"type": "citations", "note": "of a type that nobody knows"},
    ],
)  # fmt: skip
def test_a_block_that_can_t_be_verified_is_left_out_and_reported(block):
    parts = [block, {"type": "text", "text": GOOD}]
    last = asked(agent_of(AIMessage(content=parts), retries=0)[0])[-1]
    assert last.content == [{"type": "text", "text": GOOD}]
    assert last.response_metadata[REPORT]["left_out"] == [str(block["type"])]


def test_thoughts_beside_the_content_and_notes_at_a_text_are_verified():
    noted = {"type": "text", "text": GOOD, "annotations": [{"title": FORGED}]}
    said = AIMessage(
        [noted], additional_kwargs={"reasoning_content": f"I cite {FORGED}", "n": [1, FORGED]}
    )
    last = asked(agent_of(said, retries=0)[0])[-1]
    assert "never.md" not in str((last.content, last.additional_kwargs, last.content_blocks))
    assert last.additional_kwargs["reasoning_content"].strip() == "I cite"


def test_a_call_of_a_tool_stays_as_it_is():
    call = {"type": "tool_use", "id": "1", "name": "retrieve_knowledge", "input": {"query": FORGED}}
    calls = [{"name": "retrieve_knowledge", "args": {"query": FORGED}, "id": "1"}]
    model = Saying(
        messages=iter(
            [AIMessage([{"type": "text", "text": "Hm"}, call], tool_calls=calls), AIMessage(GOOD)]
        )
    )
    tool = KnowledgeTool(retrieval=Answering(FOUND))
    agent = create_agent(model, [tool], middleware=[VerifiedAnswers()])
    assert asked(agent)[1].content[1] == call


def test_no_stream_of_the_graph_shows_words_before_they_are_verified():
    agent, model = agent_of(AIMessage(f"{GOOD} {FORGED}"), AIMessage(f"{GOOD} {FORGED}"))
    state = {"messages": [HumanMessage("How do we fail over?")]}
    shown, updated = "", ""
    for mode, part in agent.stream(state, stream_mode=["messages", "updates"]):
        if mode == "messages":
            shown += str(part[0].content) if part[0].type != "tool" else ""
        elif "model" in part:
            updated += "".join(str(it.content) for it in part["model"]["messages"])
    assert len(model.told) == 3
    for text in (shown, updated):
        assert GOOD in text
        assert "never.md" not in text


def test_evidence_of_an_earlier_turn_counts_after_a_checkpoint():
    serializer = JsonPlusSerializer(allowed_msgpack_modules=[Status, Reason, DropReason])
    model = Saying(messages=iter([SEARCH, AIMessage(GOOD), AIMessage(GOOD), AIMessage("Bye.")]))
    tool = KnowledgeTool(retrieval=Answering(FOUND))
    agent = create_agent(
        model, [tool], middleware=[VerifiedAnswers()], checkpointer=InMemorySaver(serde=serializer)
    )
    config = {"configurable": {"thread_id": "INC-1"}}
    said = [
        agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1]
        for text in ("How do we fail over?", "Again?", "Thanks.")
    ]
    assert [it.content for it in said] == [GOOD, GOOD, "Bye."]
    assert [REPORT in it.response_metadata for it in said] == [True, True, False]
    assert (
        list(chain.from_iterable(it.response_metadata[REPORT]["removed"] for it in said[:2])) == []
    )
