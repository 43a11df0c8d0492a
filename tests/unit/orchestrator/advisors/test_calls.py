"""Calls of a model end in time, whatever they wait for, and fail in one way."""

import asyncio
import threading
from contextlib import closing
from types import SimpleNamespace

import pytest

from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.advisors.calls import MAX_THREADS, ModelCalls
from knowledge_rag.orchestrator.errors import ModelFailed


def client():
    return SimpleNamespace(api="the client", prepare=lambda: None, close=lambda: None)


def test_a_call_gives_what_its_work_gives():
    with closing(ModelCalls("test", client)) as calls:
        assert asyncio.run(calls.call(str.upper, Deadline.after(30))) == "THE CLIENT"


def test_a_call_that_gets_no_thread_is_given_up_in_time():
    release = threading.Event()

    async def crowded(calls):
        waiting = [
            asyncio.create_task(calls.call(lambda _: release.wait(), Deadline.after(30)))
            for _ in range(MAX_THREADS)
        ]
        await asyncio.sleep(0)  # they come first
        with pytest.raises(ModelFailed) as failed:
            await calls.call(str.upper, Deadline.after(0.2))
        release.set()
        await asyncio.gather(*waiting)
        return failed.value

    with closing(ModelCalls("test", client)) as calls:
        assert asyncio.run(crowded(calls)).cause is Reason.TIMEOUT


def test_a_client_that_is_never_made_is_waited_for_no_longer_than_the_deadline():
    release = threading.Event()

    def never():
        release.wait()
        return client()

    with closing(ModelCalls("test", never)) as calls:
        asyncio.run(calls.prepare(0.1))
        with pytest.raises(ModelFailed) as failed:
            asyncio.run(calls.call(str.upper, Deadline.after(0.2)))
        assert failed.value.cause is Reason.TIMEOUT
        release.set()
        assert asyncio.run(calls.call(str.upper, Deadline.after(30))) == "THE CLIENT"


def test_a_deadline_that_has_passed_costs_no_call():
    made = []
    with closing(ModelCalls("test", lambda: made.append(1) or client())) as calls:
        with pytest.raises(ModelFailed) as failed:
            asyncio.run(calls.call(str.upper, Deadline.after(-1)))
        assert failed.value.cause is Reason.TIMEOUT
        assert not made


def test_a_defect_is_told_by_its_name_and_place_alone(caplog):
    question = "secret"

    def broken(_):
        raise KeyError(question)

    with closing(ModelCalls("test", client)) as calls:
        with pytest.raises(ModelFailed) as failed:
            asyncio.run(calls.call(broken, Deadline.after(30)))
        assert failed.value.reason == "internal: KeyError"
    assert "in broken" in caplog.text
    assert "secret" not in caplog.text
