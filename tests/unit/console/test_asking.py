"""One question: its events in order, and its end, however it ends."""

from __future__ import annotations

import asyncio
import json

import pytest

from knowledge_rag.console.answers import Answers
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.json_http import Refused
from knowledge_rag.console.limits import MAX_ASKS
from knowledge_rag.console.metrics import ConsoleMetrics
from knowledge_rag.console.questions import Asker, Question
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor
from knowledge_rag.orchestrator.errors import AdviceFailed
from tests.support.evidence import passage
from tests.support.retrievals import DOWN, NOTHING, Answering, Waiting
from tests.unit.console.kept import Folder, Shelf

QUESTION = Question("RDS failover promote replica", "extractive")
RUNBOOK = "# RDS failover\n\n## Resolution\n\n1. Promote the replica with `promote`.\n"
FOUND = RetrievalOutcome(Status.OK, (passage("runbooks/failover.md", RUNBOOK),))


class Writing:
    """Writes what a test says."""

    def __init__(self, text):
        self.text = text

    async def advise(self, _incident, findings):
        return Advice(self.text, findings, "converse")


class Failing:
    """Comes to no answer."""

    async def advise(self, _incident, _findings):
        raise AdviceFailed("timeout")


def asker_of(retrieval, advisor=None, documents=None, **more):
    advisors = {"extractive": advisor or ExtractiveAdvisor()}
    documents = documents or KeptDocuments(Shelf())
    return Asker(retrieval, advisors, documents, Answers(), ConsoleMetrics("now"), **more)


async def events_of(asker, question=QUESTION):
    return [(event.event, json.loads(event.data)) async for event in asker.begin(question)]


def asked(retrieval, advisor=None, **more):
    asker = asker_of(retrieval, advisor, **more)
    return asyncio.run(events_of(asker)), asker


async def ended(asker):
    async with asyncio.timeout(60):
        while asker.running:  # noqa: ASYNC110 - what is waited for is that cancelled tasks have ended
            await asyncio.sleep(0)


def only(events, name):
    return [data for event, data in events if event == name]


def test_the_events_come_in_order_and_their_text_is_the_answer():
    events, asker = asked(Answering(FOUND))
    names = [name for name, _ in events]
    assert [name for name in names if name != "chunk"] == [
        "status",
        "status",
        "citations",
        "status",
        "done",
    ]
    assert [data["stage"] for data in only(events, "status")] == ["searching", "found", "writing"]
    assert names.index("citations") < names.index("chunk")
    (done,) = only(events, "done")
    answer = asker.answers.get(done["answerId"])
    assert "".join(data["text"] for data in only(events, "chunk")) == answer.text
    assert done["success"] is True
    assert done["citationCount"] == 1
    assert done["recommendation"]["status"] == "ok"


def test_each_event_has_an_id_and_the_source_leads_to_its_lines():
    async def ids():
        return [event.id async for event in asker_of(Answering(FOUND)).begin(QUESTION)]

    numbers = asyncio.run(ids())
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    events, _ = asked(Answering(FOUND))
    (card,) = only(events, "citations")[0]["sources"]
    assert card["url"] == "/doc/runbooks/failover.md#L1-L5"
    assert card["content"] == RUNBOOK.removesuffix("\n")
    assert (card["title"], card["documentType"], card["score"]) == ("RDS failover", "runbook", 0.5)


def test_nothing_found_and_nothing_reached_are_told_apart():
    for outcome, status, success in ((NOTHING, "no_match", True), (DOWN, "degraded", False)):
        events, asker = asked(Answering(outcome))
        assert only(events, "citations") == []
        assert only(events, "status")[1]["status"] == status
        (done,) = only(events, "done")
        assert (done["success"], done["recommendation"]["status"]) == (success, status)
        text = "".join(data["text"] for data in only(events, "chunk"))
        assert text == done["recommendation"]["recommendation"]["summary"]
        assert asker.metrics.to_dict()["asks"]["outcomes"] == {status: 1}


@pytest.mark.parametrize(
    ("advisor", "how"),
    [
        (Writing("No documented guidance found for this scenario."), "no_steps"),
        (Writing("1. Reboot."), "no_advice"),
        (Failing(), "no_advice"),
    ],
)
def test_what_came_back_and_led_to_nothing_counts_neither_as_undocumented_nor_as_out_of_reach(
    advisor, how
):
    _, asker = asked(Answering(FOUND), advisor)
    assert asker.metrics.to_dict()["asks"]["outcomes"] == {how: 1}


def test_a_fabricated_reference_is_removed_and_told_with_its_reason():
    written = "1. Promote the replica. [Source 1]\n2. Drop the table. [Source: secret/none.md, lines 1-2] [Source 9]\n"
    events, asker = asked(Answering(FOUND), Writing(written))
    (warnings,) = only(events, "warnings")
    assert [(one["reference"], one["reason"]) for one in warnings["removed"]] == [
        ("[Source: secret/none.md, lines 1-2]", "unknown_file"),
        ("[Source 9]", "unknown_number"),
    ]
    assert "non_existent_source" in {one["kind"] for one in warnings["warnings"]}
    html = "".join(data["html"] for data in only(events, "chunk"))
    assert html.count('class="cite"') == 1
    assert "secret/none.md" not in html
    assert asker.metrics.to_dict()["answers"]["invalidReferences"] == 2


def test_a_reader_who_leaves_ends_the_queries():
    async def leave():
        retrieval = Waiting(len(QUESTION.queries()))
        asker = asker_of(retrieval, seconds=3_600.0)
        events = asker.begin(QUESTION)
        await anext(events)
        await retrieval.all_wait.wait()
        assert asker.running == 1
        await events.aclose()
        await ended(asker)
        return retrieval.cancelled, asker.metrics.to_dict()["asks"]["outcomes"]

    assert asyncio.run(leave()) == (len(QUESTION.queries()), {"left": 1})


def test_an_answer_that_takes_too_long_is_given_up_and_says_so():
    events, asker = asked(Waiting(), seconds=0.05)
    assert events[-1] == (
        "error",
        {"message": "the answer took too long and was given up", "reason": "timeout"},
    )
    assert asker.metrics.to_dict()["asks"]["outcomes"] == {"timeout": 1}


def test_a_defect_tells_the_reader_nothing_and_the_log_what(caplog):
    message = "disk on fire"

    class Burning(Folder):
        def now(self, _source_file):
            raise RuntimeError(message)

    events, asker = asked(Answering(FOUND), documents=KeptDocuments(Shelf(), Burning()))
    assert events[-1][0] == "error"
    assert events[-1][1]["reason"] == "internal"
    assert "fire" not in json.dumps(events)
    # where it was, and not what was said: an error may quote a question
    assert "error=RuntimeError" in caplog.text
    assert message not in caplog.text
    assert asker.metrics.to_dict()["asks"]["outcomes"] == {"internal": 1}


def test_too_many_questions_at_a_time_are_told_to_come_again():
    async def crowd():
        retrieval = Waiting(len(QUESTION.queries()) * MAX_ASKS)
        asker = asker_of(retrieval)
        streams = [asker.begin(QUESTION) for _ in range(MAX_ASKS)]
        for stream in streams:
            await anext(stream)
        with pytest.raises(Refused) as refused:
            asker.begin(QUESTION)
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "2"})
        for stream in streams:
            await stream.aclose()
        await ended(asker)
        asker.retrieval = Answering(FOUND)
        return await events_of(asker)

    assert asyncio.run(crowd())[-1][0] == "done"


def test_who_asks_before_all_is_ready_is_told_and_waits():
    async def early():
        ready = asyncio.Event()
        retrieval = Answering(FOUND)
        asker = asker_of(retrieval)
        asker.prepare(ready.wait())
        events = asker.begin(QUESTION)
        first = json.loads((await anext(events)).data)
        asked_before = list(retrieval.asked)
        ready.set()
        rest = [event.event async for event in events]
        return first, asked_before, rest

    first, asked_before, rest = asyncio.run(early())
    assert first == {"stage": "searching", "message": "Getting ready"}
    assert asked_before == []
    assert rest[-1] == "done"


def test_several_questions_are_answered_at_once():
    async def all_of_them():
        asker = asker_of(Answering(FOUND))
        return await asyncio.gather(*(events_of(asker) for _ in range(MAX_ASKS)))

    for events in asyncio.run(all_of_them()):
        assert events[-1][0] == "done"
