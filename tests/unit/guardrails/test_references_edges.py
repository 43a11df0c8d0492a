"""The edges of the grammar: where a reference ends to be one, and how much of it is held back."""

import pytest

from knowledge_rag.guardrails.references import (
    MAX_REFERENCE,
    Lines,
    Numbers,
    Unparsable,
    parse,
    unclosed_head,
)

A = Lines(("a.md",), 1, 2)


@pytest.mark.parametrize(
    ("raw", "reference"),
    [
        ("Source: a.md, lines 1-2.", (A,)),
        ("Source: a.md, lines 1-2;", (A,)),
        ("Source: a.md, lines 1-2 *", (A,)),
        ("Source: a.md, (lines 1-2)", (A,)),
        ("Source: a.md; lines 1-2", (A,)),
        ("Source: a.md lines: 1-2", (A,)),
        ("Source: a.md, lines 1-2, lines 5-6", (A, Lines(("a.md",), 5, 6))),
        ("Source: a.md, lines 1-2 and b.md, line 3", (A, Lines(("b.md",), 3, 3))),
        ("Source=a.md, lines 1-2", (A,)),
        ("**Source**: a.md, lines 1-2", (A,)),
        ("_Source:_ a.md, lines 1-2", (A,)),
        ("Source a.md, lines 1-2", (A,)),
        ("a.md, lines 1-2", (A,)),
        ("a.md, lines 1 to 2", (A,)),
        ("Source: a.md, lines 2147483647", (Lines(("a.md",), 2147483647, 2147483647),)),
        ("Source: 1", (Numbers(1, 1),)),
        ("Source: 1-2, Source: 3", (Numbers(1, 2), Numbers(3, 3))),
        ("Source #1", (Numbers(1, 1),)),
        ("Source: #1", Unparsable()),
        ("Source X1", Unparsable()),
        ("<b>Source</b>", Unparsable(bare=True)),
        ("`Source 1`", (Numbers(1, 1),)),
        ("1 & 2; 3", (Numbers(1, 1), Numbers(2, 2), Numbers(3, 3))),
        ("1~2", (Numbers(1, 2),)),
        ("1234567890", (Numbers(1234567890, 1234567890),)),
        ("0", (Numbers(0, 0),)),
        ("10", (Numbers(10, 10),)),
        ("Source: 100.md, lines 1-2", (Lines(("100.md",), 1, 2),)),
        ("Source: 1/a.md, lines 1-2", (Lines(("1/a.md",), 1, 2),)),
        ("Source: a b, c.md, lines 1-2", (Lines(("a b, c.md",), 1, 2),)),
        ("Source: a:b.md, lines 1-2", (Lines(("a:b.md",), 1, 2),)),
        ("Source: lines.md, lines 1-2", (Lines(("lines.md",), 1, 2),)),
        ("Source: a\\_b.md, lines 1-2", (Lines(("a\\_b.md", "a_b.md"), 1, 2),)),
        ("Source: a\\b.md, lines 1-2", (Lines(("a\\b.md",), 1, 2),)),
        ("Source: 'a.md', lines 1-2", (Lines(("'a.md'", "a.md"), 1, 2),)),
        ("Source: \u200ba.md\u200b, lines 1-2", (Lines(("a.md\u200b",), 1, 2),)),
        ("Source: line1, lines 1-2", (Lines(("line1",), 1, 2),)),
        (" line1, lines 1-2", (Lines(("line1",), 1, 2),)),
        ("Source: _a.md, lines 1-2", (Lines(("_a.md", "a.md"), 1, 2),)),
        ("**Source:** _a.md, lines 1-2", (Lines(("_a.md", "a.md"), 1, 2),)),
        ("**Source**: __a__.md, lines 1-2", (Lines(("__a__.md", "a__.md"), 1, 2),)),
        ("Source _a.md, lines 1-2", (Lines(("_a.md", "a.md"), 1, 2),)),
        ("_a.md, lines 1-2", (Lines(("_a.md", "a.md"), 1, 2),)),
        ("Source: `a.md`, lines 1-2", (Lines(("`a.md`", "a.md"), 1, 2),)),
        ("Source: **1**", (Numbers(1, 1),)),
        ("Source: a b.md , lines 1-2", (Lines(("a b.md",), 1, 2),)),
        ("Source: my fileX, lines 1-2", (Lines(("my fileX",), 1, 2),)),
        ("Source: é.md, lines 1-2", (Lines(("é.md",), 1, 2),)),
        ("Source: a\u2060b.md, lines 1-2", (Lines(("a\u2060b.md",), 1, 2),)),
    ],
)  # fmt: skip
def test_a_reference_is_read_to_its_end(raw, reference):
    assert parse(raw) == reference


@pytest.mark.parametrize(
    "raw",
    [
        "Source: a.md, lines 1-2 or so", "Source: a.md, lines 1-2x", "Source: a.md, lines 1-2/3", "Source: a.md, lines 1.5",
        "Source: , lines 1-2", "Source: a.md, lines 1-2; , line 3", "Source: a.md, lines -1", "Source: a.md, lines 01234567890",
        "Source: a.md, lines 2-1", "Source: a.md, lines 1-2, 4-3", "Source 1-", "1, 2-1", "1, 02", "1-02", "00", "Source 1/2",
        "Source: a.md", "source_1", "source-1", "source/1", "Source:", "Sources", "*Source*", "Source ?", "Source no 1", "Source id", "Source x", "№1"[:0] + "Source №1",
        "ref 1", "Refs. 12", "reference #1", "citation 1", "documents: 2", "9†", "9:1†a", "a.md lines 1 and so on", "1 … 2", "1 ... 2", "1,", ", 1",
    ],
)  # fmt: skip
def test_what_only_resembles_a_reference_is_none_that_resolves(raw):
    assert isinstance(parse(raw), Unparsable)


@pytest.mark.parametrize(
    "raw",
    [
        "0-9", " 0-9 ", "0-15", "2024-05-01 ", "1999-12", "-1", "- 1", "1.5", "v1", "1st", "a.md", "sourcecode 1", "resource 1",
        "ref", "ref a 1", "docs", "citation needed", "a line", "and", "to", "1 x", "#1", "12:30 1",
        "the source: a.md", "x" * (MAX_REFERENCE + 1), "1, " * 700,
    ],
)  # fmt: skip
def test_what_does_not_resemble_one_is_text(raw):
    assert parse(raw) is None


def test_a_reference_is_as_long_as_it_may_be_and_no_longer():
    name = "a" * (MAX_REFERENCE - len("Source: , lines 1-2"))
    assert parse(f"Source: {name}, lines 1-2") == (Lines((name,), 1, 2),)
    assert parse(f"Source: {name}a, lines 1-2") is None


@pytest.mark.parametrize(
    ("raw", "bare"),
    [("Source", True), ("*Sources*", True), ("Source N", True), ("Source:", False), ("Source=", False), ("Source #", False), ("Source ?", False), ("cite 1", False), ("Source id", True)],
)  # fmt: skip
def test_the_keyword_alone_may_be_a_links_text(raw, bare):
    assert parse(raw) == Unparsable(bare=bare)


@pytest.mark.parametrize(
    ("raw", "head"),
    [
        ("Source: a", "Source:"), ("source:", "source:"), (" **Sources** : a", " **Sources** :"), ("Source= a", "Source="), ("Source#1", "Source#"),
        ("So\u200burce: a", "So\u200burce:"), ("Ѕource: a", "Ѕource:"), ("Source a: b", ""), ("Source", ""), ("Sourced: a", ""), ("a Source: b", ""),
        ("", ""), ("-Source: a", "-Source:"), ("x", ""), (" " * 57 + "Source: a", " " * 57 + "Source:"), (" " * 58 + "Source: a", " " * 58 + "Source:"),
        ("_Source: a", "_Source:"), ("Source 99 a", "Source 99"), ("Source a", ""), ("Sour<b>ce: a", "Sour<b>ce:"), ("S<!-- a -->ource #9 b", "S<!-- a -->ource #"),
        ("a.md, lines 1-2 b", "a.md, lines 1-2"), ("a.md line 1", "a.md line 1"), ("see a.md, lines 1-2", ""), ("`Source: a", "`Source:"), ("`a.md`, lines 1-2 b", "`a.md`, lines 1-2"), ("&#83;ource: a", "&#83;ource:"), ("So**ur**ce: a", "So**ur**ce:"),
    ],
)  # fmt: skip
def test_the_beginning_that_makes_a_reference_is_measured(raw, head):
    assert unclosed_head(raw) == len(head)
