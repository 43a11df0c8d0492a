"""The documents of a knowledge base, as they were ingested.

Nothing is read but the knowledge base itself: no path is made of what a client asks for, and no
file can have changed since. It holds every line that is text, outside the front matter; what lies
between two passages is blank.
"""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.local.errors import Damage
from knowledge_rag.local.store import explained, open_for_reading

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_PAGE: Final = """
SELECT source_file, title FROM documents WHERE source_file > ? ORDER BY source_file LIMIT ?
"""
_WITH: Final = """
SELECT source_file FROM documents WHERE instr(lower(source_file), lower(?)) > 0
ORDER BY source_file LIMIT ?
"""
_PASSAGES: Final = """
SELECT text, metadata FROM chunks JOIN documents ON document = documents.id
WHERE source_file = ? ORDER BY start_line, end_line
"""


@dataclass(frozen=True, slots=True)
class Document:
    """One document.

    Args:
        source_file: path relative to the corpus root.
        title: as it was found in it.
    """

    source_file: str
    title: str


class Passages(Protocol):
    """What was kept of each document; the method blocks."""

    def passages(self, source_file: str) -> Sequence[RetrievalResult]:
        """Give a document's lines, proven, in their order; none if there is no such document.

        Raises:
            KnowledgeRagError: it can't be read, or holds what no ingest stores.
        """
        ...


class Documents(Passages, Protocol):
    """Where documents are kept; the methods block."""

    def after(self, source_file: str, limit: int) -> Sequence[Document]:
        """List the documents whose paths come after one, ``""`` for the first ones, sorted."""
        ...

    def named_like(self, part: str, limit: int) -> Sequence[str]:
        """Give the paths that hold a text, whatever its case, sorted."""
        ...


class KnowledgeBaseDocuments:
    """Those of a knowledge base's file, whatever ingests make of it meanwhile.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def after(self, source_file: str, limit: int) -> list[Document]:
        """List documents; see ``Documents``."""
        with self._opened() as connection:
            rows = connection.execute(_PAGE, (source_file, limit)).fetchall()
        return [Document(name, title) for name, title in rows]

    def named_like(self, part: str, limit: int) -> list[str]:
        """Find documents; see ``Documents``."""
        with self._opened() as connection:
            return [name for (name,) in connection.execute(_WITH, (part, limit))]

    def passages(self, source_file: str) -> list[RetrievalResult]:
        """Give a document's lines; see ``Documents``."""
        with self._opened() as connection:
            rows = connection.execute(_PASSAGES, (source_file,)).fetchall()
            return [_proven(text, metadata, source_file) for text, metadata in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(open_for_reading(self._path)) as connection, explained(self._path):
            yield connection


def _proven(text: Any, metadata: Any, source_file: str) -> RetrievalResult:  # noqa: ANN401 - as SQLite gives it
    try:
        result = prove(text, json.loads(metadata))
    except (TypeError, ValueError, RecursionError) as error:
        raise Damage("metadata are no JSON") from error
    if not isinstance(result, RetrievalResult) or result.citation.source_file != source_file:
        raise Damage("a passage can't be proven")
    return result
