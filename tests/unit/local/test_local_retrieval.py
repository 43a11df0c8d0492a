"""The local way: one query at a time, and none waits longer than it has time."""

from __future__ import annotations

import threading

import pytest

from knowledge_rag.core.deadline import Deadline
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.action_group import ActionGroup
from knowledge_rag.local.local_retrieval import LocalFunction
from knowledge_rag.orchestrator.backends.arguments import on_behalf_of

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
