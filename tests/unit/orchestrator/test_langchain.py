"""Code that is not asynchronous asks too, inside a running loop or not, and never waits for ever."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator import langchain
from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
from knowledge_rag.orchestrator.langchain import MAX_THREADS, ask
from knowledge_rag.orchestrator.retrieval import current_ids, on_behalf_of
from tests.support.retrievals import NOTHING, Answering, found, result

QUERY = Query("how do I restart quokka-db")
OUTCOME = found(result())


async def after_a_turn_of_the_loop():
    await asyncio.sleep(0)
    return OUTCOME


def test_an_outcome_is_waited_for():
    assert ask(Answering(lambda _: after_a_turn_of_the_loop()), QUERY) is OUTCOME


def test_a_loop_that_runs_here_is_no_obstacle_and_is_left_alone():
    async def within_a_loop():
        asked = ask(Answering(lambda _: after_a_turn_of_the_loop()), QUERY)
        return asked, await after_a_turn_of_the_loop()

    assert asyncio.run(within_a_loop()) == (OUTCOME, OUTCOME)


def test_one_way_serves_many_threads_and_loops():
    class Way:
        name = "way"

        def ask(self, _query, _deadline):
            return OUTCOME

        def close(self): ...

    retrieval = BoundedRetrieval(Way())
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(ask(retrieval, QUERY))) for _ in "1234"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    outcomes.append(asyncio.run(retrieval.retrieve(QUERY)))
    assert outcomes == [OUTCOME] * 5
    retrieval.close()


def test_whose_incident_it_is_travels_along():
    def answer(_):
        seen.append(dict(current_ids()))
        return NOTHING

    seen = []
    with on_behalf_of(incident_id="INC-7"):
        ask(Answering(answer), QUERY)
    assert list(seen[0].values()) == ["INC-7"]


@pytest.fixture
def blocking():
    """Blocks the thread of whoever asks, which no timeout of asyncio ends."""
    way = Answering(lambda _: way.release.wait(60) and NOTHING)
    way.release = threading.Event()
    yield way
    way.release.set()
    with places(MAX_THREADS):  # each comes back
        pass


@contextmanager
def places(number):
    """Take places of threads."""
    for _ in range(number):
        assert langchain._turns.acquire(timeout=30)
    yield
    langchain._turns.release(number)


def test_a_way_that_blocks_its_loop_is_a_timeout(blocking):
    outcome = ask(blocking, QUERY, 0.05)
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.TIMEOUT)


def test_threads_that_hang_are_bounded_and_give_their_place_back(blocking):
    with places(MAX_THREADS - 2):
        for _ in range(4):
            assert ask(blocking, QUERY, 0.05).reason is Reason.TIMEOUT
        assert len(blocking.asked) == 2
        blocking.release.set()
        assert ask(blocking, QUERY) is NOTHING


def test_whatever_is_raised_is_an_outcome():
    assert ask(object(), QUERY).reason is Reason.INTERNAL
