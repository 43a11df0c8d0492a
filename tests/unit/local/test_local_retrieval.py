"""The local way: one query at a time, and each waits as long as the user allows."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import contextmanager

import pytest

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.action_group import ActionGroup, FunctionProcess
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import LocalFunction, local_retrieval
from knowledge_rag.local.settings import LOCAL_TIMEOUT_SECONDS, timed_out
from knowledge_rag.orchestrator.backends.arguments import on_behalf_of
from knowledge_rag.orchestrator.retrieval import Budget
from tests.support.local import WordHashes

NOTHING = {"status": "no_match", "results": []}


def test_a_query_behind_a_slow_one_waits_no_longer_than_it_has_time():
    begun, over = threading.Event(), threading.Event()

    def slow(_event, _context):
        begun.set()
        over.wait(30)
        return NOTHING

    way = LocalFunction(ActionGroup(slow))
    asking = threading.Thread(target=way.ask, args=(Query("slow"), Deadline.after(60)))
    asking.start()
    begun.wait(30)
    with pytest.raises(DeadlineExceeded, match="other queries"):
        way.ask(Query("q"), Deadline.after(0.01))
    over.set()
    asking.join()
    assert way.ask(Query("q"), Deadline.after(30)).status is Status.NO_MATCH


def test_the_function_is_called_as_a_direct_caller_does():
    events = []

    def function(event, _context):
        events.append(event)
        return NOTHING

    with on_behalf_of(incident_id="INC-7"):
        LocalFunction(ActionGroup(function)).ask(
            Query("q", 9, {"service": "rds"}), Deadline.after(30)
        )
    assert events == [{"query": "q", "max_results": 9, "service": "rds", "incident_id": "INC-7"}]


SLOW_SECONDS = 2.1
"""More than a deployed query may take."""


class BusyMachine(WordHashes):
    """A model that takes longer for a question than a deployed query may take."""

    def embed(self, text):
        if text.startswith("RDS failover?"):
            time.sleep(SLOW_SECONDS)
        return super().embed(text)


@pytest.fixture
def slow(corpus, kb_path):
    ingest(corpus, kb_path, embedder=BusyMachine())
    with KnowledgeBase(kb_path, BusyMachine()) as opened:
        yield opened


@contextmanager
def deadline_of(seconds, slow):
    function = FunctionProcess(seconds)
    try:
        with LocalBedrock(slow) as bedrock:
            yield lambda: function.invoke({"query": "RDS failover?"}, bedrock.endpoint_url)
    finally:
        function.close()


def test_a_search_on_a_busy_machine_is_waited_for(slow):
    with local_retrieval(slow) as retrieval:
        outcome = asyncio.run(retrieval.retrieve(Query("RDS failover?")))
    assert (outcome.status, outcome.notice) == (Status.OK, None)


def test_a_search_that_takes_longer_than_the_user_waits_says_what_to_do(slow):
    with local_retrieval(slow, budget=Budget(0.5)) as retrieval:
        outcome = asyncio.run(retrieval.retrieve(Query("RDS failover?")))
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.TIMEOUT)
    assert outcome.notice == (
        "timed out after 0.5 s: this machine is busy, or the knowledge base is large; "
        "try --timeout 2"
    )


def test_the_function_in_a_process_of_its_own_waits_as_long_too(slow):
    with deadline_of(20, slow) as ask:
        assert ask()["status"] == "ok"
    with deadline_of(None, slow) as ask:
        assert (ask()["status"], ask()["reason"]) == ("degraded", "timeout")


def test_nothing_longer_is_suggested_than_may_be_asked_for():
    assert timed_out(LOCAL_TIMEOUT_SECONDS).endswith("; try --timeout 120")
    assert timed_out(300).endswith("; try --timeout 600")
    assert "try" not in timed_out(600)
