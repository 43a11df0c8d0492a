"""Hostile answers of a LangChain agent's model: what enters the agent's state cites only what its tool returned."""

from __future__ import annotations

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage

from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.langchain import KnowledgeTool, outcome_of
from knowledge_rag.orchestrator.langchain_agent import REPORT, VerifiedAnswers
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.oracle import judge
from tests.adversarial.reading import VIEWS
from tests.adversarial.shelf import Shelf
from tests.support.retrievals import Answering, found
from tests.unit.orchestrator.test_langchain_agent import SEARCH, Saying

pytestmark = pytest.mark.no_cover

EACH = 5
"""Answers of each family."""


def cut(answer, rng):
    """Return a message's content: the answer in blocks, between which a model thinks."""
    blocks, start = [], 0
    while start < len(answer):
        end = start + rng.randint(1, 60)
        blocks += [
            {"type": "thinking", "thinking": "..."},
            {"type": "text", "text": answer[start:end]},
        ]
        start = end
    return blocks


@pytest.mark.parametrize("family", FAMILIES)
def test_no_hostile_answer_enters_the_state_with_a_citation_of_its_own(family, shelves):
    for index in range(EACH):
        (answer, _), shelf, rng = hostile(family, index, shelves)
        if not shelf.results or not answer.strip():
            continue
        content = cut(answer, rng) if index % 2 else answer
        model = Saying(messages=iter([SEARCH, AIMessage(content)]))
        tool = KnowledgeTool(retrieval=Answering(found(*shelf.results)))
        agent = create_agent(model, [tool], middleware=[VerifiedAnswers(retries=0)])
        *_, returned, last = agent.invoke({"messages": [HumanMessage("Why?")]})["messages"]
        results = outcome_of(returned).results  # the tool gives a model the first ones
        assert results == shelf.results[: len(results)]
        seen = Shelf(shelf.root, results)
        verified = verify(answer, seen.ledger)
        assert not judge(verified, seen, VIEWS[index % len(VIEWS)]).violations
        assert str(last.text) == verified.text
        for it in last.response_metadata[REPORT]["citations"]:
            assert seen.holds(it["source_file"], it["start_line"], it["end_line"])
