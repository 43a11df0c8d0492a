"""Documents on their way into a knowledge base: cut, described, and embedded once a text."""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.context import context_prefix
from knowledge_rag.core.metadata import to_metadata
from knowledge_rag.local.keywords import stored_terms
from knowledge_rag.local.placing import context_of, placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.core.chunks import Chunk, Document
    from knowledge_rag.local.embeddings import Embedder, Vector


@dataclass(slots=True)
class PreparedChunk:
    """One row to be.

    Args:
        start_line: first line, 1-based.
        end_line: last line, inclusive.
        chunk_id: content-addressed id.
        text: context prefix, then the verbatim lines.
        metadata: JSON object.
        terms: weight of each keyword term.
        vector: 384 little-endian float32; empty until embedded.
    """

    start_line: int
    end_line: int
    chunk_id: str
    text: str
    metadata: str
    terms: dict[str, float]
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """One document with its chunks.

    Args:
        source_file: path below the corpus root.
        sha256: of its bytes, 64 hex digits.
        fingerprint: of the settings that it was cut by.
        title: as shown.
        warnings: sentences about blemishes.
        chunks: in the order of their lines.
    """

    source_file: str
    sha256: str
    fingerprint: str
    title: str
    warnings: tuple[str, ...]
    chunks: tuple[PreparedChunk, ...]


def prepare(
    document: Document, chunks: Sequence[Chunk], fingerprint: str, notes: Sequence[str] = ()
) -> PreparedDocument:
    """Make a document's rows, all but their vectors.

    Args:
        document: that was read.
        chunks: of it.
        fingerprint: of the settings that it was cut by.
        notes: sentences about what was left out of it, without its name.
    """
    return PreparedDocument(
        document.source_file,
        document.sha256,
        fingerprint,
        document.title,
        (*(f"{document.source_file}: {note}" for note in notes), *_warnings(document, chunks)),
        tuple(map(_prepare_chunk, chunks)),
    )


def joined(lines: Iterable[tuple[int, str]]) -> str:
    r"""Put a document's text together again out of its chunks; what lies between them is blank.

    Args:
        lines: first line and content of each chunk, in their order.

    Returns:
        Of a document whose blank lines are empty and that ends in a ``\n``, as an extracted one's
        do, the very text.
    """
    parts: list[str] = []
    following = 1
    for start_line, content in lines:
        parts.append("\n" * (start_line - following) + content + "\n")
        following = start_line + content.count("\n") + 1
    return "".join(parts)


def text_key(text: str) -> bytes:
    """Give the sha256 by which an unchanged text finds its vector again."""
    return hashlib.sha256(text.encode()).digest()


class VectorSource:
    """Gives each stored text its vector: one that is already known, or a new one from the model.

    A vector depends on its text alone, so an ingest of what has changed gives what a new one would.

    Args:
        embedder: the model.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[bytes, bytes] = {}
        self._contexts: dict[str, Vector] = {}
        self.embedded = 0
        """How many texts went through the model, the contexts that they share aside."""
        self.seconds = 0.0
        """Wall time spent inside the model."""

    def offer(self, known: Iterable[tuple[bytes, bytes]]) -> None:
        """Take over vectors of the same model, by text key."""
        self._known.update(known)

    def vector(self, text: str) -> bytes:
        """Give 384 little-endian float32."""
        key = text_key(text)
        found = self._known.get(key)
        if found is None:
            started = time.perf_counter()
            found = self._placed(text).astype("<f4").tobytes()
            self.seconds += time.perf_counter() - started
            self.embedded += 1
            self._known[key] = found
        return found

    def _placed(self, text: str) -> Vector:
        context = context_of(text)
        if not context:
            return self._embedder.embed(text)
        if context not in self._contexts:
            self._contexts[context] = self._embedder.embed(context)
        return placed(self._embedder.embed(text), self._contexts[context])


def _prepare_chunk(chunk: Chunk) -> PreparedChunk:
    prefix = context_prefix(chunk)
    return PreparedChunk(
        chunk.start_line,
        chunk.end_line,
        chunk.chunk_id,
        prefix + chunk.content,
        json.dumps(to_metadata(chunk), ensure_ascii=False),
        stored_terms(prefix, chunk.content),
    )


def _warnings(document: Document, chunks: Sequence[Chunk]) -> Iterable[str]:
    if not chunks:
        yield f"{document.source_file}: nothing but blank lines or front matter"
    for chunk in chunks:
        if chunk.oversized:
            yield (
                f"{document.source_file}: line {chunk.start_line} alone exceeds the embedding "
                "model's window; only its beginning is searched by meaning"
            )
