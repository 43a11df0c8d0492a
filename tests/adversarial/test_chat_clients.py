"""Hostile answers through the APIs of chat clients, whole and streamed: no citation without lines, each where it says."""

from __future__ import annotations

import asyncio
import json
import os
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import httpx
import pytest
from markdown_it import MarkdownIt

from knowledge_rag.channel.message import BY_MODEL
from knowledge_rag.console.app import create_console
from knowledge_rag.console.limits import MAX_ASKS
from knowledge_rag.console.model_formats import FORMS
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.orchestrator.advisors.advisor import Advice
from tests.adversarial.answers import FAMILIES, hostile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.adversarial.shelf import Shelf

pytestmark = pytest.mark.no_cover

ANSWERS = int(os.environ.get("CHAT_ANSWERS", "240"))
"""Of all families together; fewer are the first of more."""
PARTS = 4
OWN = "http://127.0.0.1:8320"
CHAT, RESPONSES, MESSAGES = FORMS
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
LINES = re.compile(r"L(\d+)-L(\d+)")


class Scripted:
    """Retrieves the evidence, and writes the answer piece by piece, of the case that the question names."""

    def __init__(self):
        self.cases: dict[str, tuple[str, Shelf, Any]] = {}

    def take(self, family, index, shelves):
        """Take a hostile answer as a case, and return its question; ``None`` if there is nothing to show."""
        (answer, _), shelf, rng = hostile(family, index, shelves)
        if not shelf.results or not answer.strip():
            return None
        if index % 2:  # with a step that cites, the rest of the answer is shown, too
            answer = f"1. Look at it. {shelf.entries[0].human()}\n\n{answer}"
        name = f"the question {index} of all"
        self.cases[name] = answer, shelf, rng
        return name

    def _case(self, text: str):
        (found,) = (case for name, case in self.cases.items() if name in text)
        return found

    async def retrieve(self, query):
        results = self._case(query.text)[1].results
        if query.source_file is not None:
            results = tuple(it for it in results if it.citation.source_file == query.source_file)
        return RetrievalOutcome(Status.OK if results else Status.NO_MATCH, results)

    async def advise(self, incident, findings):
        return Advice(self._case(incident.title)[0], findings, "scripted")

    async def advise_live(self, incident, findings, listener):
        answer, _, rng = self._case(incident.title)
        start = 0
        while start < len(answer):
            end = start + rng.randint(1, 40)
            listener.wrote(answer[start:end], findings)
            start = end
            await asyncio.sleep(0)
        return await self.advise(incident, findings)


def place_in(address: str) -> tuple[str, int, int]:
    parts = urlsplit(address)
    first, last = LINES.fullmatch(parts.fragment).groups()
    return unquote(parts.path.removeprefix("/doc/")), int(first), int(last)


def streamed(response: httpx.Response) -> list[Mapping[str, Any]]:
    lines = response.text.split("\n")
    data = [it.removeprefix("data: ") for it in lines if it.startswith("data: ")]
    return [json.loads(it) for it in data if it != "[DONE]"]


Read = tuple[str, list[tuple[int, int, str]]]
"""A text, and start, end and address of each citation in it."""


def chat(whole: Mapping[str, Any], events: list[Mapping[str, Any]]) -> Iterator[Read]:
    messages = [whole["choices"][0]["message"]]
    deltas = [it["choices"][0]["delta"] for it in events]
    text = "".join(it.get("content") or "" for it in deltas)
    messages.append(
        {
            "content": text,
            "annotations": [one for it in deltas for one in it.get("annotations", ())],
        }
    )
    for one in messages:
        cited = [it["url_citation"] for it in one.get("annotations", ())]
        yield one["content"], [(it["start_index"], it["end_index"], it["url"]) for it in cited]


def responses(whole: Mapping[str, Any], events: list[Mapping[str, Any]]) -> Iterator[Read]:
    text = "".join(it["delta"] for it in events if it["type"] == "response.output_text.delta")
    added = [it["annotation"] for it in events if it["type"].endswith("annotation.added")]
    parts = [whole["output"][0]["content"][0], {"text": text, "annotations": added}]
    parts.append(events[-1]["response"]["output"][0]["content"][0])
    for one in parts:
        cited = [(it["start_index"], it["end_index"], it["url"]) for it in one["annotations"]]
        yield one["text"], cited


def messages(whole: Mapping[str, Any], events: list[Mapping[str, Any]]) -> Iterator[Read]:
    blocks: dict[int, dict[str, Any]] = {}
    for it in events:
        if it["type"] == "content_block_delta":
            block = blocks.setdefault(it["index"], {"text": "", "citations": []})
            block["text"] += it["delta"].get("text", "")
            block["citations"] += [it["delta"]["citation"]] if "citation" in it["delta"] else []
    for one in (whole["content"], list(blocks.values())):
        text, cited = "", []
        for block in one:
            text += block["text"]
            for citation in block["citations"] or ():
                shown = re.search(r"\[\\\[\d+\\\]\]\(<[^>]*>\)\Z|\[\d+\]\Z", block["text"])
                cited.append((len(text) - len(shown[0]), len(text), citation["source"]))
        yield text, cited


READERS = {CHAT: chat, RESPONSES: responses, MESSAGES: messages}


def wrong(read: Read, shelf: Shelf) -> Iterator[str]:
    """Yield what is wrong with a reply: with its citations, its offsets, and as a Markdown reader shows it."""
    text, cited = read
    for start, end, url in cited:
        shown = re.fullmatch(r"\[\\\[(\d+)\\\]\]\(<(.*)>\)|\[(\d+)\]", text[start:end])
        if shown is None or (shown[2] or url) != url:
            yield f"{start}-{end} is {text[start:end]!r}"
        elif not url.startswith(f"{OWN}/doc/") or not shelf.holds(*place_in(url)):
            yield f"cites {url}"
    if any(end > start for (_, end, _), (start, _, _) in pairwise(cited)):
        yield "citations overlap"
    blocks = READER.parse(text)
    pieces = [it for block in blocks for it in (block, *(block.children or ()))]
    links = [it.attrs["href"] for it in pieces if it.type == "link_open"]
    known = {url for _, _, url in cited}
    yield from (f"a link to {it}" for it in links if it not in known)
    if {it.type for it in pieces} & {"image", "html_inline", "html_block"}:
        yield "an image or HTML"
    body = text.partition(f"**{BY_MODEL}**\n\n")[2].partition("\n\n**Sources**")[0]
    yield from (f"not quoted: {line!r}" for line in body.split("\n") if line and line[0] != ">")


@pytest.mark.parametrize("part", range(PARTS))
def test_no_hostile_answer_brings_a_citation_or_a_link_of_its_own_to_a_chat_client(part, shelves):
    scripted, families, problems = Scripted(), sorted(FAMILIES), []
    app = create_console(scripted, None, {"scripted": scripted})
    tried = cited = 0

    async def ask(client, index):
        nonlocal tried, cited
        name = scripted.take(families[index % len(families)], index, shelves)
        if name is None:
            return
        shelf = scripted.cases[name][1]
        path = list(FORMS)[index % len(FORMS)]
        turns = [{"role": "user", "content": name}]
        body = {"model": "knowledge-rag", ("input" if path == RESPONSES else "messages"): turns}
        whole, parts = [await client.post(path, json=body | {"stream": it}) for it in (False, True)]
        assert (whole.status_code, parts.status_code) == (200, 200), whole.text
        reads = list(READERS[path](whole.json(), streamed(parts)))
        problems.extend(f"{index}: {it}" for one in reads for it in wrong(one, shelf))
        if any(one != reads[0] for one in reads[1:]):
            problems.append(f"{index}: streamed otherwise than whole")
        del scripted.cases[name]
        tried += 1
        cited += len(reads[0][1])

    async def all_of_them():
        room = asyncio.Semaphore(MAX_ASKS // 2)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:

            async def one(index):
                async with room:
                    await ask(client, index)

            await asyncio.gather(*map(one, range(part, ANSWERS, PARTS)))

    asyncio.run(all_of_them())
    assert not problems, problems[:3]
    assert tried > ANSWERS // PARTS // 2
    assert cited > tried // 2  # honest references stand beside the fabricated ones
