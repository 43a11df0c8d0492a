"""Compares chunking speed and exactness with other libraries', on the same texts in one run.

Absolute figures depend on the machine; only the ratios within one run matter. A peer that isn't
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
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.corpus_files import read_extracted
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Split = Callable[[str], Sequence[str]]
"""Returns the texts of one document's chunks."""

CHUNK_CHARACTERS: Final = 800
"""Size limit for peers that count characters: about 256 tokens of a runbook."""


def _langchain_headers() -> Split:
    from langchain_text_splitters import MarkdownHeaderTextSplitter  # noqa: PLC0415

    splitter = MarkdownHeaderTextSplitter([("#" * n, f"h{n}") for n in range(1, 7)])
    return lambda text: [document.page_content for document in splitter.split_text(text)]


def _langchain_recursive() -> Split:
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=0)
    split: Split = splitter.split_text
    return split


def _llama_index() -> Split:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import MarkdownNodeParser  # noqa: PLC0415

    parser = MarkdownNodeParser()
    return lambda text: [
        node.get_content() for node in parser.get_nodes_from_documents([Document(text=text)])
    ]


def _chonkie() -> Split:
    from chonkie import RecursiveChunker  # noqa: PLC0415

    chunker = RecursiveChunker(tokenizer="character", chunk_size=CHUNK_CHARACTERS)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def _semchunk() -> Split:
    import semchunk  # noqa: PLC0415

    chunker: Split = semchunk.chunkerify(len, chunk_size=CHUNK_CHARACTERS)
    return chunker


HEADERS: Final = "langchain headers"
RECURSIVE: Final = "langchain recursive"
NODES: Final = "llama-index nodes"
PEERS: Final[dict[str, Callable[[], Split]]] = {
    HEADERS: _langchain_headers,
    RECURSIVE: _langchain_recursive,
    NODES: _llama_index,
    "chonkie recursive": _chonkie,
    "semchunk": _semchunk,
}
"""Name -> a function that creates the splitter; it raises ImportError if the library isn't installed."""

_Splitter = Callable[[Document, str], Sequence[Chunk | str]]

CAPPED: Final = "ours, 256 tokens"
WHOLE: Final = "ours, whole sections"
OURS: Final = {
    CAPPED: ChunkingSettings(),
    # practically whole sections, like those of the header splitters
    WHOLE: ChunkingSettings(max_tokens=8192),
}
REACH: Final = {HEADERS: 8.0, NODES: 20.0, RECURSIVE: 1.0}
"""Target speed as a multiple of each peer's: in a trial, ours had 60 MB/s, they had 7.6, 2.8 and 48.7."""
AIM: Final = ", ".join(f"{times:g} of {peer}" for peer, times in REACH.items())


@dataclass(frozen=True, slots=True)
class Row:
    """One splitter's figures.

    Args:
        name: name of the splitter.
        megabytes_per_second: megabytes of UTF-8 text per second of CPU time, best round.
        chunks: number of its chunks.
        verbatim: share of its chunks that occur verbatim in the text, 0..1.
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
        files: number of documents.
        megabytes: their size as UTF-8.
        rows: one per splitter, ours first.
        missing: peers that are not installed.
    """

    files: int
    megabytes: float
    rows: tuple[Row, ...]
    missing: tuple[str, ...]

    @property
    def reached(self) -> bool | None:
        """Whether our splitter of whole sections meets the targets; ``None`` unless all the peers are installed.

        Whole sections are compared, because the two peers that split at headings return those.
        """
        found = [self.times(WHOLE, peer) for peer in REACH]
        if None in found:
            return None
        return all(
            it is not None and it >= REACH[peer] for peer, it in zip(REACH, found, strict=True)
        )

    def times(self, name: str, peer: str) -> float | None:
        """Return how many times as fast one is as the other; ``None`` if either is missing."""
        speed = {row.name: row.megabytes_per_second for row in self.rows}
        return speed[name] / speed[peer] if name in speed and peer in speed else None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_chunking_bench(docs: Path, *, rounds: int = 3) -> ChunkingReport:
    """Chunk every document of a folder with every splitter.

    Args:
        docs: the folder.
        rounds: number of runs of each over all documents, in turns; the best counts.

    Raises:
        UnusableCorpus: the folder has no documents with text.
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
    """Return a report as a table."""
    table = Table(title=f"chunking {report.files} files, {report.megabytes:.1f} MB")
    for heading in ("splitter", "MB/s", "capped", "whole", "chunks", "verbatim", "lines"):
        first_column = heading == "splitter"
        table.add_column(heading, justify="left" if first_column else "right", overflow="fold")
    for row in report.rows:
        times = [report.times(ours, row.name) or 0.0 for ours in OURS]
        table.add_row(
            row.name,
            f"{row.megabytes_per_second:.1f}",
            *(f"{each:.2f}x" for each in times),
            str(row.chunks),
            f"{row.verbatim:.0%}",
            f"{row.lines:.0%}",
        )
    table.caption = f"capped, whole: how many times as fast ours is. {_verdict(report)}"
    return table


def _verdict(report: ChunkingReport) -> str:
    if report.missing:
        return f"Not installed: {', '.join(report.missing)} (`make bench` installs them)"
    return f"Aim for whole sections: {AIM}: {'reached' if report.reached else 'missed'}"


def _documents(docs: Path) -> list[tuple[Document, str]]:
    documents = []
    for file in find_documents(docs):
        try:
            read = read_extracted(file)
        except UnreadableDocument:
            continue  # the benchmark is about speed; `ingest` reports such a file
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
    """Return each splitter's seconds of CPU time in its best round.

    CPU time, and in turns, so that other work on the machine affects none or all of them.
    """
    best = dict.fromkeys(splitters, float("inf"))
    for _ in range(rounds):
        for name, split in splitters.items():
            started = time.process_time()
            results = [split(document, text) for document, text in documents]
            best[name] = min(best[name], time.process_time() - started)
            del results  # before the next one is timed
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
