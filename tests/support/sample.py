"""The sample knowledge base, made once for all processes of a test run: embedding it takes seconds."""

from __future__ import annotations

import fcntl
import os
import shutil
from typing import TYPE_CHECKING

from knowledge_rag.local.ingest import ingest
from tests.support.local import CORPUS, minilm

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Give a folder that all processes of this run share."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def sample_copy(factory: pytest.TempPathFactory, folder: Path) -> Path:
    """Put a copy of the sample knowledge base into a folder; the first one who asks makes it."""
    shared = of_the_run(factory) / "sample.kb"
    with shared.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            ingest(CORPUS, shared, embedder=minilm())
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.copy(shared, folder / "sample.kb")
