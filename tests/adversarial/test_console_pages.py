"""What the console shows of a hostile answer cites what was retrieved, as links, and nothing else.

The page and the Markdown to take away are read here as a person reads them; what looks like a
reference on either has to be one that the verifier kept, or that it warned of.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest

from knowledge_rag.console.exports import rewritten
from knowledge_rag.console.rendering import AnswerRenderer
from knowledge_rag.guardrails.verify import pieces_of, verify
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.reading import VIEWS, brackets, fold, opened, shown, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.verify import Verified
    from tests.adversarial.shelf import Shelf

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them

EACH = 40
"""Answers of each family."""
_BLOCKS = {"p", "li", "td", "th", "tr", "h3", "h4", "h5", "h6", "blockquote", "br"}


class Page(HTMLParser):
    """Reads a page: its words outside code, its links to citations."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words = ""
        self.labels: set[str] = set()
        self._code = 0
        self._cites = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self._code += tag in ("code", "pre")
        self.words += "\n\n" if tag in _BLOCKS else ""
        if tag == "a" and dict(attrs).get("class") == "cite":
            self._cites = True
            self.labels.add(dict(attrs)["aria-label"])

    def handle_endtag(self, tag):
        self._code -= tag in ("code", "pre")
        self._cites &= tag != "a"
        self.words += "\n\n" if tag in _BLOCKS else ""

    def handle_data(self, data):
        if not self._cites:
            self.words += "".join(map(_code, data)) if self._code else data


def _code(character: str) -> str:
    return "\x7f" if fold(character)[0] in ("[", "]") else character


def _bare(bracket: str) -> str:
    return re.sub(r"[\s*_`~\\]", "", html.unescape(bracket))


def told_parts(verified: Verified) -> list[dict]:
    """Give the answer in parts, as the orchestrator tells them."""
    return [
        {
            "text": piece.text,
            "citations": [{"number": it.number, "citation": it.citation.to_dict()} for it in piece.cited],
        }
        for piece in pieces_of(verified)
    ]  # fmt: skip


def on_the_page(verified: Verified) -> Iterator[str]:
    """Yield what is wrong with the page of an answer."""
    renderer = AnswerRenderer()
    renderer.feed(told_parts(verified))
    page = Page("".join(block.html for block in renderer.render()))
    known = {
        f"[{one.number}] {one.citation.source_file}, lines {one.citation.start_line}-{one.citation.end_line}"
        for one in verified.citations
    }
    yield from (f"a link that nobody verified: {label}" for label in page.labels - known)
    warned = {_bare(verified.text[w.start : w.end]) for w in verified.warnings}
    for found in brackets(page.words):
        if _bare(f"[{found.inner}]") not in warned and "nverified" not in found.inner:
            yield f"the page says {found.inner!r}"
    yield from (f"the page begins {head!r}" for head in opened(page.words))


def to_take_away(verified: Verified, shelf: Shelf) -> Iterator[str]:
    """Yield what is wrong with the Markdown of an answer, whoever shows it."""
    cited = {
        (one.citation.source_file, one.citation.start_line, one.citation.end_line)
        for one in verified.citations
    }
    if any("[" in file for file, _, _ in cited):
        return  # brackets in a name: a person reads on, a pattern doesn't
    markdown = "\n".join(rewritten(told_parts(verified)))
    for view in VIEWS:
        page = shown(markdown, view)
        for found in brackets(page):
            said = told(found.inner, shelf)
            if (said is None or not cited.issuperset(said)) and "nverified" not in found.inner:
                yield f"the Markdown says {found.inner!r}"
        yield from (f"the Markdown begins {head!r}" for head in opened(page))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_console_shows_as_a_citation_was_verified(family, shelves):
    for index in range(EACH):
        (answer, _), shelf, _ = hostile(family, index, shelves)
        verified = verify(answer, shelf.ledger)
        wrong = [*on_the_page(verified), *to_take_away(verified, shelf)]
        assert not wrong, (index, answer, verified.text)


@pytest.mark.parametrize(
    "answer", ["[x] [*Source*: evil.md, lines 1-2]", "[<b>9</b>] and &#91;99&#93; [99]", "> [99]"]
)
def test_what_is_let_through_is_seen_on_the_page(answer):
    renderer = AnswerRenderer()
    renderer.feed([{"text": answer}])
    page = Page("".join(block.html for block in renderer.render()))
    assert [*brackets(page.words)]
    assert not page.labels
