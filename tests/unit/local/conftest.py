from __future__ import annotations

import shutil
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


@pytest.fixture(scope="session")
def ingested_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ingested")
    corpus = write_files(folder / "corpus", RUNBOOKS)
    ingest(corpus, folder / "knowledge.kb", embedder=WordHashes())
    return folder


@pytest.fixture
def ingested(corpus: Path, kb_path: Path, ingested_once: Path) -> Path:  # noqa: ARG001 - its documents
    for file in ingested_once.glob("knowledge.kb*"):
        shutil.copy(file, kb_path.parent)
    return kb_path


@pytest.fixture(scope="session")
def knowledge_base(
    tmp_path_factory: pytest.TempPathFactory, model: MiniLm
) -> Iterator[KnowledgeBase]:
    """Return one that all tests share, made from the same documents as ``corpus``, with the real model."""
    folder = tmp_path_factory.mktemp("shared")
    ingest(write_files(folder / "corpus", RUNBOOKS), folder / "knowledge.kb", embedder=model)
    with KnowledgeBase(folder / "knowledge.kb", model) as opened:
        yield opened
