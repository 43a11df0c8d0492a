"""Chunking speed and exactness beside the peers', on the same texts in one run.

Absolute figures depend on the machine; the ratios in one run are what counts. A peer that is not
installed is left out and named.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.chunks import Chunk, Document
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import slice_lines
from knowledge_rag.evaluation.chunking_peers import PEERS
from knowledge_rag.local.corpus import find_documents, read_extracted
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knowledge_rag.evaluation.chunking_peers import Split

_Splitter = Callable[[Document, str], Sequence[Chunk | str]]

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
        megabytes_per_second: of UTF-8 text in a second of CPU time, best round.
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
        rounds: how often each runs over all documents, in turns; its best round counts.

    Raises:
        UnusableCorpus: the folder holds no documents with text.
    """
    documents = _documents(docs)
    splitters: dict[str, _Splitter] = {name: _ours(it) for name, it in OURS.items()}
    missing = []
    for name, make in PEERS.items():
        try:
            splitters[name] = _peer(make())
        except ImportError:
            missing.append(name)
    seconds = _best_of(splitters, documents, rounds)
    size = sum(len(text.encode()) for _, text in documents) / 1e6
    rows = tuple(
        _row(name, split, documents, size / seconds[name]) for name, split in splitters.items()
    )
    return ChunkingReport(len(documents), round(size, 3), rows, tuple(missing))


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
            read = read_extracted(file)
        except UnreadableDocument:
            continue  # the benchmark is about speed; `ingest` is where such a file is reported
        documents.append((read.document, read.text))
    if not any(text.strip() for _, text in documents):
        raise UnusableCorpus(f"no document with text in {docs}")
    return documents


def _ours(settings: ChunkingSettings) -> _Splitter:
    return lambda document, text: chunk_text(document, text, settings)


def _peer(split: Split) -> _Splitter:
    return lambda _, text: split(text)


def _best_of(
    splitters: Mapping[str, _Splitter], documents: Sequence[tuple[Document, str]], rounds: int
) -> dict[str, float]:
    """Give each splitter's seconds of CPU time in its best round.

    CPU time and turns, so that others' work on the machine falls on nobody or on all.
    """
    best = dict.fromkeys(splitters, float("inf"))
    for _ in range(rounds):
        for name, split in splitters.items():
            started = time.process_time()
            results = [split(document, text) for document, text in documents]
            best[name] = min(best[name], time.process_time() - started)
            del results  # before the next one's time runs
    return best


def _row(
    name: str, split: _Splitter, documents: Sequence[tuple[Document, str]], speed: float
) -> Row:
    count = verbatim = lines = 0
    for document, text in documents:
        chunks = split(document, text)
        count += len(chunks)
        verbatim += sum(_content(chunk) in text for chunk in chunks)
        lines += sum(_names_its_lines(chunk, text) for chunk in chunks)
    return Row(name, speed, count, verbatim / max(count, 1), lines / max(count, 1))


def _content(chunk: Chunk | str) -> str:
    return chunk if isinstance(chunk, str) else chunk.content


def _names_its_lines(chunk: Chunk | str, text: str) -> bool:
    return isinstance(chunk, Chunk) and chunk.content == slice_lines(
        text, chunk.start_line, chunk.end_line
    )
