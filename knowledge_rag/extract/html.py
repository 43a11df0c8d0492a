"""Web pages: their text as Markdown lines, in the order of the page. Nothing is run or fetched.

Kept are headings, paragraphs (a sentence a line), lists, quotes, code and tables of the part that the
page calls its main one. Left out are navigation, forms and other furniture, pictures, link targets, and
what a reader of the page would not see: text hidden by an element's own attributes is told.
Style sheets are not applied, so text that only they hide is kept, where lint can find it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.markdown import MAX_HEADING
from knowledge_rag.extract.addresses import web_address
from knowledge_rag.extract.html_charset import decode_page
from knowledge_rag.extract.html_cost import check_cost
from knowledge_rag.extract.html_render import render
from knowledge_rag.extract.html_tree import main_part

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES: Final = 10 * 1024 * 1024
"""A larger page is a dump; some six seconds of reading."""


@dataclass(frozen=True, slots=True)
class WebPage:
    r"""What a web page says.

    Args:
        title: of its head, else ``""``.
        address: that it gives itself (its canonical link), an http or https one; else ``""``.
        text: Markdown, lines ended by ``\n``, blank ones empty.
        notes: sentences about what was left out.
    """

    title: str
    address: str
    text: str
    notes: tuple[str, ...]


def read_html(name: str, data: bytes) -> WebPage:
    """Read a web page.

    Raises:
        UnreadableDocument: it is empty, too large, in no known encoding, nested beyond reading, or
            holds no text.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableDocument(name, f"a page of {len(data)} bytes, at most {MAX_BYTES} are read")
    page = decode_page(name, data)
    check_cost(name, page)
    parsed = LexborHTMLParser(page)
    root = main_part(parsed)
    text, hidden = render(root) if root is not None else ("", [])
    if not text.strip():
        raise UnreadableDocument(name, "a page without text: is it written by a script?")
    return WebPage(_title(parsed), _address(parsed), text, tuple(_notes(hidden)))


def _notes(hidden: list[int]) -> Iterator[str]:
    if hidden:
        what = "element" if len(hidden) == 1 else "elements"
        yield (
            f"left out text that the page hides from its readers: {len(hidden)} {what}, "
            f"{sum(hidden)} characters"
        )


def _title(parsed: LexborHTMLParser) -> str:
    title = parsed.css_first("head > title")
    whole = (title.text() if title is not None else "") or ""
    return " ".join(whole.split())[:MAX_HEADING]


def _address(parsed: LexborHTMLParser) -> str:
    link = parsed.css_first("head > link[rel~=canonical]")
    return web_address((link.attributes.get("href") or "") if link is not None else "") or ""
