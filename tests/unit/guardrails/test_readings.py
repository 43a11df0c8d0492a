"""What counts as code here is code to a Markdown parser, whether it lets HTML through or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.readings import is_open, views_of
from knowledge_rag.guardrails.verify import verify
from tests.support.examples import up_to

REFERENCE = "[77]"
PIECES = [
    REFERENCE, "word ", " ", "  ", "    ", "\n", "\n\n", "`", "``", "```", "~~~", "```\n", "~~~\n", "- ",
    "1. ", "> ", "# ", "<a ", "<b t='", "'>", "<!--", "-->", "<div>\n", "\t", "\\", "*", "\r\n",
]  # fmt: skip
ANSWERS = st.lists(st.sampled_from(PIECES), max_size=18).map("".join)
KINDS_OF_TEXT = ("text", "html_inline", "text_special")


def shown_as_text(markdown, text):
    for token in markdown.parse(text):
        if token.type == "html_block":
            yield token.content
        for part in token.children or ():
            if part.type in KINDS_OF_TEXT:
                yield part.content


@pytest.mark.parametrize("html", [True, False])
@given(answer=ANSWERS)
@up_to(examples=300)
def test_no_reference_that_a_parser_shows_as_text_escapes(html, answer):
    shown = verify(answer, Ledger()).text
    markdown = MarkdownIt("commonmark", {"html": html})
    for text in shown_as_text(markdown, shown):
        assert REFERENCE not in text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a `b` ``c ` d`` \\`e` f`", ["`b`", "``c ` d``", "` f`"]),
        ("a `b\nc` `d`", ["`d`"]),
        ("- a\n\n  ```x\n  [9]\n  ```\n", ["  ```x\n  [9]\n  ```\n"]),
        ("a\n\n    b\r\n    c\r\n", ["    b\r\n    c\r\n"]),
        ("| a |\n|---|\n| `b` |\n", ["`b`"]),
        ("> ```\n> b\n", ["> ```\n> b\n"]),
        ("```\nb", ["```\nb"]),
    ],
)
def test_code_is_known_by_its_place(text, code):
    for view in views_of(text):
        assert [text[start:end] for start, end in sorted([*view.code, *view.spans])] == code


@pytest.mark.parametrize(
    ("text", "views"),
    [
        ("a", 1),
        ("a < b | c", 1),
        ("`<a>`", 1),
        ("<a>", 2),
        ("a | b\n-|-\n", 2),
        ("<a> | b\n-|-\n", 4),
    ],
)
def test_a_text_is_read_as_often_as_readers_differ(text, views):
    assert len(views_of(text)) == views


@pytest.mark.parametrize(
    ("text", "open_to"),
    [("a\n\n", 0), ("- a\n\n", 0), ("```\na\n\n", 1), ("<!-- a\n\n", 1), ("- ```\n\n", 0)],
)
def test_a_block_is_open_while_a_line_at_the_left_edge_belongs_to_it(text, open_to):
    assert sum(view.is_open for view in views_of(text)) == open_to
    assert is_open(text) == bool(open_to)
