"""A robots.txt is read as RFC 9309 has it, and no rule in it takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.web.fetching import AGENT
from knowledge_rag.local.web.robots import MAX_BYTES, read_rules


def allows(text, target):
    return read_rules(text).can_fetch(f"https://a.example{target}", AGENT)


@pytest.mark.parametrize(
    ("text", "target", "allowed"),
    [
        ("", "/x", True),
        ("Disallow: /", "/x", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow:", "/x", True),
        ("User-agent: *\n\n\nDisallow: /x", "/x", False),
        ("User-agent: knowledge-rag\n\nDisallow: /x", "/x", False),
        ("User-agent: a\n\nUser-agent: Knowledge-RAG/1.0 # us\n\nDisallow: /x", "/x", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-rag\nAllow: /", "/x", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-rag\n", "/x", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-ragtime\nAllow: /", "/x", False),
        ("User-agent: knowledgeable\nDisallow: /", "/x", True),
        ("User-agent: knowledge-rag\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: knowledge-rag\nDisallow: /b", "/a", False),
        ("User-agent: knowledge-rag\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: knowledge-rag\nDisallow: /b", "/b", False),
        ("User-agent: knowledge-rag\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: knowledge-rag\nDisallow: /b", "/c", True),
        ("User-agent: knowledge-rag\nSitemap: /s.xml\nDisallow: /x", "/x", False),
        ("User-agent: *\rDisallow: /x\r", "/x", False),
    ],
)  # fmt: skip
def test_every_group_that_is_ours_counts_and_no_blank_line_ends_one(text, target, allowed):
    assert allows(text, target) is allowed


@pytest.mark.parametrize(
    ("rules", "target", "allowed"),
    [
        ("Disallow: /\nAllow: /docs", "/docs/a", True),
        ("Allow: /\nDisallow: /docs", "/docs/a", False),
        ("Disallow: /docs\nAllow: /docs", "/docs/a", True),
        ("Allow: /docs/$\nDisallow: /docs", "/docs/", True),
        ("Allow: /docs/$\nDisallow: /docs", "/docs/a", False),
        ("Disallow: /*.pdf$", "/a/b.pdf", False),
        ("Disallow: /*.pdf$", "/a/b.pdf?x", True),
        ("Disallow: /*.pdf", "/a/b.pdf?x", False),
        ("Disallow: /a*b*c", "/a--b--c--", False),
        ("Disallow: /a*b*c", "/a--c--b--", True),
        ("Disallow: /*?print=", "/a?b=1&print=1", True),
        ("Disallow: /*print=", "/a?b=1&print=1", False),
        ("Disallow: *", "/", False),
        ("Disallow: /$", "", False),
        ("Disallow: /a%24b", "/a$b", False),
        ("Disallow: /a%2Ab", "/a*b", False),
        ("Disallow: /a%2Ab", "/axb", True),
        ("Disallow: /caf\u00e9", "/caf%C3%A9", False),
        ("Disallow: /caf%c3%a9", "/caf\u00e9", False),
        ("Disallow: /%7Euser", "/~user", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /fish", "/Fish", True),
    ],
)  # fmt: skip
def test_the_longest_rule_that_fits_decides(rules, target, allowed):
    assert allows(f"User-agent: *\n{rules}\n", target) is allowed


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_delay_is_a_number_of_seconds(value, seconds):
    assert read_rules(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay(AGENT) == seconds


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_whatever_it_says_it_is_read(text):
    assert allows(text, "/x") in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"Disallow: /{n}*{n}$\n" for n in range(25_000)),
        "Disallow: /*a*a*a*a*a*a*b\n" * 20_000,
        "".join(f"User-agent: a{n}\n" for n in range(30_000)) + "Disallow: /\n",
        "Crawl-delay: 1\n" * 30_000,
        " " * MAX_BYTES,
    ],
)
def test_the_largest_that_is_read_takes_a_few_seconds_at_most(text):
    started = time.process_time()
    rules = read_rules(f"User-agent: *\n{text}"[:MAX_BYTES])
    rules.can_fetch("https://a.example/" + "a" * 1_900, AGENT)
    rules.crawl_delay(AGENT)
    assert time.process_time() - started < 5


def test_a_pattern_that_would_make_others_go_back_and_forth_is_matched_in_one_pass():
    text = "User-agent: *\nDisallow: /" + "*a" * 100_000 + "$\n"
    assert allows(text, "/" + "a" * 1_900 + "b")
