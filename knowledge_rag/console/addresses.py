"""Addresses of a document and its lines in the console."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from knowledge_rag.core.citations import Citation


def document_url(source_file: str, start_line: int = 0, end_line: int = 0) -> str:
    """Return the path of a document's page, with the lines, if any, in its fragment."""
    lines = f"#L{start_line}-L{end_line}" if start_line else ""
    return "/doc/" + quote(source_file) + lines


def citation_url(citation: Citation) -> str:
    """Return the path of the page that shows the lines of a citation."""
    return document_url(citation.source_file, citation.start_line, citation.end_line)
