from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import RUNBOOKS, WordHashes, minilm, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowledge_rag.local.embeddings import MiniLm


@pytest.fixture(scope="session")
def model() -> MiniLm:
    return minilm()


@pytest.fixture
def hashes() -> WordHashes:
    return WordHashes()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_files(tmp_path / "corpus", RUNBOOKS)


@pytest.fixture
def kb_path(tmp_path: Path) -> Path:
    return tmp_path / "knowledge.kb"


@pytest.fixture
def ingested(corpus: Path, kb_path: Path, hashes: WordHashes) -> Path:
    ingest(corpus, kb_path, embedder=hashes)
    return kb_path


@pytest.fixture
def knowledge_base(corpus: Path, kb_path: Path, model: MiniLm) -> Iterator[KnowledgeBase]:
    ingest(corpus, kb_path, embedder=model)
    with KnowledgeBase(kb_path, model) as opened:
        yield opened
