"""Evidence as the retrieval function gives it, of a document that is one passage."""

from __future__ import annotations

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import RetrievalResult


def passage(
    name: str, text: str = "# Failover\n\nPromote the replica.\n", score: float | None = 0.5
) -> RetrievalResult:
    """Give the one passage of a document, proven."""
    (chunk,) = chunk_text(*read_document(name, text.encode()))
    proven = prove(stored_text(chunk), to_metadata(chunk), score)
    assert isinstance(proven, RetrievalResult)
    return proven
