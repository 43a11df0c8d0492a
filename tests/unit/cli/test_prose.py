"""Words of documents on a terminal: wrapped between words, commands whole, nothing lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from knowledge_rag.cli.prose import CODE, Markup, folded, laid_out, table
from knowledge_rag.core.neutral import neutralise
from tests.support.examples import up_to

WIDTHS = st.one_of(st.none(), st.integers(min_value=12, max_value=80))
SNIPPETS = [
    "- ", "1. ", "a) ", "\n", "\n\n", "   ", "`rm -rf x`", "`", "**", "*", "[a](b)", "| a | b |\n|---|---|\n",
    "| c | d |\n", "```\n", "~~~", "word", "\\_", "<name>", "&lt;", "\t", "# ", "> ", "日本", "\x1b[31m", "1 x",
]  # fmt: skip
TEXTS = st.lists(st.one_of(st.sampled_from(SNIPPETS), st.text(max_size=6)), max_size=16).map(
    "".join
)


def lines(text, width=None, **more):
    known = {"first": [("- ", "")], "rest": "  ", **more}
    return ["".join(words for words, _ in line) for line in laid_out(text, width, **known)]


def styles(text, **more):
    (line,) = laid_out(text, None, first=[], rest="", **more)
    return {words: style for words, style in line if words.strip()}


def test_a_code_block_stands_in_its_place_as_it_is():
    text = "Run:\n```sh\nif x; then\n\techo 'a   b' \\\n    -n\nfi\n```\nThen wait."
    assert lines(text, 12) == [
        "- Run:",
        "    if x; then",
        "    \techo 'a   b' \\",
        "        -n",
        "    fi",
        "  Then wait.",
    ]


def test_a_command_that_a_plain_text_sets_apart_is_a_line_of_its_own():
    text = "See which one it is:\n\n   tail -f /var/log/licence --since 10m --filter x"
    assert lines(text, 30, markdown=Markup.NONE) == [
        "- See which one it is:",
        "    tail -f /var/log/licence --since 10m --filter x",
    ]


def test_lines_that_were_full_are_joined_and_the_others_stay():
    full = "They can see the picture and you can't. They also know about\nthe ad breaks to come."
    assert lines(full) == ["- " + full.replace("\n", " ")]
    rows = "Exit code, what to do\n137 submit the job again with more memory than it had before\n69 ask"
    assert lines(rows) == ["- Exit code, what to do", *("  " + it for it in rows.split("\n")[1:])]


def test_a_command_that_stands_further_in_is_a_line_of_its_own():
    text = (
        "On mq-a:\n"
        "      sudo rabbitmqctl list_queues name messages consumers | grep slot\n"
        "   slot.in with 0 consumers: restart the receiver and wait for a minute\n"
        "      sudo systemctl restart slot-sync-rx"
    )
    assert lines(text, markdown=Markup.NONE) == [
        "- On mq-a:",
        "  sudo rabbitmqctl list_queues name messages consumers | grep slot",
        "  slot.in with 0 consumers: restart the receiver and wait for a minute",
        "  sudo systemctl restart slot-sync-rx",
    ]


def test_lists_inside_a_step_keep_their_marks_and_hang_below_them():
    text = (
        "Both are down:\n1. Call the teleport first.\n2. Write\n   - [ ] the time\n   - [x] the id"
    )
    assert lines(text, 20) == [
        "- Both are down:",
        "  1. Call the",
        "     teleport first.",
        "  2. Write",
        "     - [ ] the time",
        "     - [x] the id",
    ]


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**Ask first.** Costs", "Ask first. Costs"),
        ("put the [slate](#slate) on", "put the slate on"),
        ("see [it](../a.md) or <https://e.example>", "see it (../a.md) or https://e.example"),
        ("/encode/lt\\_good of &lt;name&gt;", "/encode/lt_good of <name>"),
        # these may be patterns of a shell, or names
        ("rm *.tmp or *old* and __init__", "rm *.tmp or *old* and __init__"),
        ("on <reader>", "on <reader>"),
        ("`a ** b` and ``c ` d``", "`a ** b` and ``c ` d``"),
    ],
)
def test_markdown_is_read_as_its_author_sees_it(markdown, shown):
    assert lines(markdown, first=[]) == [shown]


def test_in_a_plain_text_each_character_stands_for_itself():
    text = "**Ask** [x](#y) lt\\_good &lt;"
    assert lines(text, first=[], markdown=Markup.NONE) == [text]


def test_code_and_strong_words_differ_from_the_others():
    assert styles("run `x y` **now** ok") == {"run": "", "`x y`": CODE, "now": "bold", "ok": ""}
    assert styles("run `x y`", style="dim", markdown=Markup.NONE) == {
        "run": "dim",
        "`x y`": f"dim {CODE}",
    }


def test_blank_lines_stay_where_they_are_asked_for():
    text = "One.\n\nTwo."
    assert lines(text, first=[("| ", "")], rest="| ", spaced=True) == ["| One.", "|", "| Two."]
    assert lines(text) == ["- One.", "  Two."]


ROWS = [["Code", "Means"], ["AP-1", "manifest not found"], ["AP-2", ""]]


def rows(width, given_rows=ROWS, **more):
    made = table(given_rows, width, indent="  ", **more)
    return ["".join(words for words, _ in line) for line in made]


def test_a_table_that_fits_is_aligned():
    assert rows(40) == [
        "  Code  Means",
        "  ----  ------------------",
        "  AP-1  manifest not found",
        "  AP-2",
    ]
    assert rows(40, with_head=False)[0] == "  AP-1  manifest not found"


def test_long_cells_are_wrapped_in_their_column():
    wide = [
        ["State", "Meaning"],
        ["even", "consumers are too slow or too few for that"],
        ["one", "x"],
    ]
    assert rows(40, wide) == [
        "  State  Meaning",
        "  -----  -------------------------------",
        "  even   consumers are too slow or too",
        "         few for that",
        "",
        "  one    x",
    ]


def test_a_table_whose_commands_do_not_fit_is_shown_cell_by_cell():
    command = "`aws cloudfront create-invalidation --distribution-id X`"
    assert rows(40, [["Cause", "Action"], ["cache", f"run {command} now"], ["WAF", ""]]) == [
        "  - Cause: cache",
        "    Action: run",
        f"      {command}",
        "      now",
        "",
        "  - Cause: WAF",
    ]


def test_a_table_inside_a_step_is_one_there():
    text = "Read:\n\n| Lag | Why |\n|---|---|\n| one | hot \\| cold |\n\nThen go on."
    assert lines(text, 40) == [
        "- Read:",
        "  Lag  Why",
        "  ---  ----------",
        "  one  hot | cold",
        "  Then go on.",
    ]


def test_where_styles_are_shown_code_has_no_backticks_and_columns_stay_aligned():
    text = "| a | b |\n|---|---|\n| `x y` | **c** |\n| long | d |\n"
    shown = list(laid_out(text, 40, first=[], rest="", markdown=Markup.STYLED))
    assert ["".join(words for words, _ in line) for line in shown] == [
        "a     b",
        "----  -",
        "x y   c",
        "long  d",
    ]
    styles_of = {words: style for line in shown for words, style in line}
    assert styles_of["x y"] != styles_of["c"] == "bold"


def test_code_without_backticks_is_never_broken():
    rows = laid_out("Run `a b c d e f` now.", 10, first=[], rest="", markdown=Markup.STYLED)
    assert ["".join(words for words, _ in row) for row in rows] == ["Run", "a b c d e f", "now."]


@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("- one two three", 10, ["- one two", "  three"]),
        ("  1. > one  two", 10, ["  1. > one", "     two"]),
        ("日本 日本 日本", 10, ["日本 日本", "日本"]),
        ("a\tb", 80, ["a\tb"]),
        ("x" * 30 + " y", 10, ["x" * 30, "y"]),
        ("שלום עולם " * 2, 12, ["שלום עולם", "שלום עולם "]),
        ("run `a b c d e` now", 8, ["run", "`a b c d e`", "now"]),
    ],
)
def test_a_line_as_it_is_written_hangs_below_its_first_word(line, width, rows):
    assert list(folded(line, width)) == rows


@up_to(examples=100)
@given(TEXTS, WIDTHS)
def test_a_line_as_it_is_written_loses_blanks_at_its_breaks_and_nothing_else(text, width):
    for line in neutralise(text).split("\n"):
        rows = list(folded(line, width))
        assert "".join("".join(rows).split()) == "".join(line.split())
        for code in re.findall(r"`[^`\t]*`", line):
            assert any(code in row for row in rows)


@up_to(examples=100)
@given(TEXTS, WIDTHS, st.sampled_from(Markup))
def test_no_word_is_lost_doubled_or_moved(text, width, markdown):
    words = [
        piece
        for line in laid_out(text, width, first=[("", "")], rest="", markdown=markdown)
        for piece, _ in line
    ]
    assert not any("\n" in piece for piece in words)
    if markdown is Markup.NONE and not re.search(r"[|`~\\]", neutralise(text)):
        assert "".join("".join(words).split()) == "".join(neutralise(text).split())


@up_to(examples=60)
@given(
    st.lists(st.sampled_from(["a", "word", "longer-word", "日本"]), min_size=1, max_size=30),
    st.integers(14, 60),
)
def test_no_line_of_words_is_wider_than_the_terminal(words, width):
    assert all(cell_len(line) <= width for line in lines(" ".join(words), width))
