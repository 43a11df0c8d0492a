"""From a file's bytes to a document: its text, title and kind."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from knowledge_rag.core.chunks import Document, DocumentType
from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.context import split_words
from knowledge_rag.core.front_matter import parse_front_matter
from knowledge_rag.core.lines import decode
from knowledge_rag.core.markdown import MAX_HEADING, first_heading

if TYPE_CHECKING:
    from knowledge_rag.core.chunks import FrontMatter

_KINDS = (
    (re.compile(r"post-?_?mortem|incident-?_?report", re.IGNORECASE), DocumentType.POSTMORTEM),
    (re.compile(r"run-?_?book|play-?_?book", re.IGNORECASE), DocumentType.RUNBOOK),
)
_SUFFIXES = {".html": DocumentType.WEB, ".htm": DocumentType.WEB, ".pdf": DocumentType.PDF}


def read_document(
    source_file: str, data: bytes, given: FrontMatter | None = None
) -> tuple[Document, str]:
    """Read one text file of the corpus.

    Args:
        source_file: its path relative to the corpus root, ``/``-separated.
        data: its bytes.
        given: what is said of it beside it; its own front matter goes before.

    Returns:
        The document, and its text as the lines are counted in it.

    Raises:
        UnreadableDocument: the bytes are empty, binary or not UTF-8.
        InvalidCitation: ``source_file`` is no such path.
    """
    text = decode(data, check_source_file(source_file))
    own, body = parse_front_matter(text)
    fields = {**(given or {}), **own}
    heading = first_heading(text, body)
    return describe(source_file, data, fields, heading[-1] if heading else ""), text


def describe(source_file: str, data: bytes, fields: FrontMatter, found: str) -> Document:
    """Describe a file of any kind.

    Args:
        source_file: its path relative to the corpus root, ``/``-separated.
        data: its bytes.
        fields: what is said of it, by its front matter or beside it.
        found: the title that was found in it, ``""`` where there is none.
    """
    return Document(
        source_file=source_file,
        sha256=hashlib.sha256(data).hexdigest(),
        title=_title(source_file, fields, found),
        document_type=_document_type(source_file, fields),
        front_matter=fields,
    )


def _title(source_file: str, fields: FrontMatter, found: str) -> str:
    title = fields.get("title")
    if isinstance(title, str) and title:
        return title[:MAX_HEADING]
    if found:
        return found
    name = source_file.rpartition("/")[2]
    return split_words(name.rpartition(".")[0] or name)


def _document_type(source_file: str, fields: FrontMatter) -> DocumentType:
    """Front matter decides, else the ending of a page or a PDF, else what folders and name say."""
    declared = fields.get("document_type")
    if isinstance(declared, str) and declared in set(DocumentType):
        return DocumentType(declared)
    *folders, name = source_file.split("/")
    stem, dot, suffix = name.rpartition(".")
    if kind := _SUFFIXES.get(dot + suffix.lower()):
        return kind
    for part in [*reversed(folders), stem]:
        for pattern, kind in _KINDS:
            if pattern.search(part):
                return kind
    return DocumentType.OTHER
