"""Measures the speed of `ingest` and `drift` on people's own documents, for `knowledge-rag bench`."""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.drift.findings import Check
from knowledge_rag.evaluation.evaluation_report import new_table
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.settings import CACHE_DIR_VARIABLE
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.local.embeddings import Embedder

IN_MODEL: Final = 0.90
"""Minimum share of a first ingest's time spent inside the embedding model."""


@dataclass(frozen=True, slots=True)
class IngestBenchReport:
    """Two ingests of the same files; ``in_model`` is the embedding model's share of the first, 0..1."""

    documents: int
    chunks: int
    seconds: float
    in_model: float
    again_seconds: float
    again_embedded: int
    reach: float = IN_MODEL

    @property
    def reached(self) -> bool:
        """Whether everything except the model is negligible, and nothing is embedded twice."""
        return self.in_model >= self.reach and self.again_embedded == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}

    def as_table(self) -> Table:
        """Lay it out for a terminal."""
        documents, chunks = counted(self.documents, "document"), counted(self.chunks, "chunk")
        table = new_table(f"{documents}, {chunks}", "ingest", "seconds", "chunks/s", "in the model")
        speed = f"{self.chunks / self.seconds:.1f}"
        table.add_row("first", f"{self.seconds:.2f}", speed, f"{self.in_model:.1%}")
        again = counted(self.again_embedded, "chunk")
        table.add_row("again, nothing changed", f"{self.again_seconds:.2f}", "", again)
        table.caption = f"aim: at least {self.reach:.0%} of the first one in the model: {_verdict(self.reached)}"
        return table


def run_ingest_bench(docs: Path, embedder: Embedder) -> IngestBenchReport:
    """Ingest a folder twice into its own knowledge base."""
    embedder.embed("warm up")  # loading the model isn't part of an ingest
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.kb"
        first, second = (ingest(docs, path, embedder=embedder) for _ in range(2))
    in_model = first.embedding_seconds / first.seconds
    return IngestBenchReport(
        len(first.added), first.chunks, first.seconds, in_model, second.seconds, second.embedded
    )


SIZES: Final = (250, 500, 1_000)
"""Numbers of documents in the runs of drift."""
PER_MINUTE: Final = 1_000
"""Minimum number of documents that all checks process per minute."""
FLAT: Final = 1.25
"""Maximum ratio of the largest run's memory to the smallest run's."""
ALL: Final = "all"
AGAIN: Final = "all, again"
"""All checks again, with nothing changed."""
_CHECKS: Final = (Check.COMMANDS, Check.LINKS, Check.NAMES)
_NAMES_EACH: Final = 5
"""Files of code per document."""


@dataclass(frozen=True, slots=True)
class DriftRun:
    """One run: documents, checks, seconds of processor time, and the peak memory, in MiB."""

    documents: int
    checks: str
    seconds: float
    memory: float


@dataclass(frozen=True, slots=True)
class DriftBenchReport:
    """All runs, smallest first; ``reach`` is in documents per minute."""

    runs: tuple[DriftRun, ...]
    reach: int = PER_MINUTE

    @property
    def growth(self) -> float:
        """Ratio of the largest run's memory to the smallest run's."""
        runs = [it for it in self.runs if it.checks == ALL]
        return runs[-1].memory / runs[0].memory

    @property
    def a_minute(self) -> int:
        """Documents per minute, in the largest run of all checks."""
        last = [it for it in self.runs if it.checks == ALL][-1]
        return round(last.documents / last.seconds * 60)

    @property
    def reached(self) -> bool:
        """Whether it is fast enough and memory stays flat."""
        return self.a_minute >= self.reach and self.growth <= FLAT

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        runs = [asdict(it) for it in self.runs]
        figures = {"documents_a_minute": self.a_minute, "memory_growth": round(self.growth, 2)}
        return {"runs": runs, **figures, "reach": self.reach, "reached": self.reached}

    def as_table(self) -> Table:
        """Lay it out for a terminal."""
        table = Table(title="drift: seconds of processor time, MiB")
        names = list(dict.fromkeys(it.checks for it in self.runs))
        for name in ("documents", *names):
            table.add_column(name, justify="right")
        for size in dict.fromkeys(it.documents for it in self.runs):
            of = {it.checks: it for it in self.runs if it.documents == size}
            figures = (f"{of[name].seconds:.1f}, {of[name].memory:.0f}" for name in names)
            table.add_row(str(size), *figures)
        table.caption = (
            f"{self.a_minute} documents a minute, memory {self.growth:.2f} times that of the smallest run; "
            f"aim: at least {self.reach}, at most {FLAT}: {_verdict(self.reached)}"
        )
        return table


def run_drift_bench(docs: Path, sizes: Sequence[int] = SIZES) -> DriftBenchReport:
    """Run the command on copies of a folder's documents, each run in its own process.

    Names are compared with generated manifests, five for each document.
    """
    texts = [file.path.read_bytes() for file in find_documents(docs) if file.path.suffix == ".md"]
    runs = []
    with tempfile.TemporaryDirectory() as place:
        for size in sizes:
            folder = Path(place) / str(size)
            _fill(folder, texts, size)
            for name in (ALL, AGAIN, *(check.value for check in _CHECKS)):
                options = [] if name in (ALL, AGAIN) else ["--check", name, "--no-cache"]
                runs.append(DriftRun(size, name, *_timed(folder, options)))
    return DriftBenchReport(tuple(runs))


def _fill(folder: Path, texts: Sequence[bytes], size: int) -> None:
    docs, code = folder / "docs", folder / "code"
    docs.mkdir(parents=True)
    code.mkdir()
    for number in range(size):
        text = texts[number % len(texts)]
        (docs / f"{number}.md").write_bytes(text + b"\nRestart `service-%d-api`.\n" % number)
    for number in range(size * _NAMES_EACH):
        manifest = f"kind: Deployment\nmetadata: {{name: service-{number}-api, namespace: shop}}\n"
        (code / f"{number}.yaml").write_text(manifest, encoding="utf-8")


def _timed(folder: Path, options: Sequence[str]) -> tuple[float, float]:
    """Run the command; return its processor time in seconds, and its peak memory, in MiB.

    It has one thread, so on an idle machine this equals the elapsed time; on a busy one it is more meaningful.
    """
    command = [sys.executable, "-m", "knowledge_rag", "drift", str(folder / "docs"), "--code", str(folder / "code"), *options]  # fmt: skip
    environment = os.environ | {CACHE_DIR_VARIABLE: str(folder / "cache")}
    nowhere = [(os.POSIX_SPAWN_OPEN, of, os.devnull, os.O_WRONLY, 0) for of in (1, 2)]
    process = os.posix_spawn(sys.executable, command, environment, file_actions=nowhere)
    _, _, used = os.wait4(process, 0)
    factor = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return used.ru_utime + used.ru_stime, used.ru_maxrss * factor / 1024 / 1024


def _verdict(reached: bool) -> str:  # noqa: FBT001 - what it words
    return "reached" if reached else "missed"
