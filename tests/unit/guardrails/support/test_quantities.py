"""Numbers, units, comparisons and dates in whatever form."""

import pytest

from knowledge_rag.guardrails.support.check import check_support


def same(claim, line):
    return not check_support(f"Take {claim} then", [f"take {line} now"]).missing


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("60s", "60 seconds"),
        ("60 s", "1 minute"),
        ("5 min", "300 s"),
        ("a 5-minute pause", "5 minutes"),
        ("1h30m", "90 minutes"),
        ("1,000 rows", "1000 rows"),
        ("1,234,567 rows", "1234567 rows"),
        ("45%", "45 percent"),
        ("1.50 GB", "1.5GB"),
        ("2Gi", "2048 MiB"),
        ("three nodes", "3 nodes"),
        ("3 nodes", "three nodes"),
        ("5 minutes", "5-10 minutes"),
        ("10 minutes", "5–10 minutes"),
        ("60", "60s"),
        ("60s", "timeout: 60"),
        ("port 9090", "host:9090"),
        ("24 hours", "1 day"),
        ("> 60s", "more than 60 seconds"),
        ("above 80%", "> 80%"),
        ("> 80%", "80%"),
        ("2024-03-05", "5 March 2024"),
        ("Mar 5, 2024", "2024-03-05T10:00:00Z"),
        ("March 2024", "2024-03-05"),
        ("the 5th of March", "2024-03-05"),
    ],
)
def test_the_same(claim, line):
    assert same(claim, line)


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("60s", "60 minutes"),
        ("60s", "6s"),
        ("5 minutes", "15 minutes"),
        ("1,000 rows", "1001 rows"),
        ("45%", "45 GB"),
        ("2GB", "2GiB"),
        ("four nodes", "3 nodes"),
        ("< 60s", "> 60s"),
        ("at most 3 tries", "at least 3 tries"),
        ("2024-03-05", "2024-03-06"),
        ("5 March 2024", "March 2024"),
        ("March 5, 2024", "5 March"),
        ("v1.24", "v1.25"),
        ("10.0.0.1", "10.0.0.2"),
        ("1.5", "1.50.0"),
        ("p95", "p99"),
    ],
)
def test_not_the_same(claim, line):
    assert not same(claim, line)


def test_a_modal_verb_is_no_month():
    assert check_support("It may 5 fail", ["it may fail 5"]).atoms[0].kind == "number"


@pytest.mark.parametrize("space", ["\x0b", "\x0c", "\x85", "\u2028", "\u3000"])
def test_whatever_white_space_stands_before_a_unit_is_taken_for_one(space):
    assert same(f"60{space}seconds", "1 minute")
