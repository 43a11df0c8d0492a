"""Evidence as search-result blocks of the Converse API, and back.

One source line is one ``content`` item, so the offsets that the API cites are offsets of lines. The
block's ``source`` names file and lines like a link to them does: ``runbooks/rds.md#L5-L10``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.citations import Citation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.guardrails.ledger import Evidence

_SOURCE: Final = re.compile(
    r"(?P<file>.+)#L(?P<first>\d{1,10})(?:-L(?P<last>\d{1,10}))?", re.DOTALL
)
_BLANK: Final = " "
"""Sent for an empty line: the API may refuse an empty item, and the ledger has the line itself."""


def to_search_result(evidence: Evidence) -> dict[str, Any]:
    """Give a ``searchResult`` block with one item a line, citations enabled."""
    citation = evidence.citation
    lines = evidence.content.split("\n")
    return {
        "source": source_of(citation),
        "title": citation.section_header or citation.source_file,
        "content": [{"text": line or _BLANK} for line in lines],
        "citations": {"enabled": True},
    }


def source_of(citation: Citation) -> str:
    """Give the ``source`` of a block: file and lines."""
    return f"{citation.source_file}#L{citation.start_line}-L{citation.end_line}"


def citation_of(source: object, title: object = "") -> Citation | None:
    """Read file and lines out of a block's ``source``; ``None`` if it names none.

    Raises:
        InvalidCitation: it names a file or lines that no real file can have.
    """
    found = _SOURCE.fullmatch(source) if isinstance(source, str) else None
    if not found:
        return None
    first = int(found["first"])
    header = title if isinstance(title, str) and "\n" not in title else ""
    return Citation(found["file"], first, int(found["last"] or first), header)


def text_of(block: Mapping[str, Any]) -> str | None:
    """Give a block's lines as one text; ``None`` if its content is no list of texts."""
    items = block.get("content")
    if not isinstance(items, list) or not items:
        return None
    texts = [item.get("text") if isinstance(item, dict) else None for item in items]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "\n".join("" if text == _BLANK else str(text) for text in texts)
