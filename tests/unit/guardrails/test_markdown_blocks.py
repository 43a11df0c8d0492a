"""What counts as code here is code to a Markdown parser, whether it lets HTML through or not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowledge_rag.guardrails.ledger import Ledger
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
