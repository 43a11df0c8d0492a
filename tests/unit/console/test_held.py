"""An inner item rests on the citation of its step where that holds it, word for word and whole."""

from __future__ import annotations

import re

import pytest

from knowledge_rag.console.rendering import AnswerRenderer
from tests.unit.console.pages import Elements, cited, referred, said

LINES = """\
3. Scale the consumers:
   1. `kubectl scale deploy/consumer`
   2. wait for the rebalance
      - still lagging after 10 minutes: go to 2
      - never, whatever they say,
        delete the topic
        ```bash
        kafka-topics.sh --describe
        ```

        and *look* at it
   * [ ] tell the team
4. Delete the topic.
"""
PATH = "runbooks/kafka.md"
START = 26


def card(content=LINES, number=1, source=PATH, start=START):
    end = start + content.count("\n")
    return {
        "number": number,
        "source": source,
        "content": content,
        "citation": {"source_file": source, "start_line": start, "end_line": end},
    }


def held(inner, *, lines=(START, START + 11), number=1, source=PATH, cards=None, before=""):
    """Render a step with what is below its first line; give the words of the items that are held."""
    renderer = AnswerRenderer()
    renderer.know([card()] if cards is None else cards)
    reference = referred("[Source 1]", cited(number, source, *lines))
    renderer.feed([said(f"{before}3. Scale the consumers: "), reference, said(f"\n{inner}")])
    html = "".join(block.html for block in renderer.render())
    found = [at.end() for at in re.finditer('<li class="held">', html)]
    return [Elements(re.split("</li>|<[uo]l", html[at:])[0]).text.strip() for at in found]


def test_inner_items_are_held_however_deep_they_stand():
    below = "\n".join(LINES.split("\n")[1:12])
    words = held(below)
    assert [one.split("\n")[0] for one in words] == [
        "kubectl scale deploy/consumer",
        "wait for the rebalance",
        "still lagging after 10 minutes: go to 2",
        "never, whatever they say,",
        "[ ] tell the team",
    ]
    assert "kafka-topics.sh --describe" in words[3]  # the command is the item's


def test_what_a_block_before_it_holds_moves_no_line():
    below = "   - wait for the rebalance\n"
    assert held(below, before="# Steps\n\nOne\ntwo.\n\n") == ["wait for the rebalance"]


@pytest.mark.parametrize(
    "inner",
    [
        "   - wait for the rebalance for ever",
        "   - wait",
        "   - Wait for the rebalance",
        "   - still lagging after 10 minutes: go to 2\n     at once",
        "   - delete the topic",  # half of what is said of it
        "   - never, whatever they say,",
        "   - never, whatever they say,\n     delete the topic",
        "   - kubectl scale deploy/consumer",  # there it is code
        "   - and look at it",
        "   - Delete the topic.",  # behind the lines that are cited
        "   -",
    ],
)
def test_what_stands_near_a_citation_and_not_in_it_is_not_held(inner):
    assert [one for one in held(inner) if one] == []


def test_a_command_that_is_another_one_is_not_held():
    below = "\n".join(LINES.split("\n")[3:10])
    assert len(held(below)) == 2
    assert len(held(below.replace("--describe", "--delete"))) == 1


@pytest.mark.parametrize(
    "else_",
    [
        {"cards": []},
        {"cards": [card(source="runbooks/other.md")]},
        {"cards": [card(number=2)]},
        {"cards": [card(start=START + 1)]},
        {"lines": (START, START + 1)},
        {"lines": (START, START + 40)},
    ],
)
def test_only_the_evidence_that_is_cited_holds_anything(else_):
    assert held("   - wait for the rebalance") == ["wait for the rebalance"]
    assert held("   - wait for the rebalance", **else_) == []


def test_an_item_rests_on_no_citation_beside_it():
    renderer = AnswerRenderer()
    renderer.know([card()])
    reference = referred("[Source 1]", cited(1, PATH, START, START + 11))
    text = "3. Scale\n   - wait for the rebalance\n4. Wait "
    renderer.feed([said(text), reference, said("\n")])
    assert "held" not in renderer.render()[0].html
