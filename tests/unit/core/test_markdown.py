import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_rag.core.markdown import find_headings, first_heading

ORACLE = MarkdownIt("commonmark").enable("table").disable("inline")
"""It finds blocks; what stands in their lines, which takes it most of the time, is no matter here."""


def outline(text):
    """Our headings as (first line, last line, level, text)."""
    return [
        (text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1, level, title)
        for start, end, _, level, title in find_headings(text)
    ]


def oracle_outline(text):
    """The same from markdown-it-py: headings that are children of the document itself."""
    tokens = ORACLE.parse(text)
    return [
        (
            token.map[0] + 1,
            token.map[1],
            int(token.tag[1]),
            " ".join(line.strip() for line in tokens[index + 1].content.split("\n")),
        )
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def test_levels_closing_marks_and_escapes():
    text = "# One\n## Two ##\n### Three #\n#### `#4` C#\n####### seven\n#tag\n#\n"
    assert outline(text) == [
        (1, 1, 1, "One"),
        (2, 2, 2, "Two"),
        (3, 3, 3, "Three"),
        (4, 4, 4, "`#4` C#"),
        (7, 7, 1, ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "```bash\n# a comment\n```\n",
        "~~~\n# a comment\n",
        "````\n```\n# still inside\n````\n",
        "<!--\n# commented out\n-->\n",
        "<!-- one line --> # no heading\n",
        "<div>\n# inside a block\n</div>\n",
        "<pre>\n\n# preformatted\n\n</pre>\n",
        "    # indented code\n",
        "- item\n\n  # in the item\n",
        "1. step\n   ```sh\n   # in a fence of the step\n   ```\n",
        "> # quoted\n",
        "> quoted\n---\n",
        "- item\n---\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n---\n",
        "***\n---\n",
        "[a]: https://example.com\n===\n",
        "-\n  foo\n-\n",
        "- - -\n===\n",
        "```\n```\n10. step\n---\n",
        "<!-- x -->\n2. step\n---\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text):
    assert outline(text) == oracle_outline(text) == []


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Title\n=====\n", [(1, 2, 1, "Title")]),
        ("two\nlines\n---\n", [(1, 3, 2, "two lines")]),
        ("***\nTitle\n---\n", [(2, 3, 2, "Title")]),
        ("- a\n# B\n", [(2, 2, 1, "B")]),
        ("- ```\n# B\n", [(2, 2, 1, "B")]),
        ("1. a\n   ```\n   code\n# B\n", [(4, 4, 1, "B")]),
        ("<div>\n\n# B\n", [(3, 3, 1, "B")]),
        ("text\n   # B\n", [(2, 2, 1, "B")]),
        ("```\n# no\n```\r\n# B\r\n", [(4, 4, 1, "B")]),
        ("# A\u2028still A\n", [(1, 1, 1, "A\u2028still A")]),
        ("<!-- a -->\n# B\n", [(2, 2, 1, "B")]),
        ("1. ~~~ sh\n   x\nTitle\n===\n", [(3, 4, 1, "Title")]),
        ("# a #b\n## c \\#\n", [(1, 1, 1, "a #b"), (2, 2, 2, "c \\#")]),
    ],
)
def test_headings_stand_where_they_stand(text, headings):
    assert outline(text) == headings
    assert oracle_outline(text) == headings


@pytest.mark.parametrize("heading", ["# A", "# A #  ", "A\n---"])
@pytest.mark.parametrize("blank", ["", "\n", " \t\r\n\n"])
def test_a_heading_knows_where_the_text_below_it_starts(heading, blank):
    above = f"{heading}\n{blank}"
    (found,) = find_headings(f"{above}text\n")
    assert found[2] == len(above)
    (found,) = find_headings(above)
    assert found[2] >= len(above)


def test_the_first_heading_is_found_without_reading_on():
    assert first_heading("text\n\n## A\n# B\n")[-1] == "A"
    assert first_heading("no heading\n") is None


LINES = st.sampled_from(
    ["# A", "## B ##", "text", "more text", "", "", "---", "===", "```", "```sh", "~~~", "- item",
     "1. step", "2. step", "  # indented", "  text", "    code", "> quote", "<div>", "</div>",
     "<!--", "-->", "<!-- x -->", "| a | b |", "|---|---|", "***", "   ```", "\ttab", "#", "-"]
)  # fmt: skip


@given(st.lists(LINES, max_size=12).map(lambda lines: "\n".join(lines) + "\n"))
def test_headings_of_any_mixture_of_blocks_are_whole_lines_in_order(text):
    lines = text.split("\n")
    last = 0
    for start, end, level, title in outline(text):
        assert last < start <= end
        assert 1 <= level <= 6
        assert title.split(" ")[0] in lines[start - 1]
        last = end


# no quotes here: a "===" that goes on with a quote's paragraph is taken for the paragraph's end
FLAT = st.sampled_from(
    ["# A", "## B ##", "text", "", "", "---", "===", "```", "~~~", "<!-- x -->", "***"]
)


@given(st.lists(FLAT, max_size=10).map(lambda lines: "\n".join(lines) + "\n"))
def test_without_nesting_every_mixture_agrees_with_the_oracle(text):
    assert outline(text) == oracle_outline(text)
