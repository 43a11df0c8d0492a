"""What may be asked, and what the knowledge base is asked for it."""

from __future__ import annotations

import pytest

from knowledge_rag.console.json_http import Refused
from knowledge_rag.console.questions import Question, read_question
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS

ADVISORS = ["converse", "extractive"]


def test_a_question_is_one_line_and_the_first_advisor_writes():
    question = read_question({"question": "  How\nto  fail\tover? "}, ADVISORS)
    assert question == Question("How to fail over?", "converse", {})


def test_filters_and_the_advisor_are_taken_and_blank_ones_left_out():
    body = {"question": "q", "document_type": "runbook", "service": " ", "advisor": "extractive"}
    assert read_question(body, ADVISORS) == Question(
        "q", "extractive", {"document_type": "runbook"}
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "question is missing"),
        ({"question": " \n"}, "question is missing"),
        ({"question": "\u202e\u200b"}, "no letter and no digit"),
        ({"question": 7}, "question must be text"),
        ({"question": "x" * (MAX_QUERY_CHARACTERS + 1)}, "20001 characters, allowed: 20000"),
        ({"question": "q", "document_type": "novel"}, "document_type must be one of"),
        ({"question": "q", "service": "x" * 201}, "service has 201 characters"),
        ({"question": "q", "service": ["rds"]}, "service must be text"),
        ({"question": "q", "advisor": "oracle"}, "advisor must be one of converse, extractive"),
        ({"question": "q", "sevrice": "rds"}, "unknown member 'sevrice'"),
        ({"question": "q", "source_file": "a.md"}, "unknown member 'source_file'"),
    ],
)
def test_what_is_no_question_is_refused_in_words(body, message):
    with pytest.raises(Refused, match=message) as refused:
        read_question(body, ADVISORS)
    assert refused.value.status == 400


def test_earlier_incidents_are_asked_for_beside_the_question():
    own, past = Question("disk full", "extractive").queries()
    assert (own.text, own.filters) == ("disk full", {})
    assert past.text.startswith("disk full")
    assert past.filters == {"document_type": "postmortem"}


def test_a_filter_holds_for_every_query():
    queries = Question("disk full", "extractive", {"service": "rds"}).queries()
    assert {query.filters.get("service") for query in queries} == {"rds"}
    for kind in ("runbook", "postmortem", "web"):
        queries = Question("disk full", "extractive", {"document_type": kind}).queries()
        assert {query.filters["document_type"] for query in queries} == {kind}
        assert len({query.text for query in queries}) == len(queries)
