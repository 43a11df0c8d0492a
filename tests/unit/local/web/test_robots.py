"""A robots.txt is read as RFC 9309 has it, and no rule in it takes long."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.local.web.robots import Rule, Rules, read_rules

AGENT = "knowledge-rag"


def allows(text, target):
    return read_rules(text, AGENT).allow(f"https://a.example{target}")


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
        ("User-agent: knowledge\nDisallow: /", "/x", True),
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
        ("Disallow: /a$b", "/a$b", True),
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
    [("7", 7.0), ("0.5", 0.5), ("-1", 0.0), ("nan", 0.0), ("inf", 0.0), ("soon", 0.0), ("", 0.0)],
)
def test_a_delay_is_a_number_of_seconds(value, seconds):
    assert read_rules(f"User-agent: *\nCrawl-delay: {value}\n", AGENT).delay == seconds


@given(st.text("ab*$/", max_size=8), st.text("ab/", max_size=12))
def test_a_pattern_fits_what_the_regular_expression_of_the_same_meaning_fits(pattern, target):
    body = ".*".join(re.escape(part) for part in pattern.removesuffix("$").split("*"))
    expected = re.match(body + (r"\Z" if pattern.endswith("$") else ""), target) is not None
    assert Rule(pattern, allows=False).fits(target) is expected


@given(st.text(max_size=300))
def test_whatever_it_says_it_is_read(text):
    assert isinstance(read_rules(text, AGENT), Rules)


def test_a_pattern_that_would_make_others_go_back_and_forth_is_matched_in_one_pass():
    text = "User-agent: *\nDisallow: /" + "*a" * 100_000 + "$\n"
    assert allows(text, "/" + "a" * 1_900 + "b")
