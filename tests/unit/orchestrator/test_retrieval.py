"""Whatever somebody's own way to the knowledge base does, there is an outcome."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.orchestrator.retrieval import Asked, Findings, SafeRetrieval
from tests.support.evidence import passage
from tests.support.retrievals import NOTHING, Answering, Waiting, found, result
from tests.unit.guardrails.evidence import result as lines_of

QUERY = Query("how do I restart quokka-db", 3)


def ask(answer, seconds=30):
    return asyncio.run(SafeRetrieval(Answering(answer), seconds).retrieve(QUERY))


def raising(error):
    async def answer():
        raise error

    return lambda _: answer()


@pytest.mark.parametrize("outcome", [NOTHING, found(result(1), result(2))])
def test_what_keeps_its_word_comes_through_as_it_is(outcome):
    assert ask(outcome) is outcome


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("quokka-db"),
        RecursionError(),
        ExceptionGroup("quokka-db", [ValueError()]),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_is_raised_is_degraded_and_logged_without_its_message(error, caplog):
    outcome = ask(raising(error))
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.INTERNAL)
    assert type(error).__name__ in caplog.text
    assert "quokka" not in caplog.text


@pytest.mark.parametrize(
    "given",
    [None, [], {"status": "ok"}, "ok", replace(found(result()), results=(n for n in range(3)))],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_outcome_is_degraded(given):
    assert ask(given) == RetrievalOutcome(Status.DEGRADED, reason=Reason.INTERNAL)


def test_a_way_without_the_method_is_degraded():
    outcome = asyncio.run(SafeRetrieval(object()).retrieve(QUERY))
    assert outcome.reason is Reason.INTERNAL


def test_no_more_comes_back_than_was_asked_for():
    assert [r.citation.source_file for r in ask(found(*map(result, range(100)))).results] == [
        f"runbooks/{number}.md" for number in range(3)
    ]


@pytest.mark.parametrize(
    "odd",
    [
        *("text", {"content": "a"}, None),
        result(lines=("two\nlines",)),
        result(lines=("half a character \ud800",)),
        replace(result(), content=b"bytes"),
        replace(result(), content=""),
        replace(result(), citation=None),
        replace(result(), citation="runbooks/1.md, lines 1-1"),
        replace(result(), metadata=None),
        replace(result(), relevance_score=float("nan")),
    ],
    ids=ascii,
)
def test_what_is_no_evidence_is_never_given(odd):
    outcome = ask(found(result(), odd))
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.UNVERIFIABLE_RESULTS)


def test_metadata_that_can_not_be_shown_are_left_out_and_unknown_ones_stay():
    odd = {"title": b"bytes", "page": 2.0, "incident_id": "a\nb", "tags": "rds", "team": {"of": 1}}
    (kept,) = ask(found(replace(result(), metadata=odd))).results
    assert kept.metadata == {"page": 2, "team": {"of": 1}}


def test_evidence_that_carries_hashes_has_to_keep_to_them():
    sound = passage("runbooks/rds.md")
    assert ask(found(sound)).results == (sound,)
    for altered in (
        replace(sound, content=sound.content.replace("Promote", "Delete!")),
        replace(sound, citation=replace(sound.citation, source_file="runbooks/other.md")),
    ):
        assert ask(found(altered)).reason is Reason.UNVERIFIABLE_RESULTS


def test_who_never_answers_is_a_timeout():
    async def ask_one():
        waiting = Waiting()
        outcome = await SafeRetrieval(waiting, 0.01).retrieve(QUERY)
        return outcome, waiting.cancelled

    outcome, cancelled = asyncio.run(ask_one())
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.TIMEOUT)
    assert cancelled == 1


def test_the_callers_cancellation_is_passed_on():
    async def cancel():
        waiting = Waiting()
        asking = asyncio.create_task(SafeRetrieval(waiting).retrieve(QUERY))
        await waiting.all_wait.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        return waiting.cancelled

    assert asyncio.run(cancel()) == 1


FOUND = RetrievalOutcome(Status.OK, (lines_of("a.md", 1, "one"), lines_of("b.md", 3, "x\ny")))
AGAIN = RetrievalOutcome(Status.OK, (lines_of("b.md", 3, "x\ny"), lines_of("c.md", 1, "z")))
TIMEOUT = degraded(Reason.TIMEOUT, notice="Slow today.")


def findings(*outcomes):
    return Findings(tuple(Asked(Query(f"q{n}"), it) for n, it in enumerate(outcomes)))


@pytest.mark.parametrize(
    ("outcomes", "status"),
    [
        ((), Status.NO_MATCH),
        ((NOTHING, NOTHING), Status.NO_MATCH),
        ((NOTHING, TIMEOUT), Status.DEGRADED),
        ((TIMEOUT, FOUND), Status.OK),
    ],
)
def test_one_answer_makes_a_finding_and_one_failure_makes_nothing_found_unknown(outcomes, status):
    assert findings(*outcomes).status is status


def test_results_are_numbered_over_all_queries_each_once():
    found = findings(FOUND, AGAIN)
    assert [entry.citation.source_file for entry in found.ledger.entries] == [
        "a.md",
        "b.md",
        "c.md",
    ]
    assert found.result(3).citation.source_file == "c.md"


@pytest.mark.parametrize("number", [0, 3, -1])
def test_there_is_no_result_beyond_the_ledger(number):
    with pytest.raises(IndexError, match="of 2"):
        findings(FOUND).result(number)


def test_failures_and_notices_are_told_once_each():
    found = findings(TIMEOUT, FOUND, TIMEOUT, degraded(Reason.THROTTLED))
    assert found.failures == (Reason.TIMEOUT, Reason.THROTTLED)
    assert found.notices == ("Slow today.",)
