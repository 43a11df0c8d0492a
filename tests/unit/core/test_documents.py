from __future__ import annotations

import hashlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import PREFIX_TOKENS, DocumentType, split_words
from knowledge_rag.core.documents import parse_front_matter, read_document
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.metadata import stored_text
from knowledge_rag.core.tokens import token_cost


def kind(name, text="# A\n"):
    return read_document(name, text.encode())[0].document_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("runbooks/a.md", DocumentType.RUNBOOK),
        ("team/play-books/a.md", DocumentType.RUNBOOK),
        ("dfds-postmortems/PM1.md", DocumentType.POSTMORTEM),
        ("runbooks/post-mortems/a.md", DocumentType.POSTMORTEM),
        ("postmortems/runbooks/a.md", DocumentType.RUNBOOK),
        ("docs/playbooks.md", DocumentType.RUNBOOK),
        ("docs/a.html", DocumentType.WEB),
        ("docs/a.PDF", DocumentType.PDF),
        ("README.md", DocumentType.OTHER),
    ],
)
def test_the_nearest_folder_tells_the_kind(name, expected):
    assert kind(name) is expected


def test_front_matter_overrules_the_folder():
    assert kind("runbooks/a.md", "---\ndocument_type: postmortem\n---\n") is DocumentType.POSTMORTEM
    assert kind("runbooks/a.md", "---\ndocument_type: nonsense\n---\n") is DocumentType.RUNBOOK


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading\n", "From front matter"),
        ("text\n\nHeading\n=======\n", "Heading"),
        ("no heading\n", "Kube Pod crash looping"),
        ("#\n", "Kube Pod crash looping"),
    ],
)
def test_the_title_is_the_best_name_that_the_file_gives(text, title):
    assert read_document("runbooks/KubePod_crash-looping.md", text.encode())[0].title == title


def test_the_hash_is_that_of_the_bytes_as_they_lie_on_disk():
    data = b"\xef\xbb\xbf# A\r\n"
    assert read_document("a.md", data)[0].sha256 == hashlib.sha256(data).hexdigest()


def test_a_path_outside_the_corpus_is_refused():
    with pytest.raises(InvalidCitation):
        read_document("../a.md", b"# A\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("KubePodCrashLooping", "Kube Pod Crash Looping"),
        ("rds-failover_2", "rds failover 2"),
        ("ALB5xxErrors", "ALB5xx Errors"),
        ("HTTPServer.timeout", "HTTP Server timeout"),
        ("", ""),
    ],
)
def test_names_are_split_into_words(name, words):
    assert split_words(name) == words


def test_a_prefix_stays_within_its_tokens_and_drops_the_outermost_parts_first():
    text = "".join(f"{'#' * n} heading number {n} with quite some words\n" for n in range(1, 7))
    document, decoded = read_document(
        "a/very/deep/folder/structure/file.md", (text + "x\n").encode()
    )
    chunk = chunk_text(document, decoded)[-1]
    prefix = stored_text(chunk)[: -len(chunk.content)]
    assert token_cost(prefix) <= PREFIX_TOKENS
    assert prefix.endswith("heading number 6 with quite some words\n\n")
    assert "deep" not in prefix


def test_a_heading_longer_than_the_prefix_is_cut_at_a_word():
    document, decoded = read_document("a.md", ("# " + "word " * 300 + "\ntext\n").encode())
    chunk = chunk_text(document, decoded)[-1]
    prefix = stored_text(chunk)[: -len(chunk.content)]
    assert 0 < token_cost(prefix) <= PREFIX_TOKENS
    assert prefix.endswith("word\n\n")


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


SKILL = "---\nname: queue-backlog\ndescription: Use when the orders queue grows.\n---\n\n## Workflow\n\n1. Add consumers.\n"


def test_a_skill_is_called_by_its_name_and_found_by_its_description():
    document, text = read_document("skills/queue-backlog/SKILL.md", SKILL.encode())
    assert document.title == "queue-backlog"
    (chunk,) = chunk_text(document, text)
    prefix, _, lines = stored_text(chunk).partition("\n\n")
    assert "Use when the orders queue grows." in prefix
    assert lines == chunk.content == "## Workflow\n\n1. Add consumers."


def test_a_long_description_leaves_room_for_the_headings():
    long = SKILL.replace("grows.", "grows " + "and grows " * 90 + ".")
    (chunk,) = chunk_text(*read_document("skills/queue-backlog/SKILL.md", long.encode()))
    prefix = stored_text(chunk).partition("\n\n")[0]
    assert "Use when the orders queue grows" in prefix
    assert prefix.endswith("Workflow")


def test_the_description_of_what_is_no_skill_is_no_part_of_its_context():
    document, text = read_document("pages/queue.md", SKILL.encode())
    assert document.title == "Workflow"
    (chunk,) = chunk_text(document, text)
    assert "Use when" not in stored_text(chunk)
