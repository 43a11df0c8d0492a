"""Where a scan has to look twice, and what it may forget: removing a reference changes nothing around it."""

import pytest

from knowledge_rag.guardrails import scanner
from knowledge_rag.guardrails.scanner import MARK, MAX_BLOCK, Scanner
from knowledge_rag.guardrails.verify import VerifiedStream, verify
from tests.unit.guardrails.evidence import LEDGER, verified_in

TICKS = "`" * 200
TAG = f"<a{'b' * 300}"


@pytest.mark.parametrize(
    "text",
    [
        "a <b>b</b> `[99]` c",
        "a <br> `[99]`",
        "x" * 300 + " <b>b</b> `[99]`",
        "x" * 300 + " ``b`` `[99]`",
        "a <b/>`[99]`",
        "a < b `[99]`",
        "`[98]` <i>a</i> ``[99] ` [97]``",
        r"a \\`[99]`",
        "a `[99]` b `[98]`",
        "``[99]`` `[98]`",
        "[x](a.md) `[98]`",
        "[x](a.md 'b') `[98]`",
        "[x] (`[98]`)",
        "[x](a b `[98]`",
        "[x](`\n\n`[98]`",
        "a ` b\n\n`[99]`",
        "- ` b\n\n`[99]`\n",
        "x\n```\n[99]\n```\n`[98]`",
        "a `" + "b" * 900 + " [99]`",
        "a `" + "b" * 1_100 + " [99]`",
        f"a {TICKS}[99]{TICKS}",
        f"a {TAG}> `[99]`",
        "a <b `> [99] `x`",
        'a <b "`"> [99] `x`',
        "a <b\n> `[99]`",
        "1. a\n   ```\n   [99]\n   ```\n   b",
    ],
)
def test_code_keeps_what_reads_like_a_reference(text):
    assert verified_in((1, 2, 7), text).text == text


@pytest.mark.parametrize("length", range(195, 206))
def test_a_tag_of_any_length_is_read_alike_in_a_stream(length):
    text = f"a <{'b' * (length - 1)}> `[99]`"
    assert "[99]" in verified_in([1], text).text


@pytest.mark.parametrize(
    "text",
    [
        "a <b t='`'> [99] `x`", "a <!-- ` --> [99] `x`", r"a \`[99]`", "a ``[99]` b", "a `[99]\nb` c", "a `b [99]",
        "`a```[99]`` b", "``a`[99]``` b", "a ` b\nc `[99]` d", "[x](`)[99]`", "[x](a`)[99]`", "[x](<a `>)[99]`",
        "[x](a '`')[99]`", "[x](\n`)[99]`", "> [x](\n> `)[99]`", "[x](a]`)[99]`", "[x](a(b`))[99]`", "![x](`)[99]`",
        f"[x](a{'b' * 1_100}`)[99]`",
    ],
)  # fmt: skip
def test_text_that_only_resembles_code_hides_nothing(text):
    verified = verified_in((1, 2, 7, 150), text)
    assert "[99]" not in verified.text
    assert [taken.text for taken in verified.removed] == ["[99]"]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a `b` c", [(2, 5)]),
        ("a [9] `b` ``c``", [(3, 6), (7, 12)]),
        ("a\n\n```\nb\n```\nc `d`", [(3, 13), (15, 18)]),
        ("a [9]\n\n    b\n    c\n", [(4, 16)]),
        ("a\n\n    b\n\n    c", [(3, 15)]),
        ("a `b", []),
    ],
)
def test_code_is_known_where_it_goes_out(text, spans):
    for pieces in ([text], list(text)):
        scan = Scanner(LEDGER)
        shown = "".join(map(scan.feed, pieces)) + scan.close()
        assert scan.found.code == spans
        assert all(shown[start:end].strip()[0] in "`bc" for start, end in spans)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a [Source\n: x.md, lines 1-2]", "a "),
        ("a [Source\n#9]", "a "),
        ("a [Source\n|9]", "a "),
        ("a [Source\n14. 9]", "a "),
        ("a [Source\n# 9]", "a [Source\n# 9]"),
        ("a [Source\n- 9]", "a [Source\n- 9]"),
        ("> a [cite:\n> 9]", "> a "),
        ("> a [1,\n> 9]", "> a "),
        ("> a [1,\n> 2]", "> a [1,\n> 2]"),
        ("> [cite:\n> 9]```\n> ```\n> [9]", f"> {MARK}```\n> ```\n> [9]"),
        ("> a [cite:\n>\n> 9]", "> a [cite:\n>\n> 9]"),
        ("> a [cite:\n> > 9]", "> a [cite:\n> > 9]"),
        ("> > a [cite:\n> 9]", "> > a "),
        ("- > a [cite:\n  > 9]", "- > a "),
        ("[1[Source 9] a", f"{MARK}  a"),
        ("[1, [2] a", f"{MARK} [2] a"),
        ("a [1, [9] b", "a  b"),
        ("a [9, [9", "a [9"),
        ("a [b [9] c", f"a [b {MARK} c"),
        ("a [see the [9] c", f"a [see the {MARK} c"),
        ("a [b [9]] c", f"a [b {MARK}] c"),
        ("a [Source: x [9] b", "a  x  b"),
        ("a [Source: x\n\n[1]", "a  x\n\n[1]"),
        ("a [Source: x\n- [1]", "a  x\n- [1]"),
        ("a [Source: " + "x" * 3_000 + "] [1]", "a  " + "x" * 3_000 + "] [1]"),
        ("a [" + "1, " * 900 + "1] b", "a [" + "1, " * 900 + "1] b"),
        ("[Source: x", f"{MARK} x"),
        ("a [_Source: x", "a  x"),
        ("a [Source 9", "a "),
        ("a [Source 9 x\n\nb", "a  x\n\nb"),
        ("a [b.md, lines 1-2", "a "),
        ("a ] b [9]] c", "a ] b ] c"),
        (r"a \[9\] b", "a  b"),
        (r"a \\[9] b", r"a \\ b"),
        ("a &#91;9&#93; b &#91;1&#93;", "a  b &#91;1&#93;"),
    ],
)
def test_brackets_that_do_not_match_lose_what_makes_them_references(text, left):
    assert verified_in((1, 3, 50), text).text == left


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a [1] ", "a [1] "),
        ("a [1]", "a "),
        ("a [1](", "a "),
        ("a [1](x", "a "),
        ("a [1](x)", "a "),
        ("a [1](x.y)", "a "),
        ("a [1](x) ", "a "),
        ("a [1]: http", "a [1]: http"),
        ("a [1]\n", "a [1]\n"),
        ("[1]", ""),
        ("[9] a", ""),
        ("a &", "a "),
        ("a &#9", "a "),
        ("a & b", "a & b"),
        ("a \\", "a "),
        ("a \\[", "a "),
        ("a [b] ", "a [b] "),
        ("`a", "`a"),
        ("a <b", "a <b"),
        ("a `b` c [1] d", "a `b` c [1] d"),
        ("a <b>c</b> [1] d", "a <b>c</b> "),
        ("a <b>c</b> [1] d\n\nx", "a <b>c</b> [1] d\n\nx"),
        ("a ` b [1] d", "a ` b "),
        ("a\n```\n[9", "a\n```\n"),
        ("a\n```\n[9\n", "a\n```\n[9\n"),
        ("a [9] b", "a  b"),
        ("- [1] b", "- [1] b"),
        ("[1]\n", "[1]\n"),
        ("- [1]\n", "- [1]\n"),
        ("a [1](x.y\n", "a "),
        ("x [see it", "x "),
        ("x [see it]", "x [see it]"),
        ("x [1] y [b c d [2] z", "x [1] y "),
    ],
)
def test_a_stream_shows_what_nothing_can_change_and_nothing_else(text, shown):
    assert Scanner(LEDGER).feed(text) == shown


def test_a_long_answer_is_followed_to_its_end():
    """Text that has gone out is forgotten; positions and contexts are not."""
    block = "Reboot it [1].\n\n> a[7] `[98]`\n\n- see [9] [Source: runbooks/rds.md, lines 6-7]\n\n"
    text = block * 60
    verified = verified_in([5], text)
    assert len(verified.citations) == 120
    assert {verified.text[one.start : one.end] for one in verified.citations} == {
        "[1]",
        "[Source: runbooks/rds.md, lines 6-7]",
    }
    assert [text[one.start : one.end] for one in verified.removed] == ["[9]"] * 60


@pytest.mark.parametrize("gap", [198, 202, 998, 1_002])
def test_what_stands_before_a_bracket_is_seen_however_much_has_been_forgotten(gap):
    long = "x" * gap
    for text in (f"{long}[9]", f"{long} [9]", f"> {long}\n    [9]", f"{long}\n\n    [9]\n", f"[9] {long}[9]", f"- [9] {long}\n\n      [9]"):  # fmt: skip
        verified_in((1, 90, 700), text)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[98]<div>`[99]` a", f"{MARK}<div>`[99]` a"),
        ("[98] [97]</p>`[99]` a", f"{MARK} </p>`[99]` a"),
        ("x\n[98]<div>`[99]` a", f"x\n{MARK}<div>`[99]` a"),
        ("> [98]<div>`[99]` a", f"> {MARK}<div>`[99]` a"),
        ("- [98]<div>`[99]` a", f"- {MARK}<div>`[99]` a"),
        ("<div>\n[98]<i>`[99]` a", f"<div>\n<i>`{MARK}` a"),
        ("[^1]: [98]<div>`[99]`", f"[^1]: {MARK}<div>`{MARK}`"),
        ("[^1]:[98]```\n```[99]", f"[^1]:{MARK}```\n```[99]"),
        ("- [^a b]:[98]```\n```[99]", f"- [^a b]:{MARK}```\n```[99]"),
        (": [98]<div>`[99]`", ": <div>`[99]`"),
        ("!!! [98]<div>`[99]`", "!!! <div>`[99]`"),
        ("a: [98]<i>`[99]`", "a: <i>`[99]`"),
        ("a\n[98]*b*", "a\n*b*"),
    ],
)
def test_what_would_come_to_begin_html_or_code_has_a_mark_before_it(written, shown):
    verified = verified_in((1, 2, 7), written)
    assert verified.text == shown
    assert verify(shown, LEDGER).text == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("    \r[99] a", "    \r a"),
        ("\t\r[Source: x.md, line 1]", "\t\r"),
        ("\r```\n```\n[99] a", "\r```\n```\n a"),
        ("```\na\r```\n[99] a", "```\na\r```\n a"),
        ("```\na\nb\r```\nc\n[99] a", "```\na\nb\r```\nc\n a"),
        ("a `\r\r[99]` b", "a `\r\r` b"),
        ("x" * 200 + "\r```\n```\nb [99]", "x" * 200 + "\r```\n```\nb "),
        ("a\r[98]\n\n    [99] b", "a\r\n\n    [99] b"),
        ("\r[98]\n\n    [99] b", f"\r{MARK}\n\n    [99] b"),
        ("a\n2. ~~~[98]\n[99] b", "a\n2. ~~~\n b"),
        ("a\n2. b\n\n     ```\n   [99] c\n   ```", f"a\n2. b\n\n     ```\n   {MARK} c\n   ```"),
        ("a\n\u00a0\n    [99] b", "a\n\u00a0\n     b"),
        ("\u2028\n\t[99] b", "\u2028\n\t b"),
        ("```\n```\u00a0\n```\n[99] b", "```\n```\u00a0\n```\n b"),
        ("~~~a|b\n-|-\n[99] a", "~~~a|b\n-|-\n a"),
        ("- ```[98]|b\n-|-\n[99] a", "- ```|b\n-|-\n a"),
        ("<p>&#91Source: x.md, line 1&#93", "<p>"),
        ("<p>a &#x5b 99&#x5D b &#919; &#93", "<p>a  b &#919; &#93"),
    ],
)
def test_where_a_reader_may_see_no_code_a_reference_is_looked_at(written, shown):
    assert verified_in((1, 2, 7), written).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "a\r\n    b\r\n\r\n    [99]\r\n", "```\r\n[99]\r\n```\r\na `[98]`\r\n", "```\n\r\n[99]\r\n \r\n```",
        "a `b`\r", "    [99]\ra", "```\n[99]\r", "```a b\n[99]\n```", "a\n1. ~~~\n   [99]\n   ~~~",
        "a\n\n2. ~~~\n   [99]\n   ~~~", "1. a\n2. ~~~\n   [99]\n   ~~~", "1. a\nb\n2. c\n   ~~~\n   [99]\n   ~~~",
        "1. a\n```\nb\n```\n2. c\n   ~~~\n   [99]\n   ~~~", "# a\n2. b\n   ~~~\n   [99]\n   ~~~",
        "a\n- ~~~\n  [99]\n  ~~~",
    ],
)  # fmt: skip
def test_where_every_reader_sees_code_it_is_left_alone(text):
    assert verified_in((1, 2, 7), text).text == text


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("failover\u301099\u3011 a", "failover a"),
        ("a \u301099\u3011(https://e.example/x) b", "a  b"),
        ("\uff3b99\uff3d: https://e.example/x", f"{MARK} : https://e.example/x"),
        ("a x&#91;99&#93; b", "a x b"),
        ("a [99](https://e.example/x) x[99] b", "a [99](https://e.example/x) x[99] b"),
    ],
)
def test_only_markdowns_own_brackets_make_a_link_or_an_index(written, shown):
    assert verified_in((1, 2, 7), written).text == shown


def test_a_citation_behind_a_word_is_one_in_the_brackets_that_nobody_indexes_with():
    verified = verify("Promote the replica\u30101\u3011", LEDGER)
    assert [cited.number for cited in verified.citations] == [1]


def test_a_number_right_behind_a_full_stop_is_a_reference_and_no_index():
    verified = verify("Promote the replica.[1] Stop it.[99] See a.b[98] and x[97].", LEDGER)
    assert [cited.number for cited in verified.citations] == [1]
    assert verified.text == "Promote the replica.[1] Stop it. See a.b[98] and x[97]."


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
    assert verified_in((1, 2, 5), text).text == left


@pytest.mark.parametrize(
    "ending",
    [" a[1][2][9] b", " [see][9] b", " [9]    echo", "\nabc [9]    echo", "\n\n[9]    echo", "\n- [9] x", " \\[9] x", " \\\\[9] x", "a[9] `[98]`", " [9] [1] [Source: x"],
)  # fmt: skip
def test_forgetting_in_the_middle_changes_no_decision(ending, monkeypatch):
    monkeypatch.setattr(scanner, "MAX_BLOCK", 1_024)
    for length in (0, 199, 201, 999, 1_001):
        verified_in([7], "a " * 1_000 + "x" * length + ending)
        verified_in([90], "a " * 2_500 + "\n\n" + "x" * length + ending)
    verified_in([1, 4], "x" * 540 + "\nabc " + "d " * 40 + ending)


def test_a_label_that_was_defined_long_ago_is_still_one():
    text = "[7]: https://example.com\n\n" + "x " * 2_000 + "see [docs][7] and [docs][8]."
    assert verified_in([9], text).text.endswith("see [docs][7] and [docs].")


def test_what_has_gone_out_is_forgotten():
    stream = VerifiedStream(LEDGER)
    for _ in range(1_500):
        stream.feed("Reboot the primary, then wait [1]. ")
        assert len(stream._scanner._scanner._text) < MAX_BLOCK + 2_000
        assert len(stream._scanner._text) < 8_000


@pytest.mark.parametrize(
    "unit", ["x `[9] [1] ", "- `[9]\n\n", "[", "[a\n\nb", "```\n[9]\n", "<!-- [9]\n\nx", "> [9\n"]
)
def test_a_block_without_end_loses_its_brackets_where_it_gets_too_long(unit, monkeypatch):
    most = 4_096
    monkeypatch.setattr(scanner, "MAX_BLOCK", most)
    stream, shown = VerifiedStream(LEDGER), 0
    text = unit * (2 * most // len(unit))
    for at in range(0, len(text), 100):
        shown += len(stream.feed(text[at : at + 100]))
        assert len(stream._scanner._scanner._text) < most + 2_000
    assert shown > most
    _, verified = stream.close()
    assert verified == verify(text, LEDGER)


@pytest.mark.parametrize("begun", [" " * 700, ">" * 700, "- " * 350])
def test_a_line_of_nothing_but_marks_is_remembered_by_its_length(begun):
    text = f"{begun}[9] x"
    verified_in((1, 90), text)


def test_a_reference_may_go_on_behind_a_line_that_lost_another():
    text = "x [9] [Source: runbooks/rds.md,\nlines 5-6] y"
    assert verified_in([1], text).text == "x  [Source: runbooks/rds.md,\nlines 5-6] y"


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("gap", [190, 1_010])
@pytest.mark.parametrize(
    "text",
    [
        "]<?{}[Source:[]]?> a", "]<!--{}[9]--> [9]", "<b t='[{}[9]'> [9]", "]<!-- {}--> [9<!-- ] -->9]", "]<!-- {}",
    ],
)  # fmt: skip
def test_a_tag_is_not_forgotten_while_it_is_open(text, gap, size):
    verified_in([size], text.format("word " * (gap // 5)))


@pytest.mark.parametrize("following", ["", " a", "[a]", "(b)", ": c", "\n"])
def test_what_follows_a_hidden_reference_is_seen_before_it_goes(following):
    for hidden in (
        "[9<b t='[x](y)'>9]",
        "[Source: a <b t=[x](y)>b][[Source: b <!-- [x](y) --> c]]",
    ):
        verified_in((1, 2, 3), f"{hidden}{following}")


@pytest.mark.parametrize("opened", ["[9<b t='[x](y)'>", "[<b t='['> a"])
def test_a_bracket_is_given_up_by_all_who_see_it_when_it_gets_too_long(opened):
    answer = f"{opened}{'x' * 2_100}] b [9<!-- [ -->9]"
    assert "9]" not in verified_in((7, 400), answer).text


@pytest.mark.parametrize(
    "text",
    [
        "[9<b <i [>9]", "[9<b <i t='['>9]", "[9<b><i [>9]", '[9<b t="\'" [>9]', "[9<b t='\"' [>9]",
        "[9<b t='>' [>9]", "[9<!-- > [ -->9]",
    ],
)  # fmt: skip
def test_a_bracket_in_a_tag_is_none_to_who_sees_no_tags(text):
    assert "[9" not in verified_in((1, 2, 5), text).text


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
    assert verified_in((1, 7, 90), text).removed


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
    assert verified_in((1, 160), text).text == left
