"""Reads PDFs: the text of each page, in the page's own order.

The reader is pdfium, which browsers use. It joins words hyphenated at a line's end; here they are separated
again, because the lines are cited. Text in pictures is not recognised.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

import pypdfium2  # type: ignore[import-untyped]  # it has no types
from pypdfium2 import PdfiumError
from pypdfium2.raw import (  # type: ignore[import-untyped]
    FPDF_ERR_PASSWORD,
    FPDF_ERR_SECURITY,
)

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.markdown import MAX_HEADING

if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_PAGES: Final = 2_000
"""Maximum pages; a longer document has to be split. Some three seconds of reading."""
MAX_CHARACTERS: Final = 20_000_000
"""Maximum characters of all pages together: a small file may decompress to any size."""

DRAWN_WIDTH: Final = 1_000
MAX_DRAWN_HEIGHT: Final = 3_000
"""Pixels of a drawn page."""

_pdfium = Lock()
"""Only one thread at a time may use pdfium."""

_HYPHEN: Final = re.compile(r"[\x02\ufffe](?:\r\n?|\n)?")
"""pdfium's mark where it joined a word hyphenated at a line's end."""
_LINE_END: Final = re.compile(r"[ \t]*(?:\r\n?|\n)")
_WRITTEN_BY: Final = re.compile(r"^Microsoft (?:Word|PowerPoint|Excel) - ")
_SHOWN_PAGES: Final = 10


@dataclass(frozen=True, slots=True)
class PdfText:
    """A PDF's title, and the text of every page, ``""`` if it has none, without blank lines at the ends."""

    title: str
    pages: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PdfPicture:
    """A page's appearance: a PNG in base64."""

    png: str


def draw_page(name: str, data: bytes, number: int) -> PdfPicture:
    """Draw a page of a PDF, DRAWN_WIDTH pixels wide, or less if it is very tall.

    Raises:
        UnreadableDocument: the file can't be opened, or has no such page.
    """
    with _pdfium, closing(_opened(name, data)) as document:
        if not 1 <= number <= len(document):
            raise UnreadableDocument(name, f"it has no page {number}")
        try:
            with closing(document[number - 1]) as page:
                width, height = page.get_size()
                scale = min(DRAWN_WIDTH / width, MAX_DRAWN_HEIGHT / height)
                with closing(page.render(scale=scale, rev_byteorder=True)) as drawn:
                    rows = bytes(drawn.buffer)
                    shape = (drawn.width, drawn.height, drawn.stride, drawn.n_channels)
        except (PdfiumError, ZeroDivisionError) as error:
            raise UnreadableDocument(name, f"page {number} is damaged") from error
    return PdfPicture(base64.b64encode(_png(rows, *shape)).decode())


def _png(rows: bytes, width: int, height: int, stride: int, channels: int) -> bytes:
    """Return a picture with 8 bits per channel as a PNG: grey (1 channel), RGB (3) or RGB and an ignored one (4)."""
    colour = 0 if channels == 1 else 2
    lines = bytearray()
    for at in range(0, height * stride, stride):
        line = rows[at : at + width * channels]
        if channels == 4:
            kept = bytearray(width * 3)
            for channel in range(3):
                kept[channel::3] = line[channel::4]
            line = bytes(kept)
        lines += b"\0" + line  # no filter
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )


def read_pdf(name: str, data: bytes) -> PdfText:
    """Read the text of a PDF's pages.

    Raises:
        UnreadableDocument: it is empty, not a PDF, damaged, password-protected, too long, or has no text
        at all.
    """
    if not data:
        raise UnreadableDocument(name, "empty file")
    with _pdfium, closing(_opened(name, data)) as document:
        count = len(document)
        if not 1 <= count <= MAX_PAGES:
            reason = f"{count} pages, at most {MAX_PAGES} are read" if count else "it has no pages"
            raise UnreadableDocument(name, reason)
        title = _title(document)
        pages, damaged = _pages(name, document, count)
    bare = [n for n, page in enumerate(pages, 1) if not page and n not in damaged]
    if len(bare) + len(damaged) == count:
        reason = (
            "no page of it can be read: the file is damaged"
            if len(damaged) == count
            else f"no text on any of its {count} pages: pictures of text need recognition (OCR) first"
        )
        raise UnreadableDocument(name, reason.replace("any of its 1 pages", "its one page"))
    notes = [f"no text on {_listed(bare)}"] if bare else []
    notes += [f"damaged and left out: {_listed(damaged)}"] if damaged else []
    return PdfText(title, tuple(pages), tuple(notes))


def _opened(name: str, data: bytes) -> pypdfium2.PdfDocument:
    with suppress(PdfiumError):
        return pypdfium2.PdfDocument(data)
    with suppress(PdfiumError):  # some failures leave the previous error's code: this resets it
        pypdfium2.PdfDocument(b"no PDF").close()
    try:
        return pypdfium2.PdfDocument(data)
    except PdfiumError as error:
        if error.err_code == FPDF_ERR_PASSWORD:
            reason = "encrypted: it needs a password"
        elif error.err_code == FPDF_ERR_SECURITY:
            reason = "encrypted in a way that can't be read"
        elif not data[:1024].lstrip().startswith(b"%PDF"):
            reason = "not a PDF, despite its name"
        else:
            reason = "a damaged PDF: it ends early, or its parts can't be found"
        raise UnreadableDocument(name, reason) from error


def _pages(name: str, document: pypdfium2.PdfDocument, count: int) -> tuple[list[str], list[int]]:
    """Return the text of every page, and the numbers of the unreadable ones."""
    pages: list[str] = []
    damaged: list[int] = []
    total = 0
    for number in range(1, count + 1):
        try:
            text = _page(document, number - 1)
        except PdfiumError:
            text = ""
            damaged.append(number)
        total += len(text)
        if total > MAX_CHARACTERS:
            raise UnreadableDocument(
                name, f"more than {MAX_CHARACTERS} characters of text by page {number}"
            )
        pages.append(text)
    return pages, damaged


def _page(document: pypdfium2.PdfDocument, index: int) -> str:
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        if text_page.count_chars() > MAX_CHARACTERS:
            return " " * (MAX_CHARACTERS + 1)  # too long to extract; the caller counts it
        text = text_page.get_text_bounded()
    return _lines(text)


def _lines(text: str) -> str:
    text = _HYPHEN.sub("-\n", text.replace("\0", ""))
    lines = _LINE_END.sub("\n", text).split("\n")
    whole = "\n".join(line.rstrip(" \t") for line in lines).strip("\n")
    return whole if whole.strip() else ""


def _title(document: pypdfium2.PdfDocument) -> str:
    try:
        title = document.get_metadata_value("Title")
    except (PdfiumError, UnicodeDecodeError):  # half a character, in a damaged file
        return ""
    title = _WRITTEN_BY.sub("", " ".join(title.replace("\0", "").split()))
    return "" if title.lower() in ("untitled", "title") else title[:MAX_HEADING]


def _listed(pages: Iterable[int]) -> str:
    numbers = list(pages)
    shown = ", ".join(map(str, numbers[:_SHOWN_PAGES]))
    more = f" and {len(numbers) - _SHOWN_PAGES} more" if len(numbers) > _SHOWN_PAGES else ""
    return f"page{'s' if len(numbers) > 1 else ''} {shown}{more}"
