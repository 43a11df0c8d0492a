"""One state of a knowledge base, in memory: what a search works on.

Searching needs no lock and no disk: an ingest can neither delay it nor show it half a state.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.core.metadata import CHUNK_ID, SOURCE_FILE
from knowledge_rag.local.columns import MetadataColumns
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import Damage
from knowledge_rag.local.keyword_index import ENTRY, KeywordIndex
from knowledge_rag.local.seals import CHUNKS, DOCUMENTS, check_whole, unsound
from knowledge_rag.local.spelling import Spelling, from_json

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Matrix

Numbers = np.ndarray[Any, np.dtype[np.int64]]

_VECTOR_BYTES: Final = 4 * DIMENSIONS
_UNIT: Final = 1e-3
"""How far a vector's length may be from 1."""


@dataclass(frozen=True)
class Snapshot:
    """All chunks of one state, ordered by file and line.

    Args:
        model: fingerprint of the embedding model.
        texts: stored text of each chunk.
        metadata_json: metadata of each chunk, as stored.
        vectors: shape (chunks, 384).
        keywords: the keyword index over the same chunks.
        documents: shape (chunks,): a number for each, equal for the chunks of one document.
        words: those of the chunks as they are written, in their stored form.
    """

    model: str
    texts: tuple[str, ...]
    metadata_json: tuple[str, ...] = field(repr=False)
    vectors: Matrix = field(repr=False)
    keywords: KeywordIndex = field(repr=False)
    documents: Numbers = field(repr=False)
    words: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def metadata(self, row: int) -> dict[str, MetadataValue]:
        """Give one chunk's metadata.

        Raises:
            Damage: it is no JSON object that names its file and chunk.
        """
        try:
            decoded: Any = json.loads(self.metadata_json[row])
        except (ValueError, RecursionError) as error:
            raise Damage("metadata are no JSON") from error
        if not isinstance(decoded, dict):
            raise Damage("metadata are no JSON object")
        if not all(isinstance(decoded.get(name), str) for name in (SOURCE_FILE, CHUNK_ID)):
            raise Damage("metadata name no file or no chunk")
        return decoded

    @cached_property
    def columns(self) -> MetadataColumns:
        """The metadata by attribute, for filters; made when first asked for."""
        return MetadataColumns([self.metadata(row) for row in range(len(self))])

    @cached_property
    def spelling(self) -> Spelling:
        """The words as they are written, for correcting questions; made when first asked for."""
        return Spelling(from_json(self.words))


def load_snapshot(connection: sqlite3.Connection) -> Snapshot:
    """Read one consistent state, and check it before anything is made of it.

    Raises:
        Damage: something in it is not what an ingest stores.
        sqlite3.Error: the file can't be read.
    """
    connection.execute("BEGIN")
    try:
        whole = check_whole(connection)
        documents = connection.execute(DOCUMENTS).fetchall()
        rows = connection.execute(CHUNKS).fetchall()
        ((chunks,),) = connection.execute("SELECT count(*) FROM chunks")
    finally:
        connection.execute("ROLLBACK")
    if len(rows) != chunks:
        raise Damage("chunks without vectors")
    if broken := unsound(documents, rows):
        raise Damage(f"{len(broken)} of {len(documents)} documents are not as they were stored")
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * 8
    numbers, *_, metadata, texts, vectors, terms = columns
    return Snapshot(
        whole.model,
        _all(str, texts),
        _all(str, metadata),
        _matrix(_all(bytes, vectors)),
        _keywords(whole.terms, _all(bytes, terms)),
        np.array(_all(int, numbers), dtype=np.int64),
        whole.words,
    )


def _all(kind: type, column: Sequence[Any]) -> Any:  # noqa: ANN401 - the same, now of one type
    if not set(map(type, column)) <= {kind}:
        raise Damage("a value is of another type")
    return column


def _matrix(vectors: Sequence[bytes]) -> Matrix:
    if not set(map(len, vectors)) <= {_VECTOR_BYTES}:
        raise Damage("a vector is of another size")
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, DIMENSIONS)
    lengths = np.einsum("ij,ij->i", matrix, matrix)
    if not np.all(np.abs(lengths - 1.0) < _UNIT):  # not-a-number is not near 1 either
        raise Damage("a vector is not of unit length")
    return matrix


def _keywords(words: Sequence[str], terms: Sequence[bytes]) -> KeywordIndex:
    if any(len(blob) % ENTRY.itemsize for blob in terms):
        raise Damage("a list of terms is cut short")
    entries = [np.frombuffer(blob, dtype=ENTRY) for blob in terms]
    return KeywordIndex({word: number for number, word in enumerate(words)}, entries)
