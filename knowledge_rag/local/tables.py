"""Reads and writes the tables of a knowledge base, inside an ingest's transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge_rag.local.keyword_index import ENTRY
from knowledge_rag.local.prepared import text_key
from knowledge_rag.local.snapshot import MODEL

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.local.prepared import PreparedChunk, PreparedDocument


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document that the knowledge base holds.

    Args:
        row: its id.
        sha256: of its bytes, 64 hex digits.
        fingerprint: of the settings that it was cut by.
        warnings: sentences about blemishes.
    """

    row: int
    sha256: str
    fingerprint: str
    warnings: tuple[str, ...]


class Tables:
    """The tables behind one connection.

    Args:
        connection: inside a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def model(self) -> str | None:
        """Give the fingerprint of the model that the vectors are from; ``None`` in a new file."""
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (MODEL,)).fetchone()
        return row[0] if row else None

    def documents(self) -> dict[str, KnownDocument]:
        """Give every document, by source file."""
        rows = self._connection.execute(
            "SELECT source_file, id, sha256, fingerprint, warnings FROM documents"
        )
        return {
            name: KnownDocument(row, sha256, fingerprint, tuple(json.loads(warnings)))
            for name, row, sha256, fingerprint, warnings in rows
        }

    def count_chunks(self) -> int:
        """Count the chunks of all documents."""
        (count,) = self._connection.execute("SELECT count(*) FROM chunks").fetchone()
        return int(count)

    def vectors_of(self, documents: Sequence[KnownDocument]) -> Iterator[tuple[bytes, bytes]]:
        """Give text key and vector of each chunk of some documents."""
        for document in documents:
            yield from self._connection.execute(
                "SELECT text_sha256, vector FROM vectors JOIN chunks ON chunks.id = chunk "
                "WHERE document = ?",
                (document.row,),
            )

    def replace(
        self, stale: Sequence[KnownDocument], fresh: Sequence[PreparedDocument], model: str
    ) -> None:
        """Delete some documents and add others."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MODEL, model))
        rows = [(document.row,) for document in stale]
        self._connection.executemany(
            "DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)", rows
        )
        self._connection.executemany("DELETE FROM chunks WHERE document = ?", rows)
        self._connection.executemany("DELETE FROM documents WHERE id = ?", rows)
        term_ids = self._term_ids(fresh)
        for document in fresh:
            self._add(document, term_ids)

    def _term_ids(self, fresh: Sequence[PreparedDocument]) -> dict[str, int]:
        known = dict(self._connection.execute("SELECT term, id FROM terms"))
        first = max(known.values(), default=-1) + 1
        terms = dict.fromkeys(t for d in fresh for chunk in d.chunks for t in chunk.terms)
        new = {t: i for i, t in enumerate((t for t in terms if t not in known), first)}
        self._connection.executemany("INSERT INTO terms (term, id) VALUES (?, ?)", new.items())
        return known | new

    def _add(self, document: PreparedDocument, term_ids: Mapping[str, int]) -> None:
        cursor = self._connection.execute(
            "INSERT INTO documents (source_file, sha256, fingerprint, title, warnings) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                document.source_file,
                document.sha256,
                document.fingerprint,
                document.title,
                json.dumps(document.warnings, ensure_ascii=False),
            ),
        )
        for chunk in document.chunks:
            self._add_chunk(int(cursor.lastrowid or 0), chunk, term_ids)

    def _add_chunk(self, document: int, chunk: PreparedChunk, term_ids: Mapping[str, int]) -> None:
        cursor = self._connection.execute(
            "INSERT INTO chunks (document, start_line, end_line, chunk_id, text, metadata) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                document,
                chunk.start_line,
                chunk.end_line,
                chunk.chunk_id,
                chunk.text,
                chunk.metadata,
            ),
        )
        entries = [(term_ids[term], weight) for term, weight in chunk.terms.items()]
        self._connection.execute(
            "INSERT INTO vectors (chunk, text_sha256, vector, terms) VALUES (?, ?, ?, ?)",
            (
                cursor.lastrowid,
                text_key(chunk.text),
                chunk.vector,
                np.array(entries, dtype=ENTRY).tobytes(),
            ),
        )
