"""What a person typed is asked as it was meant, and the notice says what was done."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time

import pytest

from knowledge_rag.core.outcome import Status
from knowledge_rag.core.response import read_outcome
from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import answered, local_retrieval
from tests.support.local import PROJECT, WordHashes, minilm, write_files
from tests.support.sample import sample_copy

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
    """Swap, leave out, double or replace a letter in some words."""
    places = [found.span() for found in re.finditer("[a-z]{4,}", text)]
    for start, end in sorted(rng.sample(places, min(mistakes, len(places))), reverse=True):
        word = text[start:end]
        at = rng.randrange(len(word) - 1)
        typed = rng.choice(
            [
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :],
                word[: at + 1] + word[at:],
                word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
            ]
        )
        text = text[:start] + typed + text[end:]
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
        began = time.perf_counter()
        meant = [sample.corrected(question).text for question in typed]
        correcting = time.perf_counter() - began
        began = time.perf_counter()
        wanted = [found(question) for question in questions]
        searching = time.perf_counter() - began
        as_meant = sum(found(text) == file for text, file in zip(meant, wanted, strict=True))
        as_typed = sum(found(text) == file for text, file in zip(typed, wanted, strict=True))
        unharmed = [text for text in questions if sample.corrected(text).text != text]
    assert as_meant / len(questions) > 0.93
    assert as_meant - as_typed > 0.03 * len(questions)
    assert correcting < searching / 2
    assert unharmed == []
