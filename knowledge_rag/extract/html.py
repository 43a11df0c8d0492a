"""Reads web pages as Markdown lines, in page order. Nothing is run or fetched.

Headings, paragraphs (a sentence per line), lists, quotes, code and tables of the page's main part are
kept. Navigation, forms and other furniture, pictures, link targets and text that the page hides are
left out; hidden text is reported. Style sheets are not applied, so text that only they hide is kept,
where lint can find it. A page that can't be decoded as declared is reported: a wrong guess gives
wrong lines.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborHTMLParser

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.markdown import MAX_HEADING
from knowledge_rag.core.repository_links import web_address
from knowledge_rag.extract.html_text import render

if TYPE_CHECKING:
    from collections.abc import Iterator


_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED_WITHIN: Final = 4_096
"""Bytes within which a page may declare its encoding; the standard requires 1,024."""
_DECLARED: Final = re.compile(
    rb"<meta\s[^>]{0,500}?charset\s{0,10}=\s{0,10}[\"']?\s{0,10}([A-Za-z0-9_:.-]{1,40})"
    rb"|^<\?xml\s[^>]{0,200}?encoding\s{0,10}=\s{0,10}[\"']([A-Za-z0-9_:.-]{1,40})[\"']",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(rb"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
_AS_WRITTEN: Final = re.compile(
    r"utf-?8|iso-8859-(?:[2-8]|1[03-6])|windows-125[0-8]|cp125[0-8]|koi8-[ru]|shift[_-]jis|sjis|"
    r"euc-(?:jp|kr)|iso-2022-jp|gbk|gb18030|big5|macintosh",
    re.IGNORECASE,
)
_OTHERWISE: Final = {
    # as in the Encoding Standard: how browsers interpret these names
    "ascii": "cp1252", "us-ascii": "cp1252", "latin1": "cp1252", "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252", "latin-1": "cp1252", "iso-8859-9": "cp1254", "gb2312": "gb18030",
    "utf-16": "utf-8", "utf-16le": "utf-8", "utf-16be": "utf-8", "macintosh": "mac-roman",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932", "euc-kr": "cp949",
}  # fmt: skip


def decode_page(name: str, data: bytes) -> str:
    """Decode a web page.

    Raises:
        UnreadableDocument: it is empty, binary, of an unknown encoding, or not in the declared one.
    """
    if not data:
        raise UnreadableDocument(name, "empty file")
    mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", ""))
    why = "as its first bytes indicate" if mark else ""
    if not encoding:
        encoding, why = _declared(name, data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        reason = f"not {encoding.upper()}, {why}: byte 0x{data[at]:02x} at offset {at}"
        raise UnreadableDocument(name, reason) from error
    if "\0" in text:
        raise UnreadableDocument(name, f"binary file: NUL at character {text.index(chr(0))}")
    return text


def codec_named(label: str) -> str | None:
    """Return Python's name for an encoding that web pages declare; ``None`` for any other."""
    label = label.strip().lower()
    if label in _OTHERWISE:
        return _OTHERWISE[label]
    return label if _AS_WRITTEN.fullmatch(label) else None


def declared_codec(data: bytes) -> str | None:
    """Return the encoding of a page without a byte-order mark; ``None`` if unknown."""
    try:
        return _declared("", data)[0]
    except UnreadableDocument:
        return None


def _declared(name: str, data: bytes) -> tuple[str, str]:
    found = _DECLARED.search(_COMMENT.sub(b" ", data[:_DECLARED_WITHIN]))
    if found is None:
        return "utf-8", "and no encoding is declared"
    label = (found[1] or found[2]).decode("ascii")
    codec = codec_named(label)
    if codec is None:
        raise UnreadableDocument(name, f"declares an unknown encoding: {label}")
    return codec, "as declared"


# HTML's own rules make every parser search the open elements at a tag, and repeat open formatting in every
# paragraph: 100,000 nested elements take half a minute, unclosed fonts all memory. A page that gets around this
# check ends the process that reads it, see :mod:`knowledge_rag.extract.confined`.
MAX_STEPS: Final = 500_000_000
"""Open elements summed over all tags; the parser takes five to fifteen nanoseconds for each."""
MAX_REMADE: Final = 4_000_000
"""Open formatting summed over all tags: elements that may be repeated, some hundred bytes each."""

_TAG: Final = re.compile(r"<(/?)([A-Za-z][^ \t\n\f\r/>]*)")
_ENDED_BY_OTHERS: Final = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
     "wbr", "html", "head", "body", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot",
     "colgroup", "option", "optgroup", "rt", "rp", "a", "nobr")
)  # fmt: skip
"""Elements without an end tag, and those that authors leave open because the next one ends them."""
_FORMATTING: Final = frozenset(
    ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u")
)


def check_cost(name: str, page: str) -> None:
    """Refuse a page that would take a parser too long, or too much memory.

    Raises:
        UnreadableDocument: its elements are nested too deeply for its size, or left open.
    """
    opened: Counter[str] = Counter()
    elements = formatting = steps = remade = 0
    for tag in _TAG.finditer(page):
        element = tag[2].lower()
        change = -1 if tag[1] else 1
        if element not in _ENDED_BY_OTHERS and (change > 0 or opened[element]):
            opened[element] += change
            elements += change
            formatting += change * (element in _FORMATTING)
        steps += elements
        remade += formatting
        if steps > MAX_STEPS or remade > MAX_REMADE:
            reason = "elements nested too deeply, or too many never closed"
            raise UnreadableDocument(name, reason)


MAX_BYTES: Final = 10 * 1024 * 1024
"""A larger page is a dump; some six seconds of reading."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web page: its title, its canonical http or https address, Markdown lines, and notes."""

    title: str
    address: str
    text: str
    notes: tuple[str, ...]


def read_html(name: str, data: bytes) -> WebPage:
    """Read a web page.

    Raises:
        UnreadableDocument: it is empty, too large, in no known encoding, nested too deeply, or has no
        text.
    """
    if len(data) > MAX_BYTES:
        raise UnreadableDocument(name, f"a page of {len(data)} bytes, at most {MAX_BYTES} are read")
    page = decode_page(name, data)
    check_cost(name, page)
    parsed = LexborHTMLParser(page)
    text, hidden = render(parsed)
    if not text.strip():
        raise UnreadableDocument(name, "a page without text: is it generated by a script?")
    return WebPage(_title(parsed), _address(parsed), text, tuple(_notes(hidden)))


def _notes(hidden: list[int]) -> Iterator[str]:
    if hidden:
        what = "element" if len(hidden) == 1 else "elements"
        yield (
            f"left out text that the page hides from readers: {len(hidden)} {what}, "
            f"{sum(hidden)} characters"
        )


def _title(parsed: LexborHTMLParser) -> str:
    title = parsed.css_first("head > title")
    whole = (title.text() if title is not None else "") or ""
    if (
        parsed.css_first("#title-heading #title-text") is not None
    ):  # Confluence puts the space's name first
        whole = whole.partition(" : ")[2] or whole
    return " ".join(whole.split())[:MAX_HEADING]


def _address(parsed: LexborHTMLParser) -> str:
    link = parsed.css_first("head > link[rel~=canonical]")
    return web_address((link.attributes.get("href") or "") if link is not None else "") or ""
