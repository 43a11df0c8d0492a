"""Lines that are passed at once leave open what going from line to line and token to token would."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_rag.guardrails.markdown_blocks import HEAD, Blocks, Kind, next_line
from knowledge_rag.guardrails.plain_lines import pass_lines, plain_code
from knowledge_rag.guardrails.stream import VerifiedStream
from knowledge_rag.guardrails.verify import verify
from tests.unit.guardrails.evidence import LEDGER
from tests.unit.guardrails.token_by_token import read_token_by_token

PIECES = [
    "word ", "a", " ", "    ", "\n", "\n", "\n\n", " \n", "\r\n", "- ", "1. ", "2. ", "03) ", "# ", "#", "> ",
    "  ", "| ", "|-|\n", "`b`", "`c d` ", "`", "``", "**", "_", "(", ":", "\\", "<", "<b>", "&", "&amp;", "é", "[1]",
    "[9]", "[Source: b.md, lines 1-2]", "x" * HEAD, "\u00a0",
]  # fmt: skip
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
BEFORE = (
    Blocks(),
    Blocks(after_blank=False, in_text=True),
    Blocks(list_offset=2, after_blank=False, in_text=True),
    Blocks(list_offset=3),
    Blocks(list_offset=6, after_blank=False, in_text=True, mark=2),
    Blocks(list_offset=5, after_blank=False, in_text=True, mark=-1),
    Blocks(list_offset=5, mark=-1),
)


def walked(blocks, lines):
    """Give what lines leave open, one by one."""
    for line in lines:
        kind, blocks = next_line(blocks, line[:HEAD])
        assert kind is not Kind.CODE
    return blocks


def everything(answer):
    """Give what is made of an answer, whole and in fragments, and what streams show on the way."""
    shown = []
    for size in (1, 7, 50):
        stream = VerifiedStream(LEDGER)
        shown += [stream.feed(answer[at : at + size]) for at in range(0, len(answer), size)]
        shown.append(stream.close())
    return verify(answer, LEDGER), shown


def slowly(monkeypatch, answer):
    """Give the same with nothing passed at once."""
    with monkeypatch.context() as patch:
        read_token_by_token(patch)
        return everything(answer)


@pytest.mark.parametrize("before", BEFORE)
@given(text=ANSWERS)
@settings(max_examples=150)
def test_passed_lines_leave_open_what_each_of_them_would(before, text):
    end, blocks, blank, begun = pass_lines(before, text, 0)
    lines = text[:end].split("\n")
    assert lines.pop() == ""
    assert walked(before, lines) == blocks
    assert blank == any(not line.strip() for line in lines)
    if begun:
        stop, kind, after = begun
        assert next_line(blocks, text[end:].partition("\n")[0][:HEAD]) == (kind, after)
        assert "\n" not in text[end:stop]


@given(ANSWERS)
@settings(max_examples=300)
def test_an_answer_means_the_same_however_much_is_passed_at_once(answer):
    with pytest.MonkeyPatch.context() as patch:
        assert slowly(patch, answer) == everything(answer)


@pytest.mark.parametrize(
    ("text", "end", "begun"),
    [
        ("a\n", 2, None),
        ("a\n\n- b\n1. c\n# d\ne `f`\n| g |\n\n", 29, None),
        ("\n \n\r\n", 5, None),
        ("a\nb [1]\n", 2, (4, Kind.TEXT)),
        ("a\n- b [1]\n", 2, (6, Kind.BLOCK)),
        ("a\n# b [1]\n", 2, (6, Kind.BLOCK)),
        ("a\n| b [1]\n", 2, (6, Kind.BLOCK)),
        ("a\nb", 2, (3, Kind.TEXT)),
        ("a `b` `c", 0, (6, Kind.TEXT)),
        ("a `b``", 0, (2, Kind.TEXT)),
        ("a `b|c`", 0, (2, Kind.TEXT)),
        ("a `b[`", 0, (2, Kind.TEXT)),
        ("a `b&c`", 0, (2, Kind.TEXT)),
        ("a \\`b`", 0, (2, Kind.TEXT)),
        ("a \\[1]", 0, (2, Kind.TEXT)),
        ("a \\\\ b", 0, (2, Kind.TEXT)),
        ("a \\b & c < d\n", 13, None),
        ("a &#91;", 0, (2, Kind.TEXT)),
        ("a &lsqb;", 0, (2, Kind.TEXT)),
        ("a &rsqb;", 0, (2, Kind.TEXT)),
        ("a <b>", 0, (2, Kind.TEXT)),
        ("a </b>", 0, (2, Kind.TEXT)),
        ("a <!-- -->", 0, (2, Kind.TEXT)),
        ("a <? ?>", 0, (2, Kind.TEXT)),
        ("a\rb\n", 0, (1, Kind.TEXT)),
        ("a\u202eb\n", 0, (1, Kind.TEXT)),
        ("a \u3010", 0, (2, Kind.TEXT)),
        ("a \u3011", 0, (2, Kind.TEXT)),
        ("a\n2. b\n", 2, None),
        ("```\n", 0, None),
        ("~~~\n", 0, None),
        ("> a\n", 0, None),
        ("    a\n", 0, None),
        ("1 a\n", 0, None),
        ("|-|\n", 0, None),
        ("** 1\n", 0, None),
        ("[1]\n", 0, None),
    ],
)
def test_lines_are_passed_up_to_where_something_may_happen(text, end, begun):
    passed = pass_lines(Blocks(), text, 0)
    assert passed[0] == end
    assert (passed[3] and passed[3][:2]) == begun


@pytest.mark.parametrize(
    ("before", "text", "left"),
    [
        (Blocks(), "- a\n", Blocks(list_offset=2, after_blank=False, in_text=True)),
        (Blocks(), "  10. a\nb\n", Blocks(list_offset=6, after_blank=False, in_text=True, mark=-1)),
        (Blocks(), "- a\n\n", Blocks(list_offset=2)),
        (Blocks(), "- a\n\n b\n", Blocks(list_offset=2, after_blank=False, in_text=True, mark=-1)),
        (Blocks(), "- a\nb\n", Blocks(list_offset=2, after_blank=False, in_text=True, mark=-1)),
        (Blocks(), "- a\n\nb\n", Blocks(after_blank=False, in_text=True)),
        (Blocks(list_offset=2), "# a\n", Blocks(after_blank=False)),
        (Blocks(), "# a\r\n", Blocks(after_blank=False)),
        (Blocks(), "# a\nb\n", Blocks(after_blank=False, in_text=True)),
        (Blocks(), "# a\nb\n\n", Blocks()),
        (Blocks(), "# a\n2. b\n", Blocks(list_offset=3, after_blank=False, in_text=True)),
        (Blocks(), "# a\r\n2. b\n", Blocks(list_offset=3, after_blank=False, in_text=True)),
        (Blocks(), "a\n2. b\n", Blocks(after_blank=False, in_text=True)),
        (Blocks(after_blank=False, in_text=True), "\n", Blocks()),
        (Blocks(after_blank=False, in_text=True), "\t \r\n2. a\n", Blocks(list_offset=3, after_blank=False, in_text=True)),
    ],
)  # fmt: skip
def test_passed_lines_leave_open_what_lists_and_headings_do(before, text, left):
    _, blocks, blank, begun = pass_lines(before, text, 0)
    assert (blocks, begun) == (left, None)
    assert blank == bool({"", "\t "} & {line.rstrip("\r") for line in text.split("\n")[:-1]})


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a [1]", Blocks(after_blank=False, in_text=True)),
        ("- a [1]", Blocks(list_offset=2, after_blank=False, in_text=True)),
        ("# a [1]", Blocks(after_blank=False)),
        ("| a [1]", Blocks(after_blank=False, in_text=True)),
    ],
)
def test_a_line_that_is_passed_in_part_is_what_it_begins_as(text, after):
    begun = pass_lines(Blocks(), text, 0)[3]
    assert begun
    assert begun[2] == after


def test_code_spans_of_passed_lines_are_known_where_they_stand():
    text = "a\n`b` c `d e`\n"
    assert [text[start:end] for start, end in plain_code(text, 2, len(text))] == ["`b`", "`d e`"]


@pytest.mark.parametrize("between", ["\n\n", "\n\n\n", "\n \nb\n\n", "\nb\n", "\n"])
@pytest.mark.parametrize("above", ["|-|", "| a | b", "a |", "a | b\n|-|-|", "a\n- |", "> |", "a"])
@pytest.mark.parametrize("line", ["`a|b` `[1]`", "> `a|b` `[1]`", "- - `a|b` `[1]`", "|-|\n`a|b` `[1]`", "- -\n`a|b` `[1]`"])  # fmt: skip
def test_a_table_above_cuts_code_or_not_however_its_lines_were_passed(
    above, between, line, monkeypatch
):
    answer = f"{above}{between}{line}\n"
    assert slowly(monkeypatch, answer) == everything(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "a `b [1] c\n\nd [9] `[9]`",
        "> a\nb [9]\n\n    [9]",
        "- a\n\nb\n\n    [9]",
        "- a\n\n  b\n\n    [9]",
        "# a\n2. b\n\n    [9]\n   ```\n   [9]",
        "a\n2. b\n\n    [9]\n   ```\n   [9]",
        "<div>\na [9]\n\nb `[9]`",
        "```\na\n```\nb\n    [9]\n\n    [9]",
        "    a\nb [9]\n    [9]",
        "[a](b\nc `[9]` d\n) `[9]`",
        "[x\na\nb\n- c [9]",
        "a &#8238; b\nc [1] [9]",
        "<b t='[\na\n'> [1] [9]",
        "a [1]\n[1]: http://b.c\n[x][1]",
        "[7]: http://b.c\n[x][7] [7] a [1]",
        "a[1] a[1][1] [1][1] $[1] 9[1] )[1] [1]( [1](b) [1](b.c) [1]: d [1]:/d",
        "[9][1] a[9][1] [9]a[1] a [9][1]\n[9]\n[1]",
        "[1]" + " " * 1_100 + "[1]",
        "a `b`[1]`c` [1]`\n`[1]",
        "[Source: b.md, lines 2-1] [Source: b.md, line 3](a.b) [Source: b.md, lines 1-2]",
    ],
)
def test_what_was_open_before_counts_however_lines_are_passed(answer, monkeypatch):
    assert slowly(monkeypatch, answer) == everything(answer)
