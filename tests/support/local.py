"""What the tests of the local knowledge base share."""

from __future__ import annotations

import fcntl
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from knowledge_rag.local.embeddings import DIMENSIONS, MiniLm
from knowledge_rag.local.settings import LocalSettings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from knowledge_rag.local.embeddings import Vector

PROJECT = Path(__file__).parents[2]
CORPUS = PROJECT / "knowledge-corpus"
RUN: Final = "KNOWLEDGE_RAG_TEST_RUN"
"""Set to a folder that several runs share."""


class _Remembering(MiniLm):
    """The real model, which works out each text once a run: the same text gives the same bits.

    The sample runbooks take it forty seconds of a small machine, and the processes of a run share them.
    """

    def __init__(self, settings: LocalSettings, folder: Path | None) -> None:
        # threads change no bit, and the processors are shared with other tests
        super().__init__(settings, threads=1)
        self._vectors: dict[str, Vector] = {}
        self._folder = folder
        if folder is not None:
            folder.mkdir(exist_ok=True)

    def embed(self, text: str) -> Vector:
        known = self._vectors.get(text)
        if known is None:
            known = self._vectors[text] = self._shared(text)
        return known.copy()

    def _shared(self, text: str) -> Vector:
        if self._folder is None:
            return super().embed(text)
        name = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
        with (self._folder / name).open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another process of this run may be at it
            file.seek(0)
            if len(written := file.read()) == DIMENSIONS * np.dtype(np.float32).itemsize:
                return np.frombuffer(written, dtype=np.float32)
            file.truncate(0)  # one that was killed while it wrote
            vector = super().embed(text)
            file.write(vector.tobytes())
            return vector


@cache
def minilm() -> MiniLm:
    """Return the real model, loaded once a process; tests of the model itself make their own."""
    shared = os.environ.get(RUN)
    model = _Remembering(
        LocalSettings.from_environment(), Path(shared, "vectors") if shared else None
    )
    model.load()
    return model


class WordHashes:
    """A tiny embedding model: texts that share words are near each other.

    It stands in where a test is about files, transactions or processes and would only wait for the
    real one; ``embedded`` lists what it was asked for.
    """

    fingerprint = "word-hashes"
    usual: Collection[str] = ()

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, text: str) -> Vector:
        self.embedded.append(text)
        vector = np.full(DIMENSIONS, 1e-3, dtype=np.float32)
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode(errors="replace")).digest()
            vector[int.from_bytes(digest[:4], "big") % DIMENSIONS] += 1.0
        unit: Vector = vector / np.linalg.norm(vector)
        return unit

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed_question(self, text: str, *, in_english: bool) -> Vector:  # noqa: ARG002 - one model
        return self.embed(text)

    def knows(self, word: str) -> bool:
        return word in self.usual


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder; text as UTF-8, exactly as it stands."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


RUNBOOKS: Mapping[str, str] = {
    "runbooks/rds-failover.md": (
        "---\ntitle: RDS failover\nservice: rds\nseverity: SEV1\n---\n# RDS failover\n\n"
        "## Diagnosis\n\nThe writer is gone and connections are refused.\n\n"
        "## Resolution\n\nPromote the replica with `aws rds failover-db-cluster`.\n"
    ),
    "runbooks/lambda-throttling.md": (
        "---\nservice: lambda\n---\n# Lambda throttling\n\nRaise the reserved concurrency.\n"
    ),
    "postmortems/2024-01-rds-incident.md": (
        "---\nservice: rds\nincident_id: INC-2024-001\n---\n# RDS incident\n\n"
        "A failover took forty minutes because the replica lagged.\n"
    ),
}


def joined(lines: Iterable[tuple[int, str]]) -> str:
    """Return an extracted document's text, from first line and content of its chunks."""
    parts: list[str] = []
    following = 1
    for start_line, content in lines:
        parts.append("\n" * (start_line - following) + content + "\n")
        following = start_line + content.count("\n") + 1
    return "".join(parts)
