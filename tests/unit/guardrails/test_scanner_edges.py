"""Where a scan has to look twice: tags, code spans and brackets at the edges of what it sees."""

import pytest

from knowledge_rag.guardrails.scanner import MARK, Scanner
from knowledge_rag.guardrails.verify import VerifiedStream, verify
from tests.unit.guardrails.evidence import LEDGER

TICKS = "`" * 200
TAG = f"<a{'b' * 300}"


def streamed(text, size=1):
    """Give the answer of a stream in fragments of one size, and what it had shown before its end."""
    stream = VerifiedStream(LEDGER)
    shown = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size))
    rest, verified = stream.close()
    assert shown + rest == verified.text
    return verified, shown


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
    assert verify(text, LEDGER).text == text
    for size in (1, 2, 7):
        assert streamed(text, size)[0] == verify(text, LEDGER)


@pytest.mark.parametrize("length", range(195, 206))
def test_a_tag_of_any_length_is_read_alike_in_a_stream(length):
    text = f"a <{'b' * (length - 1)}> `[99]`"
    assert streamed(text)[0] == verify(text, LEDGER)
    assert "[99]" in verify(text, LEDGER).text


@pytest.mark.parametrize(
    "text",
    [
        "a <b t='`'> [99] `x`",
        "a <!-- ` --> [99] `x`",
        r"a \`[99]`",
        "a ``[99]` b",
        "a `[99]\nb` c",
        "a `b [99]",
        "`a```[99]`` b",
        "``a`[99]``` b",
        "a ` b\nc `[99]` d",
        "[x](`)[99]`",
        "[x](a`)[99]`",
        "[x](<a `>)[99]`",
        "[x](a '`')[99]`",
        "[x](\n`)[99]`",
        "> [x](\n> `)[99]`",
        "[x](a]`)[99]`",
        "[x](a(b`))[99]`",
        "![x](`)[99]`",
        f"[x](a{'b' * 1_100}`)[99]`",
    ],
)
def test_text_that_only_resembles_code_hides_nothing(text):
    verified = verify(text, LEDGER)
    assert "[99]" not in verified.text
    assert [taken.text for taken in verified.removed] == ["[99]"]
    for size in (1, 2, 7, 150):
        assert streamed(text, size)[0] == verified


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
    from knowledge_rag.guardrails.scanner import Scanner

    for pieces in ([text], list(text)):
        scanner = Scanner(LEDGER)
        shown = "".join(map(scanner.feed, pieces)) + scanner.close()
        assert scanner.found.code == spans
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
    assert verify(text, LEDGER).text == left
    for size in (1, 3, 50):
        assert streamed(text, size)[0] == verify(text, LEDGER)


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
    verified, _ = streamed(text, 5)
    assert verified == verify(text, LEDGER)
    assert len(verified.citations) == 120
    assert {verified.text[one.start : one.end] for one in verified.citations} == {
        "[1]",
        "[Source: runbooks/rds.md, lines 6-7]",
    }
    assert [text[one.start : one.end] for one in verified.removed] == ["[9]"] * 60


@pytest.mark.parametrize("gap", [400, 575, 576, 577, 640, 2_000])
def test_what_stands_before_a_bracket_is_seen_however_much_has_been_forgotten(gap):
    long = "x" * gap
    for text in (f"{long}[9]", f"{long} [9]", f"> {long}\n    [9]", f"{long}\n\n    [9]\n", f"[9] {long}[9]", f"- [9] {long}\n\n      [9]"):  # fmt: skip
        for size in (1, 90, 700):
            assert streamed(text, size)[0] == verify(text, LEDGER)


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
    verified = verify(written, LEDGER)
    assert verified.text == shown
    assert verify(shown, LEDGER).text == shown
    for size in (1, 2, 7):
        assert streamed(written, size)[0] == verified


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
    verified = verify(written, LEDGER)
    assert verified.text == shown
    for size in (1, 2, 7):
        assert streamed(written, size)[0] == verified


@pytest.mark.parametrize(
    "text",
    [
        "a\r\n    b\r\n\r\n    [99]\r\n",
        "```\r\n[99]\r\n```\r\na `[98]`\r\n",
        "```\n\r\n[99]\r\n \r\n```",
        "a `b`\r",
        "    [99]\ra",
        "```\n[99]\r",
        "```a b\n[99]\n```",
        "a\n1. ~~~\n   [99]\n   ~~~",
        "a\n\n2. ~~~\n   [99]\n   ~~~",
        "1. a\n2. ~~~\n   [99]\n   ~~~",
        "1. a\nb\n2. c\n   ~~~\n   [99]\n   ~~~",
        "1. a\n```\nb\n```\n2. c\n   ~~~\n   [99]\n   ~~~",
        "# a\n2. b\n   ~~~\n   [99]\n   ~~~",
        "a\n- ~~~\n  [99]\n  ~~~",
    ],
)
def test_where_every_reader_sees_code_it_is_left_alone(text):
    assert verify(text, LEDGER).text == text
    for size in (1, 2, 7):
        assert streamed(text, size)[0] == verify(text, LEDGER)


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
    verified = verify(written, LEDGER)
    assert verified.text == shown
    for size in (1, 2, 7):
        assert streamed(written, size)[0] == verified


def test_a_citation_behind_a_word_is_one_in_the_brackets_that_nobody_indexes_with():
    verified = verify("Promote the replica\u30101\u3011", LEDGER)
    assert [cited.number for cited in verified.citations] == [1]


def test_a_number_right_behind_a_full_stop_is_a_reference_and_no_index():
    verified = verify("Promote the replica.[1] Stop it.[99] See a.b[98] and x[97].", LEDGER)
    assert [cited.number for cited in verified.citations] == [1]
    assert verified.text == "Promote the replica.[1] Stop it. See a.b[98] and x[97]."
