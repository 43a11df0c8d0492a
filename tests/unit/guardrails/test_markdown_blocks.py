"""What counts as code here is code to a Markdown parser, whether it lets HTML through or not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.markdown_blocks import Blocks, Kind, next_line, plain_code_end
from knowledge_rag.guardrails.verify import verify

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
@settings(max_examples=300)
def test_no_reference_that_a_parser_shows_as_text_escapes(html, answer):
    shown = verify(answer, Ledger()).text
    markdown = MarkdownIt("commonmark", {"html": html})
    for text in shown_as_text(markdown, shown):
        assert REFERENCE not in text


@given(st.lists(st.sampled_from([*PIECES, "     code\n", "| a"]), max_size=18).map("".join))
@settings(max_examples=300)
def test_lines_of_code_passed_over_at_once_go_on_as_each_of_them_would(text):
    for opening in ("```", "~~~~", "- ```", "1. ~~~", "> ```"):
        _, blocks = next_line(Blocks(), opening)
        for line in text[: plain_code_end(blocks, text, 0)].split("\n")[:-1]:
            assert next_line(blocks, line) == (Kind.CODE, blocks)
