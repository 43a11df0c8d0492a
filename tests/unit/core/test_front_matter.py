import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.front_matter import parse_front_matter


def test_scalars_lists_and_folded_text_are_read():
    text = """---
title: "RDS: failover"   # quoted
service: rds
severity: SEV1 # a comment
tags: [rds, 'multi az', failover]
owners:
  - platform
  - "data team"
summary: >-
  One line
  and another.
long: a plain scalar
  that goes on
nested:
  key: value
empty:
url: https://example.com/a#b
---
# Body
"""
    fields, end = parse_front_matter(text)
    assert text[end:] == "# Body\n"
    assert fields == {
        "title": "RDS: failover",
        "service": "rds",
        "severity": "SEV1",
        "tags": ["rds", "multi az", "failover"],
        "owners": ["platform", "data team"],
        "summary": "One line and another.",
        "long": "a plain scalar that goes on",
        "url": "https://example.com/a#b",
    }


@pytest.mark.parametrize(
    "written",
    [
        "alerts: [RDSLag, 'CPU, high', \"Errors: 5xx\"]",
        "alerts: [ RDSLag, 'CPU, high', \"Errors: 5xx\", ]  # three of them",
        "alerts: [\n  RDSLag,  # the usual one\n  'CPU, high',\n  \"Errors: 5xx\"\n]",
        "alerts:\n  - RDSLag # the usual one\n  # a comment\n  - 'CPU, high'\n  - \"Errors: 5xx\"",
        "alerts:\n- RDSLag\n- 'CPU, high'\n- \"Errors: 5xx\"",
    ],
)
def test_a_list_is_the_same_however_it_is_written(written):
    text = f"---\n{written}\n---\n"
    assert parse_front_matter(text).fields == yaml.safe_load(written)
    assert parse_front_matter(text).fields == {"alerts": ["RDSLag", "CPU, high", "Errors: 5xx"]}


@pytest.mark.parametrize(
    "text",
    [
        "# No front matter\n",
        "---\ntitle: never closed\n\n# A\n",
        "---\n\nProse between two rules.\n\n---\n",
        "---\n# Only a comment\n---\n",
        "---\n\n# Incident: outage\n\n- Impact: checkout was down\n  run the command\n\n---\n",
        "---\n- Impact: down\nkey: value\n---\n",
        "---\n  indented: first\nkey: value\n---\n",
        "---\nkey: value\n- no list belongs to it\n---\n",
        "---\nTake the writer down first: then wait\n---\n",
        "--- \n- a list\n---\n",
        "----\ntitle: four dashes\n----\n",
        " ---\ntitle: indented\n---\n",
        "",
        "---",
        "---\n---\n",
    ],
)
def test_what_is_no_metadata_block_is_ordinary_text(text):
    assert parse_front_matter(text) == ({}, 0)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("close", ["---", "..."])
def test_both_closings_and_both_line_endings_are_understood(ending, close):
    text = ending.join(["---", "title: A", close, "Body"])
    assert parse_front_matter(text) == ({"title": "A"}, text.index("Body"))


def test_front_matter_may_be_all_there_is():
    assert parse_front_matter("---\ntitle: A\n---") == ({"title": "A"}, 16)


words = st.text("abcdefgh XYZ.,/()é", min_size=1, max_size=20).map(str.strip).filter(bool)


@given(
    st.dictionaries(st.text("abcdef_", min_size=1, max_size=8), words | st.lists(words, min_size=1))
)
def test_what_a_yaml_library_writes_is_read_the_same(fields):
    text = f"---\n{yaml.safe_dump(fields, allow_unicode=True, width=1000)}---\n"
    read, end = parse_front_matter(text)
    expected = yaml.safe_load(text.split("---\n")[1])
    if fields:
        assert end == len(text)
        assert read == {key: value for key, value in expected.items() if value}
