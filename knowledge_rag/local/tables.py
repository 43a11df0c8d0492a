"""Reads and writes the tables of a knowledge base, inside an ingest's transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knowledge_rag.core.metadata import CONTEXT_LENGTH
from knowledge_rag.local.keyword_index import ENTRY
from knowledge_rag.local.prepared import text_key
from knowledge_rag.local.seals import (
    CHUNKS,
    DOCUMENTS,
    MODEL,
    SEAL,
    UNFINISHED,
    WORDS,
    check_whole,
    seal_all,
    seal_document,
    unfinished,
    unsound,
)
from knowledge_rag.local.spelling import to_json, words_in

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.local.prepared import PreparedChunk, PreparedDocument
    from knowledge_rag.local.seals import Row


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document that the knowledge base holds.

    Args:
        row: its id.
        sha256: of its bytes, 64 hex digits.
        fingerprint: of the settings that it was cut by.
        warnings: sentences about blemishes.
        sound: whether all of it is as it was stored; if not, nothing of it may be kept.
    """

    row: int
    sha256: str
    fingerprint: str
    warnings: tuple[str, ...]
    sound: bool


class Tables:
    """The tables behind one connection.

    Args:
        connection: inside a transaction.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def model(self) -> str | None:
        """Give the fingerprint of the model that the vectors are from; ``None`` in a new file.

        Raises:
            Damage: what belongs to no single document is not as it was stored.
        """
        ((new,),) = self._connection.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM meta) AND NOT EXISTS (SELECT 1 FROM documents) "
            "AND NOT EXISTS (SELECT 1 FROM chunks)"
        )
        return None if new else check_whole(self._connection).model

    def has_words(self) -> bool:
        """Return whether the words of all chunks are counted; an earlier version did not."""
        found = self._connection.execute("SELECT 1 FROM meta WHERE key = ?", (WORDS,))
        return found.fetchone() is not None

    def documents(self) -> dict[str, KnownDocument]:
        """Give every document, by source file, having checked each against its seal."""
        rows = self._connection.execute(DOCUMENTS).fetchall()
        broken = set(unsound(rows, self._connection.execute(CHUNKS)))
        return {
            name: KnownDocument(
                row,
                sha256,
                fingerprint,
                () if name in broken else tuple(json.loads(warnings)),
                name not in broken,
            )
            for row, name, sha256, fingerprint, _, warnings, _ in rows
        }

    def unfinished(self) -> int:
        """Return how many documents the last ingest left to do; 0 if it came to its end."""
        return unfinished(self._connection)

    def note_unfinished(self, documents: int) -> None:
        """Keep how many documents are left to do."""
        self._connection.execute("DELETE FROM meta WHERE key = ?", (UNFINISHED,))
        if documents:
            self._connection.execute("INSERT INTO meta VALUES (?, ?)", (UNFINISHED, str(documents)))

    def count_chunks(self) -> int:
        """Count the chunks of all documents."""
        (count,) = self._connection.execute("SELECT count(*) FROM chunks").fetchone()
        return int(count)

    def vectors_of(self, documents: Sequence[KnownDocument]) -> Iterator[tuple[bytes, bytes]]:
        """Give text key and vector of each chunk of some documents."""
        for document in documents:
            rows = self._connection.execute(
                "SELECT text, vector FROM vectors JOIN chunks ON chunks.id = chunk "
                "WHERE document = ?",
                (document.row,),
            )
            yield from ((text_key(text), vector) for text, vector in rows)

    def lines_of(self, document: KnownDocument) -> Iterator[tuple[int, str]]:
        """Give first line and content of each chunk of a sound document, in their order."""
        rows = self._connection.execute(
            "SELECT start_line, text, metadata FROM chunks WHERE document = ? ORDER BY start_line",
            (document.row,),
        )
        for start_line, text, metadata in rows:
            yield start_line, text[json.loads(metadata)[CONTEXT_LENGTH] :]

    def replace(
        self, stale: Sequence[KnownDocument], fresh: Sequence[PreparedDocument], model: str
    ) -> None:
        """Delete some documents and add others."""
        rows = [(document.row,) for document in stale]
        self._connection.executemany(
            "DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)", rows
        )
        self._connection.executemany("DELETE FROM chunks WHERE document = ?", rows)
        self._connection.executemany("DELETE FROM documents WHERE id = ?", rows)
        term_ids = self._term_ids(fresh)
        for document in fresh:
            self._add(document, term_ids)
        self._seal(model, sorted(term_ids, key=term_ids.__getitem__))

    def _seal(self, model: str, terms: Sequence[str]) -> None:
        seals = [row[-1] for row in self._connection.execute(DOCUMENTS)]
        texts = self._connection.execute("SELECT text FROM chunks")
        words = to_json(words_in(text for (text,) in texts))
        meta = {MODEL: model, WORDS: words, SEAL: seal_all(model, seals, terms, words)}
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())

    def _term_ids(self, fresh: Sequence[PreparedDocument]) -> dict[str, int]:
        known = dict(self._connection.execute("SELECT term, id FROM terms"))
        first = max(known.values(), default=-1) + 1
        terms = dict.fromkeys(t for d in fresh for chunk in d.chunks for t in chunk.terms)
        new = {t: i for i, t in enumerate((t for t in terms if t not in known), first)}
        self._connection.executemany("INSERT INTO terms (term, id) VALUES (?, ?)", new.items())
        return known | new

    def _add(self, document: PreparedDocument, term_ids: Mapping[str, int]) -> None:
        fields = (
            document.source_file,
            document.sha256,
            document.fingerprint,
            document.title,
            json.dumps(document.warnings, ensure_ascii=False),
        )
        rows = [_row(chunk, term_ids) for chunk in document.chunks]
        cursor = self._connection.execute(
            "INSERT INTO documents (source_file, sha256, fingerprint, title, warnings, seal) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (*fields, seal_document(fields, rows)),
        )
        for row in rows:
            self._add_chunk(int(cursor.lastrowid or 0), row)

    def _add_chunk(self, document: int, row: Row) -> None:
        _, start_line, end_line, chunk_id, metadata, text, vector, terms = row
        cursor = self._connection.execute(
            "INSERT INTO chunks (document, start_line, end_line, chunk_id, text, metadata) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (document, start_line, end_line, chunk_id, text, metadata),
        )
        self._connection.execute(
            "INSERT INTO vectors (chunk, vector, terms) VALUES (?, ?, ?)",
            (cursor.lastrowid, vector, terms),
        )


def _row(chunk: PreparedChunk, term_ids: Mapping[str, int]) -> Row:
    """Give a chunk as ``CHUNKS`` will read it, all but its document's id."""
    entries = [(term_ids[term], weight) for term, weight in chunk.terms.items()]
    return (
        None,
        chunk.start_line,
        chunk.end_line,
        chunk.chunk_id,
        chunk.metadata,
        chunk.text,
        chunk.vector,
        np.array(entries, dtype=ENTRY).tobytes(),
    )
