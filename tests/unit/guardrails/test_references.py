"""The notations of a reference, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails.references import (
    Lines,
    Numbers,
    Unparsable,
    parse,
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
    ],
)
def test_a_notation_is_understood(raw, reference):
    assert parse(raw) == reference


def test_a_file_between_marks_is_tried_as_written_too():
    (lines,) = parse("Source: `a.md`, lines 1-2")
    assert "a.md" in lines.names


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
        "Source", "Source N", "Source: a.md", "Source: a.md, lines 2-1", "evil.md:2-1", "3-1", "01",
        "evil.md#12", "evil.md, 12", "evil.md (12)", "evil.txt 1-2",
        "<u>99</u>", "9<b>9</b>", "<!-- -->99", "<!-->99", "Sour<!-- -->ce: evil.md", "So**ur**ce: evil.md", "*Source* N", "`9:0†source`",
        "evil.md<br>lines 1-2", "9<b title='>'>9</b>", "9<b c", "evil.md, line. 1", "evil.md, li~~nes 1-2~~", "S<b>&#111;</b>urce 9",
        "1..3", "1 2", "٣", "\u202e21", "&#57;", "cite: 1", "doc 2", "4:0†source", "Source: ?",
    ],
)  # fmt: skip
def test_what_resembles_a_reference_is_told_from_text(raw):
    assert isinstance(parse(raw), Unparsable)


@pytest.mark.parametrize(
    "raw",
    [
        "", " ", "x", "X", "WARN", "0-9", "2024-05-01", "2024-05", "12:30", "10.0.0.1", "-1", "^1", "1a",
        "see 1", "host.example.com:443", "main.py:45", "evil.md", "see evil.md", "evil.md 2024-05-01", "a.md-1", "<file>", "<b>x</b>", "a < 9 > b",
        "source code", "source, ini", "sourced/a", "user@example.com", "a-z", "1/2", "99%",
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
