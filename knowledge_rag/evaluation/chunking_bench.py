"""Chunking speed and exactness beside the peers', on the same texts in one run.

Absolute figures depend on the machine; the ratios in one run are what counts. A peer that is not
installed is left out and named.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rich.table import Table

from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.evaluation.chunking_peers import PEERS
from knowledge_rag.local.corpus import find_documents, read_bytes
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knowledge_rag.core.chunks import Chunk, Document

_T = TypeVar("_T")

OURS: Final = {
    "knowledge-rag": ChunkingSettings(),
    # practically whole sections, as the header splitters give them
    "knowledge-rag, whole sections": ChunkingSettings(max_tokens=8192),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One splitter's figures.

    Args:
        name: whose.
        megabytes_per_second: of UTF-8 text, best round.
        chunks: how many it made.
        verbatim: share of its chunks that are a stretch of the text as it stands, 0..1.
        lines: share of its chunks that name their exact lines, 0..1.
    """

    name: str
    megabytes_per_second: float
    chunks: int
    verbatim: float
    lines: float


@dataclass(frozen=True, slots=True)
class ChunkingReport:
    """A run of the benchmark.

    Args:
        files: documents chunked.
        megabytes: their size as UTF-8.
        rows: one a splitter, ours first.
        missing: peers that are not installed.
    """

    files: int
    megabytes: float
    rows: tuple[Row, ...]
    missing: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form."""
        return asdict(self)


def run_chunking_bench(docs: Path, *, rounds: int = 3) -> ChunkingReport:
    """Chunk every document of a folder with every splitter.

    Args:
        docs: the folder.
        rounds: how often each runs over all documents; its best round counts.

    Raises:
        UnusableCorpus: the folder holds no documents with text.
    """
    documents = _documents(docs)
    size = sum(len(text.encode()) for _, text in documents) / 1e6
    rows = [_our_row(name, settings, documents, size, rounds) for name, settings in OURS.items()]
    missing = []
    for name, make in PEERS.items():
        try:
            split = make()
        except ImportError:
            missing.append(name)
        else:
            rows.append(_peer_row(name, split, documents, size, rounds))
    return ChunkingReport(len(documents), round(size, 3), tuple(rows), tuple(missing))


def as_table(report: ChunkingReport) -> Table:
    """Lay a report out for a terminal."""
    table = Table(title=f"chunking {report.files} files, {report.megabytes:.1f} MB")
    for heading in ("splitter", "MB/s", "ours is x times", "chunks", "verbatim", "with lines"):
        first_column = heading == "splitter"
        table.add_column(heading, justify="left" if first_column else "right", overflow="fold")
    first = report.rows[0].megabytes_per_second
    for row in report.rows:
        table.add_row(
            row.name,
            f"{row.megabytes_per_second:.1f}",
            f"{first / row.megabytes_per_second:.2f}",
            str(row.chunks),
            f"{row.verbatim:.1%}",
            f"{row.lines:.1%}",
        )
    if report.missing:
        table.caption = f"not installed: {', '.join(report.missing)} (`make bench` installs them)"
    return table


def _documents(docs: Path) -> list[tuple[Document, str]]:
    documents = []
    for file in find_documents(docs):
        try:
            documents.append(read_document(file.source_file, read_bytes(file)))
        except UnreadableDocument:
            continue  # the benchmark is about speed; `ingest` is where such a file is reported
    if not any(text.strip() for _, text in documents):
        raise UnusableCorpus(f"no document with text in {docs}")
    return documents


def _our_row(
    name: str,
    settings: ChunkingSettings,
    documents: Sequence[tuple[Document, str]],
    size: float,
    rounds: int,
) -> Row:
    def run() -> list[list[Chunk]]:
        return [chunk_text(document, text, settings) for document, text in documents]

    seconds, results = _best(run, rounds)
    exact = sum(
        chunk.content == slice_lines(text, chunk.start_line, chunk.end_line)
        for (_, text), chunks in zip(documents, results, strict=True)
        for chunk in chunks
    )
    count = sum(map(len, results))
    return Row(name, size / seconds, count, exact / count, exact / count)


def _peer_row(
    name: str,
    split: Callable[[str], Sequence[str]],
    documents: Sequence[tuple[Document, str]],
    size: float,
    rounds: int,
) -> Row:
    seconds, results = _best(lambda: [split(text) for _, text in documents], rounds)
    verbatim = sum(
        chunk in text
        for (_, text), chunks in zip(documents, results, strict=True)
        for chunk in chunks
    )
    count = sum(map(len, results))
    return Row(name, size / seconds, count, verbatim / count if count else 0.0, 0.0)


def _best(run: Callable[[], _T], rounds: int) -> tuple[float, _T]:
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        result = run()
        best = min(best, time.perf_counter() - started)
    return best, result
