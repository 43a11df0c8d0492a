"""Addresses of documents and of their lines: ``knowledge:///runbooks/rds.md?lines=5-10``.

The authority is empty, because clients write it in lower case; lines stand in the query, because
some clients cut a fragment off, which would give the whole document for its lines. Read is the
fragment too, ``#L5-L10``, as editors and code hosts write it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote_to_bytes

from knowledge_rag.core.citations import MAX_LINE, MAX_PATH
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from knowledge_rag.core.citations import Citation

SCHEME: Final = "knowledge"
TEMPLATE: Final = f"{SCHEME}:///{{+path}}{{?lines}}"
"""RFC 6570; ``lines`` is ``a-b``, or ``a`` alone."""

_MAX_CHARACTERS: Final = 12 * MAX_PATH + 64
"""A path's characters take four bytes at most, and each byte three characters."""

_LINK: Final = re.compile(
    rf"{SCHEME}:///(?P<path>[^?#]+)"
    r"(?:\?lines=(?P<first>[0-9]{1,10})(?:-(?P<last>[0-9]{1,10}))?"
    r"|#L(?P<from>[0-9]{1,10})(?:-L?(?P<to>[0-9]{1,10}))?)?"
)


@dataclass(frozen=True, slots=True)
class Link:
    """What an address names.

    Args:
        source_file: path of a document, relative to the corpus root.
        start_line: first line, 1-based; 0 for the whole document.
        end_line: last line, inclusive; 0 for the whole document.
    """

    source_file: str
    start_line: int = 0
    end_line: int = 0

    @classmethod
    def to(cls, citation: Citation) -> Link:
        """Link to cited lines."""
        return cls(citation.source_file, citation.start_line, citation.end_line)

    def __str__(self) -> str:
        """Give the address."""
        lines = f"?lines={self.start_line}-{self.end_line}" if self.start_line else ""
        return f"{SCHEME}:///{quote(self.source_file, safe='/')}{lines}"


def mime_type(source_file: str) -> str:
    """Give the media type of a document's text, by its name: a page's is Markdown, extracted."""
    return "text/plain" if source_file.lower().endswith((".txt", ".pdf")) else "text/markdown"


def parse_link(address: str) -> Link:
    """Read an address; whether there is such a document is for the knowledge base to say.

    Raises:
        InvalidRequest: it is no address of a document or of lines.
    """
    found = _LINK.fullmatch(address) if len(address) <= _MAX_CHARACTERS else None
    if found is None:
        raise InvalidRequest(f"not an address of a document or its lines; those are {TEMPLATE}")
    try:
        source_file = unquote_to_bytes(found["path"]).decode()
    except UnicodeError as error:
        raise InvalidRequest("the path in the address is not UTF-8, percent-encoded") from error
    first = found["first"] or found["from"]
    if first is None:
        return Link(source_file)
    start, end = int(first), int(found["last"] or found["to"] or first)
    if not 1 <= start <= end <= MAX_LINE:
        raise InvalidRequest(f"lines {start}-{end} are no line range; lines count from 1")
    return Link(source_file, start, end)
