"""Any blocking way behind the interface: bounded, in order, never raising."""

from __future__ import annotations

import asyncio
import threading
from contextlib import closing

import pytest

from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    RequestRefused,
    RetrievalFailed,
    UnreadableResponse,
)
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval, Lazily
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.retrieval import current_ids, gather, on_behalf_of

AMPLE = Budget(60)
NOTHING = RetrievalOutcome(Status.NO_MATCH)


class Playing:
    """A way that does what it is told."""

    name = "played"

    def __init__(self, ask):
        self._play = ask
        self.closed = False

    def prepare(self, deadline):
        self._play(Query("nothing"), deadline)

    def ask(self, query, deadline):
        return self._play(query, deadline)

    def close(self):
        self.closed = True


def raising(error):
    def ask(_query, _deadline):
        raise error

    return Playing(ask)


def asked(way, *queries, budget=None, **limits):
    with closing(BoundedRetrieval(way, budget or AMPLE)) as retrieval:
        return asyncio.run(gather(queries or [Query("q")], retrieval, **limits))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RetrievalFailed(Reason.GUARDRAIL, code="x"), Reason.GUARDRAIL),
        (UnreadableResponse("x"), Reason.MALFORMED_RESPONSE),
        (RequestRefused("x"), Reason.CONFIGURATION),
        (InvalidSettings("x"), Reason.CONFIGURATION),
        (DeadlineExceeded("x"), Reason.TIMEOUT),
        (ConnectionResetError("x"), Reason.UNAVAILABLE),
        (KeyError("x"), Reason.INTERNAL),
        (MemoryError("x"), Reason.INTERNAL),
    ],
)
def test_whatever_a_way_raises_is_degraded_with_its_reason(error, reason):
    (outcome,) = asked(raising(error))
    assert outcome == RetrievalOutcome(Status.DEGRADED, reason=reason)


def test_a_defect_is_told_by_place_and_not_by_its_message(caplog):
    asked(raising(KeyError("why does checkout-service fail")))
    told = [record.getMessage() for record in caplog.records]
    assert "KeyError" in told[0]
    assert "test_bounded.py" in told[0]
    assert told[1] == (
        "backend=played reason=internal code=KeyError request_id= | retrieval degraded"
    )
    assert "checkout-service" not in "".join(told)


def test_a_code_from_outside_can_not_steer_a_terminal(caplog):
    asked(raising(RetrievalFailed(Reason.UNAVAILABLE, code="\x1b[2J", request_id="\x07")))
    assert caplog.records[0].getMessage().isprintable()


def test_a_way_that_never_returns_is_a_timeout():
    over = threading.Event()
    way = Playing(lambda *_: over.wait(60))

    async def ask():
        retrieval = BoundedRetrieval(way, Budget(0.1))
        outcome = await retrieval.retrieve(Query("q"))
        over.set()
        return outcome, retrieval

    outcome, retrieval = asyncio.run(ask())
    retrieval.close()
    assert outcome == RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT)


def test_the_work_stops_before_the_budget_is_over():
    budgets = []

    def ask(_query, deadline):
        budgets.append(deadline.remaining())
        return NOTHING

    asked(Playing(ask), budget=Budget(10))
    assert budgets[0] <= 9


@pytest.mark.parametrize("seconds", [0.0, -1.0, 0.05, 601.0, float("nan"), float("inf")])
def test_a_budget_that_nobody_can_mean_is_refused(seconds):
    with pytest.raises(InvalidSettings, match="budget"):
        Budget(seconds)


def test_the_usual_budget_is_two_seconds_and_its_work_stops_a_little_earlier():
    assert Budget().seconds == 2.0
    assert Budget().working_seconds == pytest.approx(1.8)
    assert Budget(30).working_seconds == 29.0


@pytest.mark.parametrize(
    "way",
    [
        raising(DeadlineExceeded("late")),
        Playing(lambda *_: RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT)),
    ],
)
def test_the_reader_of_a_query_that_took_too_long_is_told_what_helps(way):
    with closing(BoundedRetrieval(way, timeout_notice="wait longer")) as retrieval:
        (outcome,) = asyncio.run(gather([Query("q")], retrieval))
    assert (outcome.reason, outcome.notice) == (Reason.TIMEOUT, "wait longer")


def test_a_notice_of_the_other_side_and_other_reasons_are_left_alone():
    said = RetrievalOutcome(Status.DEGRADED, reason=Reason.TIMEOUT, notice="its own")
    throttled = RetrievalOutcome(Status.DEGRADED, reason=Reason.THROTTLED)
    for outcome in (said, throttled):
        way = Playing(lambda *_, outcome=outcome: outcome)
        with closing(BoundedRetrieval(way, timeout_notice="wait longer")) as retrieval:
            assert asyncio.run(gather([Query("q")], retrieval)) == (outcome,)


def test_outcomes_come_in_the_order_of_the_queries_and_no_query_has_more_than_its_results():
    asked_for = {}
    last = threading.Event()

    def ask(query, _deadline):
        asked_for[query.text] = query.max_results
        if query.text == "c":
            last.set()
        else:
            last.wait(30)  # the last one ends first
        return RetrievalOutcome(Status.NO_MATCH, notice=query.text)

    queries = [Query("a", 100), Query("b", 2), Query("c")]
    outcomes = asked(Playing(ask), *queries, budget=Budget(30))
    assert [outcome.notice for outcome in outcomes] == ["a", "b", "c"]
    assert asked_for == {"a": 5, "b": 2, "c": 5}


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_as_many_queries_are_under_way_as_the_limit_says(limit):
    class Counting:
        under_way = most = 0

        async def retrieve(self, _query):
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            await asyncio.sleep(0)  # lets every other query begin that may
            self.under_way -= 1
            return NOTHING

    counting = Counting()
    queries = [Query(str(n)) for n in range(6)]
    assert asyncio.run(gather(queries, counting, limit=limit)) == (NOTHING,) * 6
    assert counting.most == min(limit, 6)


def test_no_queries_have_no_outcomes():
    with closing(BoundedRetrieval(raising(KeyError()))) as retrieval:
        assert asyncio.run(gather([], retrieval)) == ()


def test_a_back_end_that_breaks_its_promise_costs_its_own_query_only(caplog):
    class Broken:
        async def retrieve(self, query):
            if query.text == "bad":
                raise KeyError(query.text)
            return NOTHING

    outcomes = asyncio.run(gather([Query("a"), Query("bad"), Query("b")], Broken()))
    assert [outcome.status for outcome in outcomes] == ["no_match", "degraded", "no_match"]
    assert outcomes[1].reason is Reason.INTERNAL
    assert "bad" not in caplog.text.replace("error=KeyError", "")


def test_cancelling_a_gathering_cancels_its_queries():
    begun, over = threading.Event(), threading.Event()

    def ask(*_):
        begun.set()
        over.wait(60)
        return NOTHING

    async def cancel():
        with_time = BoundedRetrieval(Playing(ask), Budget(60))
        gathering = asyncio.create_task(gather([Query("a"), Query("b")], with_time))
        await asyncio.to_thread(begun.wait, 30)
        gathering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathering
        over.set()
        return with_time

    asyncio.run(cancel()).close()


def test_closing_waits_for_what_is_under_way_and_closes_the_way():
    way = Playing(lambda *_: NOTHING)
    retrieval = BoundedRetrieval(way, AMPLE)
    assert asyncio.run(retrieval.retrieve(Query("q"))) == NOTHING
    retrieval.close()
    assert way.closed
    outcome = asyncio.run(retrieval.retrieve(Query("q")))
    assert outcome.reason is Reason.INTERNAL


def test_what_fails_beforehand_is_told_and_fails_nobody(caplog):
    with closing(BoundedRetrieval(raising(InvalidSettings("no such profile")), AMPLE)) as retrieval:
        asyncio.run(retrieval.prepare())
    assert "reason=configuration code=InvalidSettings" in caplog.text


def test_what_the_queries_are_for_reaches_the_thread_that_asks():
    seen = []

    def ask(*_):
        seen.append(dict(current_ids()))
        return NOTHING

    with on_behalf_of(incident_id="INC-7"):
        asked(Playing(ask), Query("a"), Query("b"))
    asked(Playing(ask))
    assert seen == [{"incident_id": "INC-7"}, {"incident_id": "INC-7"}, {}]


# what is made on first use


def test_a_thing_is_made_once_for_all():
    made = []

    def make():
        made.append(object())
        return made[-1]

    lazily = Lazily("thing", make)
    assert lazily.get(Deadline.after(30)) is lazily.get(Deadline.after(30))
    assert len(made) == 1
    assert lazily.made() is made[0]
    assert lazily.made() is None


def test_what_takes_too_long_to_make_serves_a_later_call():
    ready = threading.Event()

    def make():
        ready.wait(30)
        return "thing"

    lazily = Lazily("thing", make)
    with pytest.raises(DeadlineExceeded, match="making the thing took too long"):
        lazily.get(Deadline.after(0.25))
    ready.set()
    assert lazily.get(Deadline.after(30)) == "thing"


def test_what_could_not_be_made_is_tried_again():
    turns = iter([InvalidSettings("wrong"), None])

    def make():
        error = next(turns)
        if error:
            raise error
        return "thing"

    lazily = Lazily("thing", make)
    with pytest.raises(InvalidSettings, match="wrong"):
        lazily.get(Deadline.after(30))
    assert lazily.get(Deadline.after(30)) == "thing"
