"""Questions: read from a request, answered as a stream of events."""

from __future__ import annotations

import asyncio
import json

import pytest

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.answers import Answers
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.limits import MAX_ASKS
from knowledge_rag.console.metrics import ConsoleMetrics
from knowledge_rag.console.questions import Asker, Question, read_question
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.advisors.advisor import Advice, ExtractiveAdvisor
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.queries import build_queries
from tests.support.evidence import passage
from tests.support.local import PROJECT
from tests.support.retrievals import DOWN, NOTHING, Answering, Waiting
from tests.unit.console.kept import Folder, Shelf

ADVISORS = ["converse", "extractive"]


def test_a_question_is_one_line_and_the_first_advisor_writes():
    question = read_question({"question": "  How\nto  fail\tover? "}, ADVISORS)
    assert question == Question("How to fail over?", "converse", {})


def test_filters_and_the_advisor_are_taken_and_blank_ones_left_out():
    body = {"question": "q", "document_type": "runbook", "service": " ", "advisor": "extractive"}
    assert read_question(body, ADVISORS) == Question(
        "q", "extractive", {"document_type": "runbook"}
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "question is missing"),
        ({"question": " \n"}, "question is missing"),
        ({"question": "\u202e\u200b"}, "no letter or digit"),
        ({"question": 7}, "question must be text"),
        ({"question": "x" * (MAX_QUERY_CHARACTERS + 1)}, "20001 characters, allowed: 20000"),
        ({"question": "q", "document_type": "novel"}, "document_type must be one of"),
        ({"question": "q", "service": "x" * 201}, "service has 201 characters"),
        ({"question": "q", "service": ["rds"]}, "service must be text"),
        ({"question": "q", "advisor": "oracle"}, "advisor must be one of converse, extractive"),
        ({"question": "q", "sevrice": "rds"}, "unknown member 'sevrice'"),
        ({"question": "q", "source_file": "a.md"}, "unknown member 'source_file'"),
    ],
)
def test_what_is_no_question_is_refused_in_words(body, message):
    with pytest.raises(Refused, match=message) as refused:
        read_question(body, ADVISORS)
    assert refused.value.status == 400


def test_earlier_incidents_are_asked_for_beside_the_question():
    own, past = Question("disk full", "extractive").queries()
    assert (own.text, own.filters) == ("disk full", {})
    assert past.text.startswith("disk full")
    assert past.filters == {"document_type": "postmortem"}


def test_a_filter_holds_for_every_query():
    queries = Question("disk full", "extractive", {"service": "rds"}).queries()
    assert {query.filters.get("service") for query in queries} == {"rds"}
    for kind in ("runbook", "postmortem", "web"):
        queries = Question("disk full", "extractive", {"document_type": kind}).queries()
        assert {query.filters["document_type"] for query in queries} == {kind}
        assert len({query.text for query in queries}) == len(queries)


PAYLOAD = (PROJECT / "tests/data/incidents/opsgenie-create.json").read_text()
TITLE = "CatalogWriterDown: the catalog has no writer for 4 minutes"


def test_it_is_listed_by_its_title_and_asked_about_as_an_incident():
    question = read_question({"question": f"see this:\n{PAYLOAD}"}, ["extractive"])
    assert question.text == TITLE
    assert question.incident.alert_name == "CatalogWriterDown"
    assert question.queries() == build_queries(question.incident)


def test_it_may_be_longer_than_a_question_and_a_question_may_not():
    long = PAYLOAD.replace("{", "{" + " " * MAX_QUERY_CHARACTERS, 1)
    assert read_question({"question": long}, ["extractive"]).text == TITLE
    with pytest.raises(Refused, match="characters, allowed: 20000"):
        read_question({"question": "a {" + "x" * MAX_QUERY_CHARACTERS}, ["extractive"])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ('{"alerts": [{"labels": {"alertname": "Dis', "broken or cut off at line 1, column 38"),
        ('[\n {"a"', "broken or cut off at line 2, column 6"),
        ('{"a": 1}', "names nothing to look up; supported: incident, signals"),
        ("{}", "names nothing to look up"),
        ("[" * 5000, "can't be read: ask in words"),
    ],
)
def test_json_that_is_no_alert_is_refused_and_never_a_question(asked, message):
    with pytest.raises(Refused, match=message):
        read_question({"question": asked}, ["extractive"])


def test_a_title_in_brackets_is_a_question_in_words():
    question = read_question({"question": "[FIRING:1] DiskFull on web-1"}, ["extractive"])
    assert question == Question("[FIRING:1] DiskFull on web-1", "extractive")


def test_a_filter_holds_for_every_query_of_a_pasted_incident():
    body = {"question": PAYLOAD, "service": "rds", "document_type": "runbook"}
    queries = read_question(body, ["extractive"]).queries()
    assert [query.filters for query in queries] == [
        {"service": "rds", "document_type": "runbook"}
    ] * 2


def test_an_alert_without_a_title_is_listed_by_what_it_has():
    asked = '{"signals": ["disk 97 %"]}'
    assert read_question({"question": asked}, ["extractive"]).text == "disk 97 %"
    asked = '{"alert_name": "DiskFull", "title": "/data"}'
    assert read_question({"question": asked}, ["extractive"]).text == "DiskFull"


def group(*names):
    labels = [{"labels": {"alertname": name}, "status": "firing"} for name in names]
    return json.dumps({"receiver": "on-call", "status": "firing", "alerts": labels})


def asked_about(body):
    retrieval = Answering(NOTHING)
    advisors = {"extractive": ExtractiveAdvisor()}
    asker = Asker(retrieval, advisors, KeptDocuments(Shelf()), Answers(), ConsoleMetrics("now"))

    async def events():
        question = read_question(body, advisors)
        return [(event.event, json.loads(event.data)) async for event in asker.begin(question)]

    return asyncio.run(events()), retrieval.asked


def test_of_a_group_each_alert_is_asked_for_by_its_own_words():
    _, asked = asked_about({"question": group("DiskFull", "QueueStuck")})
    own = [query.text for query in asked]
    assert len(own) == 2
    assert "DiskFull" in own[0]
    assert "QueueStuck" in own[1]


def test_a_filter_holds_for_every_alert_of_a_group():
    filters = {"service": "rds", "document_type": "runbook"}
    _, asked = asked_about({"question": group("DiskFull", "QueueStuck"), **filters})
    assert [query.filters for query in asked] == [filters] * 2


def test_a_payload_is_shown_as_an_alert_from_the_start():
    events, _ = asked_about({"question": group("DiskFull", "QueueStuck")})
    card = events[0][1]["incident"]
    assert card["name"] == "2 alerts: DiskFull, QueueStuck"
    assert [one["name"] for one in card["alerts"]] == ["DiskFull", "QueueStuck"]
    events, _ = asked_about({"question": "disk full"})
    assert "incident" not in events[0][1]


def test_the_title_of_a_large_group_names_the_first_alerts():
    named = read_question({"question": group(*"ABCDEFG")}, ["extractive"]).text
    assert named == "7 alerts: A, B, C, D, E and 2 more"


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


def test_a_limit_of_tokens_is_kept_by_what_is_streamed():
    def streamed(**more):
        question = read_question({"question": QUESTION.text, **more}, ["extractive"])

        async def ask():
            return [it async for it in asker_of(Answering(FOUND)).events(question)]

        return "".join(data["text"] for name, data in asyncio.run(ask()) if name == "chunk")

    assert "Promote the replica" in streamed(max_tokens=1_000)
    assert streamed(max_tokens=1_000) == streamed()
    assert "Promote the replica" not in streamed(max_tokens=100)
    for wrong in (99, -1, True, "200"):
        with pytest.raises(Refused, match="max_tokens must be a whole number"):
            streamed(max_tokens=wrong)
