"""The sample knowledge base, made once for all processes of a test run: embedding it takes seconds."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.local.ingest import ingest
from tests.support.local import CORPUS, minilm

if TYPE_CHECKING:
    import pytest

RUN: Final = "KNOWLEDGE_RAG_TEST_RUN"
"""Set to a folder that several runs share."""


def of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this run share, those of `make test` too."""
    if RUN in os.environ:
        return Path(os.environ[RUN])
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def sample_copy(factory: pytest.TempPathFactory, folder: Path) -> Path:
    """Put a copy of the sample knowledge base into a folder; the first one who asks makes it."""
    return copy_of(of_the_run(factory), folder)


def copy_of(run: Path, folder: Path) -> Path:
    """Put a copy of the sample knowledge base that a run has, or gets, into a folder."""
    shared = run / "sample.kb"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            ingest(CORPUS, shared, embedder=minilm())
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(shared, folder / "sample.kb"))
