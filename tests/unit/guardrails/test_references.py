"""The notations of a reference, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.references import (
    MAX_REFERENCE,
    Lines,
    Numbers,
    Unparsable,
    parse,
    unclosed_head,
)

A_1_2 = Lines(("a.md",), 1, 2)


@pytest.mark.parametrize(
    ("raw", "reference"),
    [
        ("Source: a.md, lines 1-2", (A_1_2,)),
        ("SOURCE: a.md, line 3", (Lines(("a.md",), 3, 3),)),
        ("Source: a.md, lines 1–2", (A_1_2,)),
        ("Source: a.md, lines 1—2", (A_1_2,)),
        ("Source: a.md, lines 1-2; b.md, line 3", (A_1_2, Lines(("b.md",), 3, 3))),
        ("Source: a.md, lines 1-2, Source: b.md, line 3", (A_1_2, Lines(("b.md",), 3, 3))),
        ("Source: a.md, lines 1-2, 5-6", (A_1_2, Lines(("a.md",), 5, 6))),
        ("Source: a.md,\nlines 1-2", (A_1_2,)),
        ("Source: my notes.md, lines 1-2", (Lines(("my notes.md",), 1, 2),)),
        ("my notes.md, lines 1-2", (Lines(("my notes.md",), 1, 2),)),
        ("Quelle: a.md, lines 1-2", (Lines(("Quelle: a.md",), 1, 2),)),
        ("Source:\n> a.md,\n>  lines 1-2", (A_1_2,)),
        ("Source 1", (Numbers(1, 1),)),
        ("source 1, 2", (Numbers(1, 1), Numbers(2, 2))),
        ("Source 1, Source 2", (Numbers(1, 1), Numbers(2, 2))),
        ("1", (Numbers(1, 1),)),
        ("1, 2", (Numbers(1, 1), Numbers(2, 2))),
        ("14-18", (Numbers(14, 18),)),
        ("１４－１８", (Numbers(14, 18),)),
        ("1\u200b2", (Numbers(12, 12),)),
        ("**1**", (Numbers(1, 1),)),
        ("Source: a.md, lines 1-2.", (A_1_2,)),
        ("Source: a.md, lines 1-2;", (A_1_2,)),
        ("Source: a.md, lines 1-2 *", (A_1_2,)),
        ("Source: a.md, (lines 1-2)", (A_1_2,)),
        ("Source: a.md; lines 1-2", (A_1_2,)),
        ("Source: a.md lines: 1-2", (A_1_2,)),
        ("Source: a.md, lines 1-2, lines 5-6", (A_1_2, Lines(("a.md",), 5, 6))),
        ("Source: a.md, lines 1-2 and b.md, line 3", (A_1_2, Lines(("b.md",), 3, 3))),
        ("Source=a.md, lines 1-2", (A_1_2,)),
        ("**Source**: a.md, lines 1-2", (A_1_2,)),
        ("_Source:_ a.md, lines 1-2", (A_1_2,)),
        ("Source a.md, lines 1-2", (A_1_2,)),
        ("a.md, lines 1-2", (A_1_2,)),
        ("a.md, lines 1 to 2", (A_1_2,)),
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
def test_a_notation_is_read_to_its_end(raw, reference):
    assert parse(raw) == reference


def test_a_file_keeps_the_characters_that_normalisation_would_change():
    (lines,) = parse("Source: ﬁle.md, lines 1-2")
    assert lines.names == ("ﬁle.md",)


@pytest.mark.parametrize(
    ("raw", "name", "lines"),
    [
        ("a.md:1-2", "a.md", [(1, 2)]), ("Source: a.md:12", "a.md", [(12, 12)]), ("a.md L1-L2", "a.md", [(1, 2)]), ("a.md#L1-L2", "a.md", [(1, 2)]),
        ("a/b notes.pdf:3", "a/b notes.pdf", [(3, 3)]), ("a.md:5:2", "a.md", [(5, 5)]), ("`a.md`:5", "a.md", [(5, 5)]), ("a.md#L5-9", "a.md", [(5, 9)]),
        ("a.md:1, 4-5", "a.md", [(1, 1), (4, 5)]),
    ],
)  # fmt: skip
def test_lines_may_stand_right_behind_a_documents_name(raw, name, lines):
    parts = parse(raw)
    assert {part.names[-1] for part in parts} == {name}
    assert [(part.first, part.last) for part in parts] == lines


@pytest.mark.parametrize(
    "raw",
    [
        "Source", "Source N", "Source: a.md", "Source: a.md, lines 2-1", "evil.md:2-1", "3-1", "01", "evil.md#12",
        "evil.md, 12", "evil.md (12)", "evil.txt 1-2", "<u>99</u>", "9<b>9</b>", "<!-- -->99", "<!-->99",
        "Sour<!-- -->ce: evil.md", "So**ur**ce: evil.md", "*Source* N", "`9:0†source`", "evil.md<br>lines 1-2",
        "9<b title='>'>9</b>", "9<b c", "evil.md, line. 1", "evil.md, li~~nes 1-2~~", "S<b>&#111;</b>urce 9", "1..3",
        "1 2", "٣", "\u202e21", "&#57;", "cite: 1", "doc 2", "4:0†source", "Source: ?",
        "Source: a.md, lines 1-2 or so", "Source: a.md, lines 1-2x", "Source: a.md, lines 1-2/3",
        "Source: a.md, lines 1.5", "Source: , lines 1-2", "Source: a.md, lines 1-2; , line 3",
        "Source: a.md, lines -1", "Source: a.md, lines 01234567890", "Source: a.md, lines 1-2, 4-3", "Source 1-",
        "1, 2-1", "1, 02", "1-02", "00", "Source 1/2", "source_1", "source-1", "source/1", "Source:", "Sources",
        "*Source*", "Source ?", "Source no 1", "Source id", "Source x", "Source №1", "ref 1", "Refs. 12",
        "reference #1", "citation 1", "documents: 2", "9†", "9:1†a", "a.md lines 1 and so on", "1 … 2", "1 ... 2",
        "1,", ", 1",
    ],
)  # fmt: skip
def test_what_only_resembles_a_reference_is_told_from_text(raw):
    assert isinstance(parse(raw), Unparsable)


@pytest.mark.parametrize(
    "raw",
    [
        "", " ", "x", "X", "WARN", "0-9", "2024-05-01", "2024-05", "12:30", "10.0.0.1", "-1", "^1", "1a", "see 1",
        "host.example.com:443", "main.py:45", "evil.md", "see evil.md", "evil.md 2024-05-01", "a.md-1", "<file>",
        "<b>x</b>", "a < 9 > b", "source code", "source, ini", "sourced/a", "user@example.com", "a-z", "1/2", "99%",
        " 0-9 ", "0-15", "2024-05-01 ", "1999-12", "- 1", "1.5", "v1", "1st", "a.md", "sourcecode 1", "resource 1",
        "ref", "ref a 1", "docs", "citation needed", "a line", "and", "to", "1 x", "#1", "12:30 1",
        "the source: a.md", "x" * (MAX_REFERENCE + 1), "1, " * 700,
    ],
)  # fmt: skip
def test_other_brackets_are_text(raw):
    assert parse(raw) is None


def test_letters_of_another_script_make_no_known_file():
    assert parse("Ѕource: a.md, lines 1-2") == Unparsable()


@given(
    st.lists(
        st.sampled_from(["Source: ", "a.md", "line1", "_", "-b", ", lines ", ", line ", "1", "12", "-", "0", "9" * 10]),
        max_size=7,
    ).map("".join)
)  # fmt: skip
def test_a_plain_notation_is_read_like_the_same_with_white_space_around(raw):
    assert parse(raw) == parse(f" {raw} ")


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
