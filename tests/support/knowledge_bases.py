"""Knowledge bases of a few files."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.local.embeddings import Embedder


@contextmanager
def knowledge_base_of(
    files: Mapping[str, str | bytes], folder: Path, embedder: Embedder
) -> Iterator[KnowledgeBase]:
    """Write files to ``corpus`` in a folder, ingest them, and open the knowledge base while the block runs."""
    path = folder / "own.kb"
    ingest(write_files(folder / "corpus", files), path, embedder=embedder)
    with KnowledgeBase(path, embedder) as opened:
        yield opened
