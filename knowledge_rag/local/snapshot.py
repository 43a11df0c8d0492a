"""One state of a knowledge base, in memory: what a search works on.

Searching needs no lock and no disk: an ingest can neither delay it nor show it half a state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from knowledge_rag.local.columns import MetadataColumns
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.local.keyword_index import ENTRY, KeywordIndex

if TYPE_CHECKING:
    import sqlite3

    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Matrix

MODEL: Final = "embedding_model"
"""Key in ``meta``: the fingerprint of the model that the vectors are from."""

_ROWS: Final = """
SELECT text, metadata, vector, terms
FROM chunks JOIN documents ON documents.id = document JOIN vectors ON chunk = chunks.id
ORDER BY source_file, start_line, end_line
"""


@dataclass(frozen=True)
class Snapshot:
    """All chunks of one state, ordered by file and line.

    Args:
        model: fingerprint of the embedding model.
        texts: stored text of each chunk.
        metadata_json: metadata of each chunk, as stored.
        vectors: shape (chunks, 384).
        keywords: the keyword index over the same chunks.
    """

    model: str
    texts: tuple[str, ...]
    metadata_json: tuple[str, ...] = field(repr=False)
    vectors: Matrix = field(repr=False)
    keywords: KeywordIndex = field(repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def metadata(self, row: int) -> dict[str, MetadataValue]:
        """Give one chunk's metadata."""
        decoded: dict[str, MetadataValue] = json.loads(self.metadata_json[row])
        return decoded

    @cached_property
    def columns(self) -> MetadataColumns:
        """The metadata by attribute, for filters; made when first asked for."""
        return MetadataColumns([self.metadata(row) for row in range(len(self))])


def load_snapshot(connection: sqlite3.Connection) -> Snapshot:
    """Read one consistent state.

    Raises:
        UnusableKnowledgeBase: a vector has not the model's size.
        sqlite3.Error: the file can't be read.
    """
    connection.execute("BEGIN")
    try:
        (model,) = connection.execute("SELECT value FROM meta WHERE key = ?", (MODEL,)).fetchone()
        vocabulary = dict(connection.execute("SELECT term, id FROM terms"))
        rows = connection.execute(_ROWS).fetchall()
    finally:
        connection.execute("ROLLBACK")
    texts, metadata, vectors, terms = zip(*rows, strict=True) if rows else ((), (), (), ())
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4")
    if matrix.size != len(rows) * DIMENSIONS:
        raise UnusableKnowledgeBase("the knowledge base holds vectors of another size")
    entries = [np.frombuffer(blob, dtype=ENTRY) for blob in terms]
    return Snapshot(
        model, texts, metadata, matrix.reshape(-1, DIMENSIONS), KeywordIndex(vocabulary, entries)
    )
