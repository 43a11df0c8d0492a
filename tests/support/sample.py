"""The sample knowledge base, made once for all processes of a test run: embedding it takes seconds.

A new user's first command makes it, and what that wrote is kept for the test of it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.local.ingest import ingest
from tests.support.local import CORPUS, PROJECT, RUN, minilm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    import pytest

QUESTION: Final = "How do we fail over the RDS cluster when replication lag keeps growing?"
"""What the command that makes it asks."""

_FILE: Final = "sample.kb"
_WRITTEN: Final = "first-command.json"


def of_the_run(factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all processes of this run share, those of `make test` too."""
    if RUN in os.environ:
        return Path(os.environ[RUN])
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def sample_copy(factory: pytest.TempPathFactory, folder: Path) -> Path:
    """Put a copy of the sample knowledge base into a folder; the first one who asks makes it."""
    return copy_of(of_the_run(factory), folder, _first_command)


def first_command(factory: pytest.TempPathFactory, folder: Path) -> dict[str, Any]:
    """Return exit code, standard output and standard error of a user's first command."""
    sample_copy(factory, folder)
    run = of_the_run(factory)
    with _alone(run):
        if not (run / _WRITTEN).exists():  # a part that had no need of the command was faster
            _first_command(run)
    written: dict[str, Any] = json.loads((run / _WRITTEN).read_text("utf-8"))
    return written


def _ingest(run: Path) -> None:
    ingest(CORPUS, run / _FILE, embedder=minilm())


def copy_of(run: Path, folder: Path, make: Callable[[Path], None] = _ingest) -> Path:
    """Put a copy of the sample knowledge base that a run has, or gets, into a folder."""
    shared = run / _FILE
    with _alone(run):
        if not shared.exists():
            make(run)
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(shared, folder / "sample.kb"))


@contextmanager
def _alone(run: Path) -> Iterator[None]:
    with (run / _FILE).with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _first_command(run: Path) -> None:
    """Ask as a user does who has nothing yet."""
    with tempfile.TemporaryDirectory(prefix="new-user-", dir=run) as home:
        ran = subprocess.run(
            [sys.executable, "-m", "knowledge_rag", "retrieve", QUESTION, "--json"],
            env={
                "PATH": os.environ["PATH"],
                "HOME": home,
                "LANG": "C.UTF-8",
                "KNOWLEDGE_RAG_DATA_DIR": home,
                "KNOWLEDGE_RAG_CACHE_DIR": str(run / "cache"),
            },
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        written = {"code": ran.returncode, "out": ran.stdout, "err": ran.stderr}
        (run / _WRITTEN).write_text(json.dumps(written), "utf-8")
        assert ran.returncode == 0, ran.stderr
        Path(home, _FILE).rename(run / _FILE)
