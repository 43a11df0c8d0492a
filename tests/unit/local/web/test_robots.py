"""Which rules of a robots.txt are ours; the library that reads them has tests of its own."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.web.fetching import AGENT
from knowledge_rag.local.web.robots import MAX_BYTES, read_rules


def allows(text, target):
    return read_rules(text).can_fetch(f"https://a.example{target}", AGENT)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: a\n\nUser-agent: Knowledge-RAG/1.0 # us\n\nDisallow: /x", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-rag\nAllow: /", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-ragtime\nAllow: /", False),
    ],
)
def test_rules_for_this_program_go_before_those_for_all(text, allowed):
    assert allows(text, "/x") is allowed


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_whatever_it_says_it_is_read(text):
    assert allows(text, "/x") in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "Disallow: /*a*a*a*a*a*a*b\n" * 20_000,
        "".join(f"User-agent: a{n}\n" for n in range(30_000)) + "Disallow: /\n",
    ],
)
def test_the_largest_that_is_read_takes_a_few_seconds_at_most(text):
    started = time.process_time()
    rules = read_rules(f"User-agent: *\n{text}"[:MAX_BYTES])
    rules.can_fetch("https://a.example/" + "a" * 1_900, AGENT)
    assert time.process_time() - started < 5
