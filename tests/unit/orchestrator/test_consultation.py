"""From an incident to a recommendation: queries side by side, completions, and each failure as what it is."""

import asyncio
import json

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.consultation import consult, sources_of
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.planning import COMPLETION_RESULTS
from knowledge_rag.orchestrator.recommendation import Concern, Shortfall, Strength
from knowledge_rag.orchestrator.retrieval import Asked, Findings, current_ids, on_behalf_of
from knowledge_rag.orchestrator.searches import MAX_COMPLETED
from knowledge_rag.orchestrator.showing import pieces_of
from knowledge_rag.orchestrator.wording import NO_ADVICE, NO_MATCH, UNREACHABLE
from tests.support.retrievals import DOWN, NOTHING, Answering, found, result
from tests.unit.orchestrator.evidence import RUNBOOK_RESULTS

INCIDENT = Incident(alert_name="RDS failover", service="quokka-db")
EVIDENCE = found(*RUNBOOK_RESULTS)


def ask(answer, advisor=None, incident=INCIDENT, **options):
    return asyncio.run(consult(incident, Answering(answer), advisor, **options))


class Writing:
    """Writes what it is told to, or raises it."""

    def __init__(self, written):
        self.written = written

    async def advise(self, _incident, findings):
        if isinstance(self.written, BaseException):
            raise self.written
        return self.written(findings) if callable(self.written) else self.written


def test_queries_meet_each_other_under_way():
    async def meet():
        meeting = asyncio.Barrier(3)  # who came one after the other would wait here for ever

        async def answer():
            async with asyncio.timeout(30):
                await meeting.wait()
            return EVIDENCE

        return await consult(
            INCIDENT, Answering(lambda query: NOTHING if query.source_file else answer())
        )

    findings = asyncio.run(meet()).findings
    assert [asked.outcome.status for asked in findings.asked] == [Status.OK] * 3


def test_documents_are_completed_side_by_side():
    async def meet():
        meeting = asyncio.Barrier(MAX_COMPLETED)

        async def answer():
            async with asyncio.timeout(30):
                await meeting.wait()
            return NOTHING

        others = found(*(result(number) for number in range(MAX_COMPLETED)))
        return await consult(
            INCIDENT, Answering(lambda query: answer() if query.source_file else others)
        )

    findings = asyncio.run(meet()).findings
    assert [it.outcome.status for it in findings.completions] == [Status.NO_MATCH] * MAX_COMPLETED


def test_more_results_of_a_query_than_it_asks_for_are_never_taken():
    calls = []

    def answer(query):
        calls.append(query)
        return found(*(result(1000 * len(calls) + number) for number in range(200)))

    findings = ask(answer).findings
    assert [query.max_results for query in calls] == [5] * 3 + [COMPLETION_RESULTS] * MAX_COMPLETED
    assert [len(asked.outcome.results) for asked in findings.asked] == [5] * 3
    assert all(len(it.outcome.results) <= COMPLETION_RESULTS for it in findings.completions)


def test_one_query_that_fails_does_not_cost_the_others_their_results():
    def answer(query):
        if query.filters.get("document_type") == "postmortem":
            raise RuntimeError("quokka-db")
        return EVIDENCE

    given = ask(answer).recommendation
    assert given.status is Status.OK
    assert [w.kind for w in given.warnings] == [Concern.INCOMPLETE_SEARCH]


def test_a_completion_that_fails_costs_no_step_that_was_found():
    def answer(query):
        if query.source_file:
            raise RuntimeError("quokka-db")
        return EVIDENCE

    given = ask(answer).recommendation
    assert given.status is Status.OK
    assert given.guidance
    assert given.evidence.strength is not Strength.STRONG


@pytest.mark.parametrize(
    ("answer", "status", "reason", "summary"),
    [
        (NOTHING, Status.NO_MATCH, None, NO_MATCH),
        (DOWN, Status.DEGRADED, Reason.UNAVAILABLE, UNREACHABLE),
        (None, Status.DEGRADED, Reason.INTERNAL, UNREACHABLE),
    ],
    ids=["nothing documented", "down", "broken"],
)
def test_nothing_documented_and_out_of_reach_are_told_apart(answer, status, reason, summary):
    given = ask(lambda _: answer).recommendation
    assert (given.status, given.reason, given.summary) == (status, reason, summary)
    assert not given.guidance


def test_an_incident_without_anything_to_ask_about_asks_nothing():
    retrieval = Answering(EVIDENCE)
    given = asyncio.run(consult(Incident(incident_id="INC-7"), retrieval)).recommendation
    assert (given.status, given.reasoning) == (Status.NO_MATCH, "There was nothing to ask about.")
    assert not retrieval.asked


def test_queries_say_which_incident_they_are_for():
    def answer(_):
        seen.append(dict(current_ids()))
        return NOTHING

    seen = []
    ask(answer, incident=Incident(incident_id="INC-7", alert_name="quokka-db"))
    with on_behalf_of(incident_id="INC-8", session_id="s-1"):
        ask(answer, incident=INCIDENT)
    assert (
        seen == [{"incident_id": "INC-7"}] * 2 + [{"incident_id": "INC-8", "session_id": "s-1"}] * 3
    )


def test_what_to_ask_may_be_given():
    (asked,) = ask(EVIDENCE, queries=(Query("anything", 2),)).findings.asked
    assert (asked.query.text, len(asked.outcome.results)) == ("anything", 2)


def test_what_the_checks_warn_of_is_logged_with_its_place_and_without_text(caplog):
    text = "1. Undoubtedly the quokka-db is gone [99]."
    given = ask(EVIDENCE, Writing(lambda findings: Advice(text, findings, "model")))
    assert [record.getMessage() for record in caplog.records] == [
        f"kind=<{it.kind}>, start=<{it.start}>, end=<{it.end}> | warning"
        for it in given.verified.warnings
    ]
    assert len(caplog.records) == 3
    assert "quokka" not in caplog.text


FAILING = {
    "says so": AdviceFailed("the model was busy"),
    "raises": RuntimeError("quokka-db"),
    "recurses": RecursionError(),
    "out of memory": MemoryError(),
    "raises several": ExceptionGroup("quokka-db", [ValueError()]),
    "cancels itself": asyncio.CancelledError(),
    "gives nothing": None,
    "gives a text": "text",
    "gives no findings": lambda _: Advice("1. Step [1]", None, "broken"),
}


@pytest.mark.parametrize("how", FAILING)
def test_an_advisor_that_fails_is_not_taken_for_an_outage(how, caplog):
    given = ask(EVIDENCE, Writing(FAILING[how]))
    assert given.recommendation.status is Status.DEGRADED
    assert given.recommendation.reason is Shortfall.ADVICE_FAILED
    assert given.recommendation.summary == NO_ADVICE
    assert len(given.findings.ledger) == len(RUNBOOK_RESULTS)
    assert given.advice is None
    assert caplog.records
    assert "quokka" not in caplog.text


def told(answer, advisor=None):
    events = []
    given = ask(answer, advisor, notify=events.append)
    assert json.loads(json.dumps(events)) == events
    return given, events


def test_each_stage_is_told_in_order():
    given, events = told(EVIDENCE)
    searching, found_event, evidence, text, done = events
    assert searching["event"] == "searching"
    assert len(searching["queries"]) == 3
    assert found_event == {"event": "found", "status": "ok", "sources": len(RUNBOOK_RESULTS)}
    assert [s["number"] for s in evidence["sources"]] == list(range(1, len(RUNBOOK_RESULTS) + 1))
    pieces = pieces_of(given.recommendation, given.findings.ledger)
    assert text["text"] == "".join(piece.text for piece in pieces)
    assert done == {"event": "done", "status": "ok"}


def test_the_parts_of_a_text_are_the_text_and_its_references_are_evidence():
    _, events = told(EVIDENCE)
    sources = {s["number"]: s for s in events[2]["sources"]}
    text = events[3]
    assert "".join(part["text"] for part in text["parts"]) == text["text"]
    cited = [it for part in text["parts"] for it in part.get("citations", ())]
    assert cited
    for one in cited:
        within = sources[one["number"]]["citation"]
        assert one["citation"]["source_file"] == within["source_file"]
        assert within["start_line"] <= one["citation"]["start_line"]
        assert one["citation"]["end_line"] <= within["end_line"]


def test_no_part_of_a_text_that_cites_nothing_is_told_as_a_reference():
    text = "1. Stop it [1].\n2. Purge `a[1]` [Source: runbooks/none.md, lines 1-9] [99]."
    given, events = told(EVIDENCE, Writing(lambda findings: Advice(text, findings, "broken")))
    assert len(given.verified.removed) == 2
    parts = events[3]["parts"]
    assert [part["text"] for part in parts if "citations" in part] == ["[1]"]


@pytest.mark.parametrize("answer", [NOTHING, DOWN])
def test_without_evidence_the_answer_is_one_sentence(answer):
    given, events = told(answer)
    assert [event["event"] for event in events] == ["searching", "found", "text", "done"]
    assert events[2]["text"] == given.recommendation.summary


def test_evidence_that_an_advisor_found_itself_replaces_what_was_told():
    other = Findings((Asked(Query("own"), found(result(900))),))
    _, events = told(
        EVIDENCE, Writing(Advice("1. Promote the reader [1].", other, "bedrock-agent"))
    )
    kinds = [event["event"] for event in events]
    assert kinds == ["searching", "found", "evidence", "evidence", "text", "done"]
    assert events[3]["sources"] == sources_of(other)


def test_cancelling_it_cancels_its_advisor():
    class Musing:
        def __init__(self):
            self.musing, self.cancelled = asyncio.Event(), False

        async def advise(self, _incident, _findings):
            self.musing.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise

    async def cancel():
        advisor = Musing()
        consulting = asyncio.create_task(consult(INCIDENT, Answering(EVIDENCE), advisor))
        await advisor.musing.wait()
        consulting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await consulting
        return advisor.cancelled

    assert asyncio.run(cancel())
