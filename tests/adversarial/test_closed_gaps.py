"""What was once let through, each with its smallest answer: nothing here is retrieved."""

import pytest

from knowledge_rag.guardrails.scanner import MAX_BLOCK
from knowledge_rag.guardrails.verify import VerifiedStream, verify
from tests.adversarial.oracle import judge
from tests.adversarial.reading import VIEWS
from tests.adversarial.shelf import Shelf

EVIL = "[Source: evil.md, lines 1-2]"
HALF = "Source: evil.md, lines 1-2"


@pytest.mark.parametrize("view", range(len(VIEWS)))
@pytest.mark.parametrize(
    "answer",
    [
        "x [9<!-- [ -->9] y", f"x [Sou<!-- ] -->rce{HALF[6:]}] y", f"x [Sou<b title=']'>rce{HALF[6:]}</b>] y", f"x [Sour<!-- [9] -->ce{HALF[6:]}] y",
        f"x [Sour<?[ <b>?>ce{HALF[6:]}] y", f"x [Sour<!A [>ce{HALF[6:]}] y", f"x [Sour<b title='>['>ce{HALF[6:]}] y", f"x [Sou<b title=']'>rce{HALF[6:]}</b>",
        f"| a | b |\n|---|---|\n| `x | {EVIL}` |\n", f"| `a | {EVIL}` |\n|---|---|\n", f"`a | {EVIL}` | b\n--|--\n", f"|`a| {EVIL}` |\n|---|---|\n".replace("\n", "\r\n"),
        f"`a | {EVIL}` | b{EVIL.replace(' ', chr(10))}\n--|--\n", f"`a | {EVIL}` | b\n--|--{EVIL}\n", f"`a | {EVIL}` | b\n{EVIL}--|--\n", f"| a | b |\n|---|---|\nx\n`x \\\\| {EVIL}` |\n",
        f"`a | b` `{EVIL} | c` |\n|-|-|-|\n", "`| ` `[9]` |\n|-|-|\n", f"- `x | {EVIL}` | b\n  --|--\n", f"> `x | {EVIL}` | b\n> --|--\n", f"|a|\n---\n`{EVIL}|`\n",
        f"[`{HALF}` x", f"[`Source`{HALF[6:]}", "[Source `9` `[8]`", "[`evil.md`, lines 1-2", f"`[{HALF[:15]}`{HALF[15:]}]", f"`[Source:` {HALF[8:]}]", "[99`]` x", "x `[`99]", "`[`99`]`",
        "[8<b title='>[Source:\nx 9[9]\ny,\nlines 27]'>] x", f"[So<!A [9]>urce{HALF[6:]} [x]\n", "> a\n: b\n17 [Sources\n> 2].", f"</details>\n1. x\n\n    {EVIL}\n",
        "[S<?[9]?>ource: evil.md<b title='['>x [y] z", "[[8] Source: evil.md, lines 1-2]", "[`]`Source: evil.md, lines 1-2] y", f"[<b title=']'>[8] {HALF}]", "[x [[8] y] evil.md, lines 1-2]",
        "[`9] x` `[8]`", f"`x [{HALF}] [9` 8]", f"`[Sou`rce{HALF[6:]}", "`[Source: evil.md`, lines 1-2", f"[[9](http://e.com/[)]{HALF}]",
        "x [9<!-- > [ -->9] y", "x [9<? > [ ?>9] y", f"x [Sou<!-- a -> ] -->rce{HALF[6:]}] y", f"x <!-- > ` --> {EVIL} `y`", f"x <? > ` ?> {EVIL} `y`", "x [9<!-- -- > [ -->9] y",
        f"<p>&#{'0' * 6}91;9]</p>", f"<p>[9&#{'0' * 200}93</p>", f"<p>&#x{'0' * 256}5B;{HALF}&#X{'0' * 40}5d</p>", f"<p>&#{'0' * 90}[8]91;9]</p>", f"<p>&#{'0' * 90}8238;]9[ [9]</p>",
        "- a\n  - b\n  ```\nx [9]\n", "1.  a\n    - b\n    ```\n      ```\n      [9]\n", "- a\n  - b\n\n  c\n    ```\n       ```\n    ```\n    [9]\n", "1. a\n\n  b\n   ```\n     ```\n   ```\n   [9]\n",
        "-\ta\n     ```\n        ```\n     ```\n     [9]\n", "1.\ta\n    ```\n      ```\n      [9]\n", "-\n\n  ```\n     ```\n  ```\n  [9]\n", "1. a\n\n  b\n     ```\n     [9]\n", "- # h\nb\n     ```\n     [9]\n",
        "- a\n# h\n     ```\n  [9]\n", "- a\n***\nb\n     ```\n     [9]\n", "- a\n___\nb\n     ```\n     [9]\n", "- a\n> q\n     ```\n     [9]\n", "- a\n***\nb\n2. c\n   ```\n     ```\n   ```\n   [9]\n",
        "a\n      - b\n        ```\n        [9]\n", "a\n      - ```\n        [9]\n", "- a\n        - b\n          ```\n          [9]\n", "- a\n\n  - b\n\n c\n     ```\n     [9]\n", "- a\n  2. c\n     ```\n       ```\n     ```\n     [9]\n",
        "- a\n<div>\n\n     ```\n  [9]\n", "-\t a\n\n      [9]\n", " -\r\n   ```\n>\n> q\n [9]\n", "- > <p>`[9]`\n", "> - - a\n>     > <p>`[9]`\n", "> - a\n>   ```\n> [9]\n", "- - a\n    > <p>`[9]`\n", "- > - 1. <!-- a --> `[9]`\n", "<div>\n      - a\n\n        ```\n  [9]\n",
        f"x | y\n-|-\na ` b | c ` {'word ' * 60}`{EVIL}` e\n", "<div>\nevil.md, line \n```\n1\n```\n\n```\n[8]\n```\n", "evil.md, lines\n10. x\n    ~~~\n    [8]\n    ~~~\n", "1. evil.md, lines\n10. x\n    ~~~\n    [8]\n    ~~~\n",
        "[u](evil.md:1-2\nx", "x](evil.md:1-2) y", "w [u]: evil.md:1-2\n", "a\n[u]: evil.md:1-2\n", "[u]: evil.md:5 and more\n", "[a [u](http://x) b](evil.md:1-2)", "- a\r\n\r\n[99]\n\nx\n",
        "a evil.md, line\u202es 5 b", "evil.md, line\u1dc0s 5", "evil.md\u180e:5", "evil.m\u200bd:5", "evil\u2024md:5", "evil.md\uff1a\uff15", "evil.md, l\u0456nes 5", "evil.md, li\U000e0041nes 5",
        "evil.md, li<b>n</b>es 5", "evil.md, lin&#101;s 5", f"evil.md&#{'0' * 200}58;5", "evil.md, li*n*es 5", "evil.md, li`n`es 5", "evil.md, li~~n~~es 5", "evil.md\\:5", "evil<!-- -->.md:5", "evil<!-- a.md -->.md:5",
        "ev<!-- b.md:7 -->il.md:5", "> evil.md,\n> lines 5", "evil.md, line[2-9]s 5", "a[1]evil.md, li[1]nes 5", "inci<? [text]> [9]\n\n> [] ?>dent.md, lines 20-28\n", '<b t="[ ">[Source: evil<b t="[ ">.md, lines 1-2',
        "<div>[u](evil.md:5-9)</div>\n", "<!-- a\n\n[u](evil.md:5-9)\n\nx", "<!-- [u](evil.md:5-9)", "<pre>\n[u]: evil.md:5\n\n</pre>\n", "[u](evil.md:5) and evil.md:5",
        "y `x | evil.md:5` ` |`\r\n---|---\r\ny\r\n", "`x | evil.md:5` | b\n--|--\n", "``a `b\nc` `[9]`\n", "```\na\n```[9]\n[9]\n", "~~~\na\n~~~r\nevil.md:5\n", "> ```\n> a\n> ```b\n> [9]\n",
        "- ```\n  a\n  ```b\n  [9]\n", "evil[18](http://e.com/).md, lines 1-2]", "lines 27 ofevil.md", "lines 27 of\u624b\u9806.md", "uslines 5 of evil.md", "evil.md, line 2\uff118",
        "a ev`il.md, lines 19 b\n` `[9]` c `d e", "x https://e.com/x.`[9]` y\n", "x https://e.com/x`a b` `[9]` y\n", "- a\n\n b\n\n    [9]\n", "```\na\n```b\n<a title='`'>[9]`</a>\n", "<!--\n```\n-->\n\n```\na\n```b\n[9]\n", "&#12304;9&#12305;", "&#x3010;9&#X3011", "&LeftDoubleBracket;9&RightDoubleBracket;", "&lobrk;Source 9&robrk;", "[Sour\x85ce 9]", f"[Sour\x1cce{HALF[6:]}]",
    ],
)  # fmt: skip
def test_a_reference_without_evidence_is_not_shown(answer, view, tmp_path):
    shelf = Shelf(tmp_path, ())
    verified = verify(answer, shelf.ledger)
    assert not judge(verified, shelf, VIEWS[view]).violations
    assert verified.removed
    stream = VerifiedStream(shelf.ledger)
    shown = "".join(map(stream.feed, answer))
    rest, whole = stream.close()
    assert (shown + rest, whole) == (verified.text, verified)


@pytest.mark.parametrize(
    "written",
    ["a\n\n]({}#L{}-L{})\n", "a {}, lin<b>es {}-{} c", "a {}, lines {} -\n> {}\n"],
)
def test_a_reference_with_evidence_that_a_page_shows_is_a_citation(written, shelves):
    shelf = shelves[0]
    name, first, last = next(it for it in shelf.entries if it[0].isascii() and it[1] < it[2])
    (cited,) = verify(written.format(name, first, last), shelf.ledger).citations
    it = cited.citation
    assert (it.source_file, it.start_line, it.end_line) == (name, first, last)


def test_lines_that_go_on_in_code_are_no_citation(shelves):
    shelf = shelves[0]
    name, first, last = next(it for it in shelf.entries if it[0].isascii() and 9 < it[1] < it[2])
    written = f"a {name}, lines {first}-{last // 10}`{last % 10}; `b"
    verified = verify(written, shelf.ledger)
    assert (verified.citations, len(verified.removed)) == ((), 1)
    assert name not in verified.text


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (f"[[1] {HALF}] x", "[[1][unverified] x"), (f"[see [1] and {HALF[8:]}]", "[see [1][unverified]"), (f"[[1] {HALF} and", "[[1][unverified] [unverified] and"),
        ("[⑳90 [1]] x", "[unverified] [1]] x"), ("[a [1] b [1] c] d", "[a [1] b [1] c] d"), ("[[1], [1]]", "[[1], [1]]"), (f"[<i x=']'>[1] {HALF}]", "[<i x=']'>[1][unverified]"),
        (f"`[`[1] {HALF}]", "`[`[1][unverified]"),
    ],
)  # fmt: skip
def test_a_good_reference_lends_itself_to_nothing_beside_it(answer, left, shelves):
    assert verify(answer, shelves[0].ledger).text == left


@pytest.mark.parametrize(
    "answer",
    [
        "`[Source:` begins a reference.", "`[Source: f, lines a-b]`, `[n]` and `a[1] | b`", "Run `if [ -f x` and `]`.", "`[` opens, `]` closes.", "`ps | grep '[9]'` it.\n", "`ps | grep [9]`\nx\n\n|-|\n",
        "|cmd|what|\n|-|-|\n|`ps \\| grep [9]`|x|\n", "|cmd|what|\n|-|-|\n|`ps \\| jq .[]`|`a`|\n", "Heading\n---\n`ps | grep [9]`\n", "use `<b title=\"[\">` and [x]", '<a href="x?y[]=1">z</a> and [x]',
        "List<T[]> [x] Map<K, V[]> [see] it", "a `x[` b `]` c", "|a|b|\n|-|-|\n|x|y|\n\n`ps | grep [9]`\n", "```\n|a|b|\n|-|-|\n`ps | grep [9]`\n```\n",
        "1. a\n   - b\n     ```\n     [9]\n     ```\n   - c\n\n   ```\n   [9]\n   ```\n", "1. a\n    - b\n    - c\n      ```\n      [9]\n      ```\n", "10. a\n   ```\n   [9]\n   ```\n", "1. a\n  ```\n  [9]\n  ```\n",
        "1. a\n    ```\n    [9]\n    ```\n", "- a\nb\n  ```\n  [9]\n  ```\n- c\n  ```\n  [8]\n  ```\n", "- a\n\n  - b\n\n  c\n  ```\n  [9]\n  ```\n", "a &lobrk; b &robrk; c", "run `curl https://x.y/z` and `a [9]` y\n", "```\nx https://a.b/`c` `[9]`\n```\n", "1. a\n\n       echo [9]\n", "`ps | grep a.md`\n", "a\n`b\nc` `d` ``[9]``\n", "```sh\necho [9]\n```\n\n```sh\necho [8]\n```\n", "see [`evil.md`](evil.md#L5) and [u](<evil.md:5> 't')", "a\n\n[u]: <evil.md:5>\n[v]: evil.md#L5 \"t\"\nb",
    ],
)  # fmt: skip
def test_what_only_looks_alike_stays(answer, tmp_path):
    assert verify(answer, Shelf(tmp_path, ()).ledger).text == answer


@pytest.mark.parametrize(
    "around", ["evil.md, line{}s 5", "evil{}.md:5", "evil.md{}:5", "evil.md {}, lines 5-9"]
)
@pytest.mark.parametrize("reference", ["[1]", "[1-2]", "[Source 2]"])
def test_a_good_reference_hides_no_mention_around_it(around, reference, shelves):
    verified = verify(f"see {around.format(reference)} now", shelves[0].ledger)
    assert next(one.text for one in verified.removed).startswith("evil")
    assert "[unverified]" in verified.text


@pytest.mark.parametrize("block", ["- x `[9] [1]\n\n", "<div> [9]\n", "x `[9] ", "> <p>[9]\n"])
@pytest.mark.parametrize("begins", ["Wait for it", "# Next", "| a |", "`a` is next"])
def test_citations_behind_a_block_that_is_too_long_are_kept(block, begins, shelves):
    answer = f"{block * (MAX_BLOCK // len(block) + 1)}\n\n{begins} [1].\n"
    verified = verify(answer, shelves[0].ledger)
    assert verified.text.endswith(f"{begins} [1].\n")
    assert verified.citations[-1].end == len(verified.text) - 2
    stream = VerifiedStream(shelves[0].ledger)
    shown = "".join(stream.feed(answer[at : at + 997]) for at in range(0, len(answer), 997))
    rest, whole = stream.close()
    assert (shown + rest, whole) == (verified.text, verified)


@pytest.mark.parametrize(
    "opens", ["```", "~~~", "<!--", "<?", "<pre", "<SCRIPT", "<textarea", "<style"]
)
def test_a_block_that_may_stay_open_is_not_over(opens, shelves):
    answer = "- x `[9] [1]\n\n" * (MAX_BLOCK // 10) + f"  {opens}\n\nWait [1].\n"
    assert verify(answer, shelves[0].ledger).text.endswith("Wait {1}.\n")


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("\u202e[2-1 senil ,dm.live :ecruoS]\u202c x", "\u202e\u202c x"), ("[\u202e9 ecruoS\u202c] x", " x"), ("&#x202e;[9 ecruoS]", "&#x202e;"), ("<bDo dir=rtl>[9 ecruoS]</bDo>", "<bDo dir=rtl></bDo>"),
        ("\u202e [21]\nx [1]\n\nok [1]", "\u202e \nx \n\nok [1]"), ("a [Source\u202e\u202c=evil.md, line 1] [1]", "a  [1]"), ("- a \u202e b\n- ok [1]", "- a \u202e b\n- ok [1]"),
    ],
)  # fmt: skip
def test_what_is_read_from_right_to_left_is_a_reference_to_who_reads_it(answer, left, shelves):
    ledger = shelves[0].ledger
    assert verify(answer, ledger).text == left
    stream = VerifiedStream(ledger)
    assert "".join(map(stream.feed, answer)) + stream.close()[0] == left


@pytest.mark.parametrize("inner", ["Source evil.md", "Source - evil.md", "evil.pdf, page 3", "evil.md p. 3", "evil.md \u00a7 3", "evil.md, rows 3-4", "Src 9", "Footnote 9"])  # fmt: skip
def test_a_document_and_a_place_in_it_are_a_reference(inner, shelves):
    assert verify(f"a [{inner}] b", shelves[0].ledger).text == "a  b"


@pytest.mark.parametrize(
    "answer", ["- a\r\n\r\n[99]\n\nx\n", "- a\r\n\r\n```py\r\n[9]\r\n```\r\n[9] b", "see [u](evil.md:5 't') and [u](evil.md:5", "evil.md, lines\n5. x"]
)  # fmt: skip
def test_wherever_a_stream_is_cut_it_shows_the_same(answer, tmp_path):
    shelf = Shelf(tmp_path, ())
    verified = verify(answer, shelf.ledger)
    for cut in range(1, len(answer)):
        stream = VerifiedStream(shelf.ledger)
        shown = stream.feed(answer[:cut]) + stream.feed(answer[cut:])
        rest, whole = stream.close()
        assert (shown + rest, whole) == (verified.text, verified)


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("evil.md, line<!-- -> [1] --> 17 now", "[unverified], line<!-- -> [1] --> 17 now"),
        ("[see 9](\n\nevil.md, lines 5-9]!", None), ("E: evil.md, Lines 2`6 - 39]` now", "E: [unverified]`6 - 39]` now"),
        ("` a-  b\nve`r.md, Lines 20-2`8]` now", None),
        ("| a | b |\n---\n| y | `[9] | x` |\n", None), ("a | b\n|--[9]--|--|\n| y | `x | [9]` |\n", None), ("`x | [9]` | b\n|--a--|--|\n", None),
        ("`[1| a | b |\n|---|---|\n| x | y |\n000-]`z`[9]`\n", None),
        ("x ` ``a`` b ``[9]`` c", None), ("x `` `a` `[9]` c", None),
    ],
)  # fmt: skip
def test_what_one_markdown_reader_alone_shows_is_no_reference(answer, left, shelves):
    verified = verify(answer, shelves[2].ledger)
    assert verified.removed
    assert left is None or verified.text == left
    assert not any(it in verified.text for it in ("[9]", "lines 5-9", "Lines 20", "Lines 2"))


@pytest.mark.parametrize(
    "answer", ["x ` ``[9]`` c", "`a` and `[9]` c", "x \\` `a` `[9]` c", "x `` y\n\n`a` `[9]` c", "`` ` `` `a` `[9]` c"]
)  # fmt: skip
def test_code_that_every_reader_sees_stays(answer, tmp_path):
    assert verify(answer, Shelf(tmp_path, ()).ledger).text == answer
