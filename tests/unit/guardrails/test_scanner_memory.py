"""Removing a reference changes no line around it, and what has been forgotten changes no decision."""

import pytest

from knowledge_rag.guardrails.scanner import MARK, MAX_BLOCK
from knowledge_rag.guardrails.verify import VerifiedStream, verify
from tests.unit.guardrails.evidence import LEDGER


def streamed(text, size=1, at_once=0):
    """Return what a stream makes of an answer whose first characters come at once, and others in pieces."""
    stream = VerifiedStream(LEDGER)
    shown = stream.feed(text[:at_once])
    for at in range(at_once, len(text), size):
        shown += stream.feed(text[at : at + size])
    rest, verified = stream.close()
    assert shown + rest == verified.text
    return verified


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[9]    echo", f"{MARK}    echo"),
        ("a\n\n[9]    echo", f"a\n\n{MARK}    echo"),
        ("[9]\techo", f"{MARK}\techo"),
        ("[9]   echo", f"{MARK}   echo"),
        ("[9] echo", " echo"),
        ("[9]```\n`x`\n```\n", f"{MARK}```\n`x`\n```\n"),
        ("[9]~~~\nx\n~~~\n", f"{MARK}~~~\nx\n~~~\n"),
        ("- [9]    x\n", f"- {MARK}    x\n"),
        ("- [9]\n", f"- {MARK}\n"),
        ("> [9] x\n", ">  x\n"),
        ("[9]<pre>\nx\n", f"{MARK}<pre>\nx\n"),
        ("[9]\n\n    [98]\n", f"{MARK}\n\n    [98]\n"),
        ("[9]\n    [98]\n", f"{MARK}\n    \n"),
        ("[9]- x\n\n    [98]\n", f"{MARK}- x\n\n    [98]\n"),
        ("- [9] x\n\n    [98]\n", f"- {MARK} x\n\n    {MARK}\n"),
        ("[9] x\n    [98]\n", " x\n    \n"),
        ("[9]> ```\n> [98]\n> ```\n", f"{MARK}> ```\n> {MARK}\n> ```\n"),
        ("[9] [8] [7]    x", f"{MARK}      x"),
        ("a `b\n[9]\n`[98]`", f"a `b\n{MARK}\n`{MARK}`"),
    ],
)
def test_a_line_means_the_same_without_what_was_taken_out(text, left):
    assert verify(text, LEDGER).text == left
    for size in (1, 2, 5):
        assert streamed(text, size) == verify(text, LEDGER)


@pytest.mark.parametrize(
    "ending",
    [" a[1][2][9] b", " [see][9] b", " [9]    echo", "\nabc [9]    echo", "\n\n[9]    echo", "\n- [9] x", " \\[9] x", " \\\\[9] x", "a[9] `[98]`", " [9] [1] [Source: x"],
)  # fmt: skip
def test_forgetting_in_the_middle_changes_no_decision(ending):
    for length in range(500, 600, 3):
        text = "x" * length + ending
        assert streamed(text, at_once=490).text == verify(text, LEDGER).text
    text = "x" * 540 + "\nabc " + "d " * 40 + ending
    for size in (1, 4):
        assert streamed(text, size) == verify(text, LEDGER)


def test_a_label_that_was_defined_long_ago_is_still_one():
    text = "[7]: https://example.com\n\n" + "x " * 2_000 + "see [docs][7] and [docs][8]."
    assert streamed(text, 9) == verify(text, LEDGER)
    assert verify(text, LEDGER).text.endswith("see [docs][7] and [docs].")


def test_what_has_gone_out_is_forgotten():
    stream = VerifiedStream(LEDGER)
    for _ in range(4_000):
        stream.feed("Reboot the primary, then wait [1]. ")
        assert len(stream._scanner._scanner._text) < MAX_BLOCK + 2_000
        assert len(stream._scanner._text) < 8_000


@pytest.mark.parametrize(
    "unit", ["x `[9] [1] ", "- `[9]\n\n", "[", "[a\n\nb", "```\n[9]\n", "<!-- [9]\n\nx", "> [9\n"]
)
def test_a_block_without_end_loses_its_brackets_where_it_gets_too_long(unit):
    stream, shown = VerifiedStream(LEDGER), 0
    text = unit * (2 * MAX_BLOCK // len(unit))
    for at in range(0, len(text), 500):
        shown += len(stream.feed(text[at : at + 500]))
        assert len(stream._scanner._scanner._text) < MAX_BLOCK + 6_000
    assert shown > MAX_BLOCK
    _, verified = stream.close()
    assert verified == verify(text, LEDGER)


@pytest.mark.parametrize("begun", [" " * 700, ">" * 700, "- " * 350])
def test_a_line_of_nothing_but_marks_is_remembered_by_its_length(begun):
    text = f"{begun}[9] x"
    for size in (1, 90):
        assert streamed(text, size) == verify(text, LEDGER)


def test_a_reference_may_go_on_behind_a_line_that_lost_another():
    text = "x [9] [Source: runbooks/rds.md,\nlines 5-6] y"
    assert verify(text, LEDGER).text == "x  [Source: runbooks/rds.md,\nlines 5-6] y"
    assert streamed(text) == verify(text, LEDGER)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 64])
@pytest.mark.parametrize("gap", [500, 560, 570, 577, 580, 640])
@pytest.mark.parametrize(
    "text",
    [
        "]<?{}[Source:[]]?> a",
        "]<!--{}[9]--> [9]",
        "<b t='[{}[9]'> [9]",
        "]<!-- {}--> [9<!-- ] -->9]",
        "]<!-- {}",
    ],
)
def test_a_tag_is_not_forgotten_while_it_is_open(text, gap, size):
    answer = text.format("word " * (gap // 5) + "x" * (gap % 5))
    assert streamed(answer, size) == verify(answer, LEDGER)


@pytest.mark.parametrize("following", ["", " a", "[a]", "(b)", ": c", "\n"])
def test_what_follows_a_hidden_reference_is_seen_before_it_goes(following):
    answer = f"[9<b t='[x](y)'>9]{following}"
    for size in (1, 2, 3):
        assert streamed(answer, size) == verify(answer, LEDGER)
    answer = f"[Source: a <b t=[x](y)>b][[Source: b <!-- [x](y) --> c]]{following}"
    for size in (1, 2, 3):
        assert streamed(answer, size) == verify(answer, LEDGER)


@pytest.mark.parametrize("opened", ["[9<b t='[x](y)'>", "[<b t='['> a"])
def test_a_bracket_is_given_up_by_all_who_see_it_when_it_gets_too_long(opened):
    answer = f"{opened}{'x' * 2_100}] b [9<!-- [ -->9]"
    verified = verify(answer, LEDGER)
    assert "9]" not in verified.text
    for size in (7, 400):
        assert streamed(answer, size) == verified


@pytest.mark.parametrize(
    "text",
    [
        "[9<b <i [>9]",
        "[9<b <i t='['>9]",
        "[9<b><i [>9]",
        '[9<b t="\'" [>9]',
        "[9<b t='\"' [>9]",
        "[9<b t='>' [>9]",
        "[9<!-- > [ -->9]",
    ],
)
def test_a_bracket_in_a_tag_is_none_to_who_sees_no_tags(text):
    verified = verify(text, LEDGER)
    assert "[9" not in verified.text
    for size in (1, 2, 5):
        assert streamed(text, size) == verified


@pytest.mark.parametrize(
    "text",
    [
        "&#8238; " + "x " * 400 + "[9] ]9[ a",
        "x `a] " + "b" * 700 + "[1` ] c",
        "x " * 280 + "[" + "b " * 700 + "[x] a.md, line 9] c",
        "> a\n> " + "b " * 400 + "[cite:\n9] c",
    ],
)
def test_what_is_open_stays_so_however_much_is_forgotten_meanwhile(text):
    verified = verify(text, LEDGER)
    assert verified.removed
    for size in (1, 7, 90):
        assert streamed(text, size) == verified


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[\u2460, [9] a", f"{MARK}  a"),
        ("`[Source 9`\n\nlines 2 a", "`[Source 9`\n\nlines 2 a"),
        ("`[Source 9` lines 2 a", f"`{MARK}` lines 2 a"),
        ("    > a\n[cite:\n9] c", "    > a\n c"),
        ("> a\n[9] b", "> a\n b"),
        ("- -\n`a|b` `[9]`", "- -\n`a|b` `[9]`"),
        ("b [1] c\n- -\n`a|b` `[9]`", "b [1] c\n- -\n`a|b` `[9]`"),
        ("[" + "x" * 2_100 + " [1] a", "[" + "x" * 2_100 + " [1] a"),
        ("`ps | grep [9]` x\n" + "y" * 3_000, "`ps | grep [9]` x\n" + "y" * 3_000),
    ],
)
def test_bounds_of_what_is_looked_at_are_kept(text, left):
    assert verify(text, LEDGER).text == left
    for size in (1, 160):
        assert streamed(text, size) == verify(text, LEDGER)
