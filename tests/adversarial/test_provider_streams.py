"""Hostile answers, streamed in providers' wire formats through their unmodified SDKs: no citation comes of them."""

import asyncio
import os
from contextlib import closing

import pytest

from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.evaluation.faults.server import serving
from knowledge_rag.orchestrator.advisors.chat_model import ChatModelAdvisor, chat_model
from knowledge_rag.orchestrator.consultation import advise_on
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.oracle import judge
from tests.adversarial.reading import VIEWS
from tests.support.advisors import INCIDENT
from tests.support.providers import PROVIDERS

ANSWERS = int(os.environ.get("PROVIDER_ANSWERS", "300"))
"""Of all providers together; each has a seed of its own, so fewer are the first of more."""
AT_ONCE = 4


class Playing:
    """Answers each question with the text that its incident's title names."""

    def __init__(self, provider):
        self.provider = provider
        self.texts = {}

    def __call__(self, sock, server):
        _, body = server.read_request(sock)
        (text,) = (text for name, text in self.texts.items() if name.encode() in body)
        sock.sendall(self.provider.answer(text))


@pytest.mark.parametrize("part", range(3))
@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
def test_no_hostile_answer_gets_a_citation_past_the_verifier(provider, part, shelves, monkeypatch):
    playing, count = Playing(provider), -(-ANSWERS // len(PROVIDERS) // 3)
    families, tried, cited, wrong = sorted(FAMILIES), 0, 0, []

    async def ask(advisor, number):
        nonlocal tried, cited
        index = part * count + number
        (answer, _), shelf, _ = hostile(families[index % len(families)], index, shelves)
        if not shelf.results or not answer.strip():
            return
        name = f"the question {index} of all"
        playing.texts[name] = answer
        outcome = RetrievalOutcome(Status.OK, shelf.results)
        findings = Findings((Asked(Query("why?"), outcome),))
        events = []
        incident = type(INCIDENT)(title=name)
        given = await advise_on(incident, findings, advisor, notify=events.append)
        del playing.texts[name]
        if given.advice is None or given.advice.text != answer:
            wrong.append(f"{index}: came as {given.advice} instead of {answer!r}")
            return
        tolerated = judge(given.verified, shelf, VIEWS[index % len(VIEWS)])
        wrong.extend(f"{index}: {one}" for one in tolerated.violations)
        shown = [it["citation"] for it in _streamed(events)]
        shown += [it["citation"] for it in _steps(given.recommendation.to_dict())]
        for it in shown:
            lines = it["source_file"], it["start_line"], it["end_line"]
            cited += 1
            if not shelf.holds(*lines):
                wrong.append(f"{index}: cites {lines}")
        tried += 1

    async def all_of_them(advisor):
        room = asyncio.Semaphore(AT_ONCE)

        async def one(number):
            async with room:
                await ask(advisor, number)

        await asyncio.gather(*map(one, range(count)))

    with serving(playing) as server:
        for name, value in provider.environment.items():
            monkeypatch.setenv(name, value.format(url=server.url))
        with closing(ChatModelAdvisor(chat_model(f"{provider.name}:m"), "")) as advisor:
            asyncio.run(all_of_them(advisor))
    assert not wrong, wrong[:3]
    assert tried > count / 2
    assert cited  # honest references stand beside the fabricated ones


def _streamed(events):
    """Yield the citations that a reader sees while the answer arrives, also such as are taken back later."""
    for event in events:
        for part in event.get("parts", ()):
            yield from part.get("citations", ())


def _steps(body):
    given = body["recommendation"]
    for part in (*given["guidance"], *given["similar_incidents"]):
        yield {"citation": part["citation"]}
        yield from ({"citation": it} for it in part.get("further_citations", ()))
