"""The local way: one query at a time, and each waits as long as the user allows."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
import time
from contextlib import contextmanager

import pytest

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.action_group import ActionGroup, FunctionProcess
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import LocalFunction, local_retrieval
from knowledge_rag.local.notices import answered
from knowledge_rag.local.settings import LOCAL_TIMEOUT_SECONDS, timed_out
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.retrieval import on_behalf_of
from tests.support.local import PROJECT, WordHashes, minilm, write_files
from tests.support.sample import sample_copy
from tests.unit.local.test_spelling import mistyped_word

NOTHING = {"status": "no_match", "results": []}


def test_a_query_behind_a_slow_one_waits_no_longer_than_it_has_time():
    begun, over = threading.Event(), threading.Event()

    def slow(_event, _context):
        begun.set()
        over.wait(30)
        return NOTHING

    way = LocalFunction(ActionGroup(slow).body)
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
        LocalFunction(ActionGroup(function).body).ask(
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


FILES = {
    "runbooks/certificate.md": (
        "---\nservice: Gateway\n---\n# Certificate expiry\n\nRenew the certificate.\n\n"
        "## After expiry\n\nRestart the proxy.\n"
    ),
    "runbooks/payments.md": "---\nservice: payments\n---\n# Refunds stuck\n\nReplay the refunds.\n",
}
TOLD = 'showing results for "certificate expiry" (you typed "certifcate expirey")'


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    write_files(folder / "corpus", FILES)
    ingest(folder / "corpus", folder / "x.kb", embedder=WordHashes())
    with KnowledgeBase(folder / "x.kb", WordHashes()) as opened:
        yield opened


@pytest.fixture(scope="module")
def asked(opened):
    """Ask through the real function; every query of the block with the same way."""
    with local_retrieval(opened, unexplained=()) as retrieval:
        yield lambda text, n=5, **filters: asyncio.run(retrieval.retrieve(Query(text, n, filters)))


class Function:
    """Stands for the function: answers with what it is given, and keeps what it was asked."""

    def __init__(self, *bodies):
        self._bodies = list(bodies)
        self.events = []

    def __call__(self, event):
        self.events.append(event)
        return self._bodies.pop(0)


def test_a_mistyped_question_is_answered_and_the_notice_says_for_what(asked):
    outcome = asked("certifcate expirey")
    assert outcome.notice == TOLD
    assert outcome.results == asked("certificate expiry").results
    assert asked("certificate expiry").notice is None


def test_where_nothing_is_found_it_does_not_speak_of_results(opened):
    function = Function({"results": [], "status": "no_match"})
    body = answered(opened, {"query": "certifcate"}, function)
    assert body["notice"] == 'searched for "certificate" (you typed "certifcate")'
    assert function.events == [{"query": "certificate"}]


def test_a_question_for_one_document_and_one_that_is_refused_stay_as_they_are(opened):
    one = {"query": "certifcate", "source_file": "runbooks/certificate.md"}
    refused = {"query": 7}
    for event, body in ((one, {"results": [], "status": "ok"}), (refused, {"error": "no text"})):
        function = Function(body)
        assert answered(opened, event, function) == body
        assert function.events == [event]


@pytest.mark.parametrize("service", ["Payments", "PAYMENTS", "payments"])
def test_a_service_is_found_however_it_is_written(asked, service):
    outcome = asked("refunds stuck", service=service)
    assert {each.citation.source_file for each in outcome.results} == {"runbooks/payments.md"}
    assert outcome.notice is None


def test_filters_that_leave_nothing_are_named_with_what_is_there_without_them(asked):
    outcome = asked("refunds stuck", service="Billing")
    assert outcome.status is Status.NO_MATCH
    assert outcome.notice == (
        "nothing with service=Billing; without that filter: 1 result, best runbooks/payments.md"
    )
    several = asked("certificate", 1, service="Billing", document_type="runbook")
    assert several.notice == (
        "nothing with document_type=runbook, service=Billing; without these filters: "
        "at least 1 result, best runbooks/certificate.md"
    )


def test_a_correction_and_filters_that_leave_nothing_are_both_told(asked):
    assert asked("certifcate expirey", service="Billing").notice.startswith(
        'searched for "certificate expiry" (you typed "certifcate expirey"); '
        "nothing with service=Billing; without that filter: "
    )


def test_what_is_documented_nowhere_is_not_put_down_to_the_filter(asked):
    assert asked("bake bread", service="payments").notice == (
        "nothing with service=payments, nor without that filter"
    )


def test_filters_that_nobody_typed_are_not_explained(opened):
    nothing = {"results": [], "status": "no_match"}
    event = {"query": "certificate", "document_type": "postmortem"}
    function = Function(nothing)
    assert answered(opened, event, function, ["document_type"]) == nothing
    function = Function(nothing, nothing)
    assert "notice" in answered(opened, event, function)
    assert function.events == [event, {"query": "certificate"}]


def test_a_notice_can_always_be_read_whatever_is_in_a_filter(opened):
    nothing = {"results": [], "status": "no_match"}
    hostile = "\u202e\x1b[31m\ue000\n" + "x" * 150
    event = {"query": "certifcate", "service": hostile, "document_type": hostile}
    body = answered(opened, event, Function({**nothing, "notice": "y" * 400}, nothing))
    outcome = read_outcome(body)
    assert len(outcome.notice) == 500
    assert outcome.notice.isprintable()


QUESTIONS = PROJECT / "tests" / "data" / "questions" / "on_topic.jsonl"


def mistyped(text, rng, mistakes=2):
    """Make a mistake in some words."""
    places = [found.span() for found in re.finditer("[a-z]{4,}", text)]
    for start, end in sorted(rng.sample(places, min(mistakes, len(places))), reverse=True):
        text = text[:start] + mistyped_word(text[start:end], rng) + text[end:]
    return text


def test_questions_with_two_mistakes_each_find_what_they_find_without_them(tmp_path_factory):
    path = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("sample"))
    rows = QUESTIONS.read_text(encoding="utf-8").splitlines()
    questions = [json.loads(row)["query"].lower() for row in rows]
    rng = random.Random(0)
    with KnowledgeBase(path, minilm()) as sample:

        def found(question):
            (best,) = sample.search(question, limit=1)
            return best.metadata["source_file"]

        typed = [mistyped(question, rng) for question in questions]
        meant = [sample.corrected(question).text for question in typed]
        wanted = [found(question) for question in questions]
        as_meant = sum(found(text) == file for text, file in zip(meant, wanted, strict=True))
        as_typed = sum(found(text) == file for text, file in zip(typed, wanted, strict=True))
        unharmed = [text for text in questions if sample.corrected(text).text != text]
    assert as_meant / len(questions) > 0.93
    assert as_meant - as_typed > 0.03 * len(questions)
    assert unharmed == []
