"""Hostile answers over A2A, whole and streamed: no citation without lines, and no link that isn't ours."""

from __future__ import annotations

import asyncio
import os

import httpx
import pytest

from knowledge_rag.console.agent_api import Agents
from knowledge_rag.console.app import ConsoleSettings, create_console
from knowledge_rag.console.limits import MAX_AGENT_ASKS
from tests.adversarial.answers import FAMILIES
from tests.adversarial.test_chat_clients import OWN, Scripted, wrong
from tests.support.a2a_served import talking, told

pytestmark = pytest.mark.no_cover

ANSWERS = int(os.environ.get("AGENT_ANSWERS", "240"))
"""Of all families together; fewer are the first of more."""
PARTS = 4


def wrong_data(came, shelf):
    """Yield what is wrong with the citations of the data, which the text's have to be."""
    for one in came.data["citations"]:
        place = one["source_file"], int(one["start_line"]), int(one["end_line"])
        if not shelf.holds(*place):
            yield f"cites {place}"
        elif one["url"].rpartition("#")[2] != f"L{place[1]}-L{place[2]}":
            yield f"leads to {one['url']}"
    numbers = [it["number"] for it in came.data["citations"]]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"numbers {numbers}"


def cited_in(came):
    """Return the text, with the place of each citation in it, as the data has it."""
    marks = {
        f"[\\[{it['number']:.0f}\\]](<{it['url']}>)": it["url"] for it in came.data["citations"]
    }
    places = []
    for mark, url in marks.items():
        start = came.text.find(mark)
        while start >= 0:
            places.append((start, start + len(mark), url))
            start = came.text.find(mark, start + 1)
    return came.text, sorted(places)


@pytest.mark.parametrize("part", range(PARTS))
def test_no_hostile_answer_brings_a_citation_or_a_link_of_its_own_to_an_agent(part, shelves):
    scripted, families, problems, agents = Scripted(), sorted(FAMILIES), [], []
    tried = cited = 0

    def made(asker):
        agents.append(Agents(asker))
        return agents[0]

    app = create_console(scripted, None, {"scripted": scripted}, ConsoleSettings(agents=made))

    async def ask(clients, index):
        nonlocal tried, cited
        name = scripted.take(families[index % len(families)], index, shelves)
        if name is None:
            return
        shelf = scripted.cases[name][1]
        whole, streamed = [await told(client, name) for client in clients]
        read = cited_in(whole)
        problems.extend(f"{index}: {it}" for it in wrong(read, shelf))
        problems.extend(f"{index}: {it}" for it in wrong_data(whole, shelf))
        if (whole.text, whole.data) != (streamed.text, streamed.data):
            problems.append(f"{index}: streamed otherwise than whole")
        del scripted.cases[name]
        tried += 1
        cited += len(read[1])

    async def all_of_them():
        room = asyncio.Semaphore(MAX_AGENT_ASKS)
        async with (
            talking(OWN, transport=httpx.ASGITransport(app)) as (first, _),
            talking(OWN, transport=httpx.ASGITransport(app), streaming=True) as (second, _),
        ):

            async def one(index):
                async with room:
                    await ask((first, second), index)

            await asyncio.gather(*map(one, range(part, ANSWERS, PARTS)))
        await agents[0].aclose()

    asyncio.run(all_of_them())
    assert not problems, problems[:3]
    assert tried > ANSWERS // PARTS // 2
    assert cited > tried // 2  # honest references stand beside the fabricated ones
