"""Reads the bytes of a file of any kind into a document and its lines.

Markdown and plain text are cited as they are. A web page or a PDF has no lines of its own: its text is
extracted, the same text for the same bytes, and *those* lines are cited, stored and compared.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.documents import describe, front_matter_end, read_document
from knowledge_rag.core.formats import (
    OFFICE_SUFFIXES,
    PDF_SUFFIXES,
    WEB_SUFFIXES,
    is_extracted,
    is_markup,
)
from knowledge_rag.core.headings import Kind, kind_of_heading, names_only_kind
from knowledge_rag.core.markdown import first_heading
from knowledge_rag.core.metadata import (
    ALERTS,
    DOCUMENT_TYPE,
    HISTORY_FIELDS,
    LIST_FIELDS,
    SOURCE_URL,
)
from knowledge_rag.extract.confined import HTML_SECONDS, MAX_SECONDS, read_confined
from knowledge_rag.extract.markup import MARKUP_VERSION, notes_on, shape_of
from knowledge_rag.extract.sidecar import Sidecar, check_fields, read_sidecar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.chunking import ChunkingSettings
    from knowledge_rag.core.chunks import Chunk, Document, FrontMatter

_NOT_ITS_OWN: Final = (SOURCE_URL, DOCUMENT_TYPE, *HISTORY_FIELDS)
"""Fields that a fetched page can't set itself: it could pose as another's, as a runbook, or as fresh."""

EXTRACTION: Final = 6
"""Raised by every change that gives other lines for the same page or PDF."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a PDF that has text: its number and first line, both 1-based."""

    number: int
    start_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Extracted:
    r"""A document with the text that its line numbers refer to.

    Args:
        document: of the chunks.
        text: of a page or a PDF: lines ended by ``\n``, blank ones empty.
        pages: of a PDF, those with text, in order; ``()`` for any other document.
        notes: sentences about omitted content, without the document's name.
        shape: for other markup, the text as Markdown, line for line.
        fetched: whether it is text from the web, which can't declare its own type.
    """

    document: Document
    text: str
    pages: tuple[Page, ...] = ()
    notes: tuple[str, ...] = ()
    shape: str | None = None
    fetched: bool = False


def extract(source_file: str, data: bytes, beside: bytes | None = None) -> Extracted:
    """Read one file of the corpus; its suffix determines its kind.

    Args:
        source_file: its path relative to the corpus root, ``/``-separated.
        data: its bytes.
        beside: its metadata file, see :mod:`knowledge_rag.extract.sidecar`.

    Raises:
        UnreadableDocument: it yields no text; the message says why.
        InvalidCitation: ``source_file`` is not such a path.
    """
    check_source_file(source_file)
    sidecar = read_sidecar(beside) if beside is not None else Sidecar()
    suffix = _suffix(source_file)
    if suffix in PDF_SUFFIXES:
        return _pdf(source_file, data, sidecar)
    if suffix in (*WEB_SUFFIXES, *OFFICE_SUFFIXES):
        return _page(source_file, data, sidecar, suffix)
    return _text(source_file, data, sidecar)


def cut(extracted: Extracted, settings: ChunkingSettings | None = None) -> list[Chunk]:
    """Cut a document into chunks, in line order; each of a PDF's is on one page."""
    if not extracted.pages:
        chunks = chunk_text(extracted.document, extracted.text, settings, extracted.shape)
        if not _is_runbook(extracted, chunks):
            return chunks
        document = replace(extracted.document, document_type=DocumentType.RUNBOOK)
        return [it._replace(document=document) for it in chunks]
    return [
        chunk._replace(
            start_line=chunk.start_line + page.start_line - 1,
            end_line=chunk.end_line + page.start_line - 1,
            page=page.number,
        )
        for page in extracted.pages
        for chunk in chunk_text(extracted.document, page.text, settings)
    ]


def _is_runbook(extracted: Extracted, chunks: Sequence[Chunk]) -> bool:
    """Whether a page of otherwise undeclared type is a runbook.

    It is if its front matter names alerts, or a heading says that its section diagnoses or fixes a problem.
    """
    document = extracted.document
    is_said = extracted.fetched or DOCUMENT_TYPE in document.front_matter
    if is_said or document.document_type is not DocumentType.OTHER:
        return False
    names_alerts = any(document.front_matter.get(it) for it in LIST_FIELDS[ALERTS])
    headings = {heading for chunk in chunks for heading in chunk.section_path}
    return names_alerts or any(
        kind_of_heading(it) in (Kind.DIAGNOSIS, Kind.RESOLUTION) and names_only_kind(it)
        for it in headings
    )


def fingerprint(source_file: str, beside: bytes | None) -> str:
    """Return the inputs of a file's chunks other than its own bytes; ``""`` for text alone.

    In the metadata file only the fields that are read count, not when a page was fetched.
    """
    parts = [f"extract-{EXTRACTION}"] if is_extracted(source_file) else []
    parts += [f"markup-{MARKUP_VERSION}"] if is_markup(source_file) else []
    if beside is not None:
        sidecar = read_sidecar(beside)
        stranger = ["fetched"] if sidecar.fetched and not is_extracted(source_file) else []
        said = json.dumps([sidecar.fields, sidecar.notes, *stranger], sort_keys=True)
        parts.append(f"beside-{hashlib.sha256(said.encode()).hexdigest()[:16]}")
    return " ".join(parts)


def _text(source_file: str, data: bytes, sidecar: Sidecar) -> Extracted:
    document, text = read_document(source_file, data, sidecar.fields)
    shape = shape_of(source_file, text)
    if shape is not None:
        found = first_heading(shape, front_matter_end(shape))
        fields = dict(document.front_matter)
        document = describe(source_file, data, fields, found[-1] if found else "")
    read = _own_text(document, data, text, sidecar)
    included = notes_on(text) if shape is not None else ()
    return replace(read, shape=shape, notes=(*read.notes, *included))


def _own_text(document: Document, data: bytes, text: str, sidecar: Sidecar) -> Extracted:
    if sidecar.fetched:
        return _fetched_text(document, data, text, sidecar)
    url = document.front_matter.get(SOURCE_URL)
    checked = check_fields({SOURCE_URL: url} if url else {}, "front matter")
    if checked.notes:
        fields = {k: v for k, v in document.front_matter.items() if k != SOURCE_URL}
        document = replace(document, front_matter=fields)
    return Extracted(document, text, notes=(*sidecar.notes, *checked.notes))


def _fetched_text(document: Document, data: bytes, text: str, sidecar: Sidecar) -> Extracted:
    """Return text from the web: it can't declare its own source or type."""
    said = {name: sidecar.fields[name] for name in _NOT_ITS_OWN if name in sidecar.fields}
    kept = {k: v for k, v in document.front_matter.items() if k not in _NOT_ITS_OWN} | said
    forged = [name for name in _NOT_ITS_OWN if document.front_matter.get(name) != kept.get(name)]
    notes = (f"front matter: a fetched page can't set {name}; left out" for name in forged)
    document = describe(document.source_file, data, kept, document.title)
    return Extracted(document, text, notes=(*sidecar.notes, *notes), fetched=True)


def _page(source_file: str, data: bytes, sidecar: Sidecar, suffix: str) -> Extracted:
    """Read a web page, or an office file, which may have its title in its text."""
    is_web = suffix in WEB_SUFFIXES
    kind, seconds = ("html", HTML_SECONDS) if is_web else (suffix.removeprefix("."), MAX_SECONDS)
    read = read_confined(kind, source_file, data, seconds)
    heading = None if is_web else first_heading(read["text"])
    title = read["title"] or (heading[-1] if heading else "")
    address = read["address"]
    found: FrontMatter = {SOURCE_URL: address} if address and not sidecar.fetched else {}
    document = describe(source_file, data, found | sidecar.fields, title)
    return Extracted(document, read["text"], notes=(*sidecar.notes, *read["notes"]))


def _pdf(source_file: str, data: bytes, sidecar: Sidecar) -> Extracted:
    read = read_confined("pdf", source_file, data)
    lines: list[str] = []
    pages = []
    for number, text in enumerate(read["pages"], start=1):
        if text:
            lines += [""] if lines else []
            pages.append(Page(number, len(lines) + 1, text))
            lines += text.split("\n")
    document = describe(source_file, data, sidecar.fields, read["title"])
    text = "\n".join([*lines, ""])
    return Extracted(document, text, tuple(pages), (*sidecar.notes, *read["notes"]))


def _suffix(source_file: str) -> str:
    name = source_file.rpartition("/")[2]
    return "." + name.rpartition(".")[2].lower() if "." in name else ""
