"""An answer is told while it is written: verified, never without evidence, and never another one."""

import asyncio
import json

import pytest

from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.fallback import FallbackAdvisor
from knowledge_rag.orchestrator.consultation import consult, sources_of
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.showing import pieces_of
from tests.support.retrievals import Answering, found, result
from tests.unit.orchestrator.evidence import RUNBOOK_RESULTS

INCIDENT = Incident(
    alert_name="RDS failover",
    service="rds",
    description="The orders-db writer is gone, failover of the cluster needed",
)
EVIDENCE = found(*RUNBOOK_RESULTS)
ANSWER = "Promote it soon.\n\n1. Find out who is writer now [1].\n2. Purge it [99].\n3. Wait [2].\n"


class Live:
    """Writes this, piece by piece, with the evidence known at each, and then comes to an answer."""

    def __init__(self, pieces, comes_to=None, findings=None):
        self.pieces, self.comes_to, self.findings = pieces, comes_to, findings

    async def advise(self, *_):
        raise AssertionError("it was asked to write unheard")

    async def advise_live(self, _incident, findings, listener):
        known = self.findings or [findings] * len(self.pieces)
        for piece, evidence in zip(self.pieces, known, strict=True):
            listener.wrote(piece, evidence)
            await asyncio.sleep(0)
        if isinstance(self.comes_to, Exception):
            raise self.comes_to
        return self.comes_to or Advice("".join(self.pieces), known[-1], "live")


def told(advisor):
    events = []
    given = asyncio.run(consult(INCIDENT, Answering(EVIDENCE), advisor, notify=events.append))
    assert json.loads(json.dumps(events)) == events
    return given, events


def shown(events):
    """Give what a reader sees in the end: what was told since the last restart."""
    text = ""
    for event in events:
        if event["event"] == "restarted":
            text = ""
        elif event["event"] == "text":
            assert event["text"] == "".join(part["text"] for part in event["parts"])
            text += event["text"]
    return text


def kinds(events):
    return [event["event"] for event in events]


@pytest.mark.parametrize("size", [1, 5, 17, 1000])
def test_what_is_told_piece_by_piece_is_the_answer_that_may_be_shown(size):
    pieces = [ANSWER[at : at + size] for at in range(0, len(ANSWER), size)]
    given, events = told(Live(pieces))
    assert given.recommendation.status is Status.OK
    assert shown(events) == given.verified.text == verify(ANSWER, given.findings.ledger).text
    assert "restarted" not in kinds(events)
    assert "[99]" not in str(events)


def test_nothing_is_told_before_it_cites_anything():
    _, events = told(Live(["Turn it off and on. ", "Really. ", "1. Promote it [1]."]))
    texts = [event["text"] for event in events if event["event"] == "text"]
    assert texts[0].startswith("Turn it off and on. Really. 1. Promote it [1]")


def test_more_of_an_answer_is_told_while_it_is_written():
    _, events = told(Live(["1. Promote it [1].\n", "2. Wait.\n"]))
    assert [e["text"] for e in events if e["event"] == "text"] == [
        "1. Promote it [1].\n", "2. Wait.\n",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pieces", [["Just reboot."], ["1. Reboot [99].", " Delete it [Source: x.md, lines 1-2]."], [""]]
)
def test_what_rests_on_nothing_is_never_told(pieces):
    given, events = told(Live(pieces))
    assert kinds(events) == ["searching", "found", "evidence", "text", "done"]
    assert shown(events) == given.recommendation.summary


def test_an_answer_that_comes_to_something_else_takes_back_what_was_told():
    other = Advice("1. Check the lag [2].", Findings((Asked(Query("q"), EVIDENCE),)), "live")
    given, events = told(Live(["1. Promote it [1]."], other))
    assert "restarted" in kinds(events)
    assert shown(events) == given.verified.text == other.text


@pytest.mark.parametrize("error", [AdviceFailed("broke off"), RuntimeError("broke off")])
def test_an_advisor_that_breaks_off_leaves_nothing_of_its_answer(error):
    given, events = told(Live(["1. Promote it [1].", "2. Del"], error))
    assert given.recommendation.status is Status.DEGRADED
    assert shown(events) == given.recommendation.summary
    given, events = told(FallbackAdvisor(Live(["1. Promote it [1].", "2. Del"], error)))
    assert given.recommendation.advisor == "extractive"
    pieces = pieces_of(given.recommendation, given.findings.ledger)
    assert shown(events) == "".join(piece.text for piece in pieces)
    assert "Del" not in shown(events)


def test_evidence_that_comes_to_light_later_is_told_before_the_text_that_refers_to_it():
    one = Findings((Asked(Query("a"), found(result(100))),))
    two = Findings((*one.asked, Asked(Query("b"), found(result(200)))))
    pieces = ["1. Promote it [1].\n", "2. Wait [2].\n"]
    given, events = told(Live(pieces, findings=[one, two]))
    assert kinds(events)[2:] == [
        "evidence",
        "evidence",
        "text",
        "restarted",
        "evidence",
        "text",
        "done",
    ]
    sources = [event["sources"] for event in events if event["event"] == "evidence"]
    assert sources[1:] == [sources_of(one), sources_of(two)]
    assert shown(events) == given.verified.text == "".join(pieces)
