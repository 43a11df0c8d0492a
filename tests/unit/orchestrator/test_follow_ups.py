"""Questions that refer to the answer before them."""

from __future__ import annotations

import re

import pytest

from knowledge_rag.orchestrator.follow_ups import (
    FOLLOWS,
    LONGEST_FOLLOW_UP,
    in_context,
    is_no_question,
    topic_of,
)
from tests.support.local import PROJECT
from tests.support.runbooks import alert, consulted

PAGE = """\
# RDS failover

## Resolution

1. Promote the reader.
"""


@pytest.mark.parametrize(
    "question",
    [
        "and how do I undo it?",
        "How do I check that it worked?",
        "what about the readers",
        "this failed",
    ],
)
def test_a_question_that_refers_is_asked_about_the_procedure(question):
    assert in_context(question, "RDS failover") == f"RDS failover: {question}"


@pytest.mark.parametrize(
    "question", ["Redis is full", "it's Kafka", "andromeda is down", "x it " * 30]
)
def test_any_other_is_asked_as_it_is(question):
    assert in_context(question, "RDS failover") == question
    assert in_context("undo it", "") == "undo it"


def test_the_topic_is_the_name_of_the_first_procedure():
    given = consulted(alert("RDS failover"), {"runbooks/rds.md": PAGE})
    assert topic_of(given) == "RDS failover"


def test_without_a_procedure_there_is_no_topic():
    given = consulted(alert("how do I bake bread"), {"runbooks/rds.md": PAGE})
    assert topic_of(given) == ""


def test_the_console_knows_the_same_questions():
    script = (PROJECT / "knowledge_rag/console/static/js/ask-view.js").read_text()
    (pattern,) = re.findall(r"const FOLLOWS = /(.*)/i;", script)
    (longest,) = re.findall(r"const LONGEST_FOLLOW_UP = (\d+);", script)
    assert (pattern, int(longest)) == (FOLLOWS.pattern, LONGEST_FOLLOW_UP)


@pytest.mark.parametrize(
    "said", ["thanks!", "ok", "Thank you, that worked", "hi", "great, it worked. Thanks a lot!"]
)
def test_what_asks_nothing_is_known(said):
    assert is_no_question(said)


@pytest.mark.parametrize(
    "asked", ["that is all", "is it ok?", "thanks, and the readers", "OK alarm", "Redis", "?", ""]
)
def test_what_may_ask_something_is_a_question(asked):
    assert not is_no_question(asked)
