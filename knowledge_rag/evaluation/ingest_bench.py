"""Measures where an ingest spends its time, and the cost of one that changes nothing."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.local.ingest import ingest
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from knowledge_rag.local.embeddings import Embedder

REACH: Final = 0.90
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
    reach: float = REACH

    @property
    def reached(self) -> bool:
        """Whether everything except the model is negligible, and nothing is embedded twice."""
        return self.in_model >= self.reach and self.again_embedded == 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


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


def as_table(report: IngestBenchReport) -> Table:
    """Lay out a report for a terminal."""
    documents, chunks = counted(report.documents, "document"), counted(report.chunks, "chunk")
    table = Table(title=f"{documents}, {chunks}")
    for heading in ("ingest", "seconds", "chunks/s", "in the model"):
        table.add_column(heading, justify="left" if heading == "ingest" else "right")
    speed = report.chunks / report.seconds
    table.add_row("first", f"{report.seconds:.2f}", f"{speed:.1f}", f"{report.in_model:.1%}")
    again = counted(report.again_embedded, "chunk")
    table.add_row("again, nothing changed", f"{report.again_seconds:.2f}", "", again)
    verdict = "reached" if report.reached else "missed"
    table.caption = f"aim: at least {report.reach:.0%} of the first one in the model: {verdict}"
    return table
