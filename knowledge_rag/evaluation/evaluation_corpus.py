"""The documents of an evaluation: ingested once, and read again to check citations against them.

A new knowledge base starts as a copy of one with most of the documents: the same text has the same vector
wherever it was computed, and an ingest over the copy verifies the parts that it keeps by their seals.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import KnowledgeRagError, UnreadableDocument
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.extract.documents import extract
from knowledge_rag.local.corpus import find_documents, read_beside, read_bytes
from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.local.index import INDEX_SUFFIX
from knowledge_rag.local.ingest import IngestSettings, ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.store import Tables, explained, open_for_reading
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.local.corpus import CorpusFile
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.ingest import Progress

LEAST_SHARE: Final = 0.5
"""Minimum share of the documents in a knowledge base for copying it."""


def _copy_most_alike(
    path: Path, candidates: Iterable[Path], wanted: frozenset[str], model: str
) -> None:
    """Copy the knowledge base with the most of the ``wanted`` documents (by sha256) to a new path, if one is worth it.

    Candidates may be damaged, or gone by now; ``model`` is the fingerprint that the vectors need.
    """
    known = {candidate: _known(candidate, model) & wanted for candidate in candidates}
    best = max(known, key=lambda candidate: len(known[candidate]), default=None)
    if best is None or len(known[best]) < LEAST_SHARE * len(wanted):
        return
    with suppress(KnowledgeRagError, OSError), explained(best):
        with closing(open_for_reading(best)) as source, closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
        return
    path.unlink(missing_ok=True)  # a partial copy


def _known(candidate: Path, model: str) -> set[str]:
    """Return the sha256 of the undamaged documents in a knowledge base."""
    with (
        suppress(KnowledgeRagError, OSError),
        explained(candidate),
        closing(open_for_reading(candidate)) as connection,
    ):
        tables = Tables(connection)
        if tables.model() == model:
            return {known.sha256 for known in tables.documents().values() if known.sound}
    return set()


CACHE_FOLDER: Final = "eval"
KEPT: Final = 6
"""Maximum knowledge bases in the cache; the least recently used is removed first."""
ABANDONED_SECONDS: Final = 86_400.0
"""Age at which an unfinished one must be from a killed run."""

_UNFINISHED: Final = ".part"
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a folder, by relative path; ``sha256`` has the readable ones."""

    root: Path
    files: Mapping[str, CorpusFile]
    sha256: Mapping[str, str]
    skipped: tuple[UnreadableDocument, ...]

    @classmethod
    def of(cls, root: Path) -> Documents:
        """List a folder and hash its files, or raise :exc:`UnusableCorpus`."""
        files = {file.source_file: file for file in find_documents(root)}
        hashes: dict[str, str] = {}
        skipped = []
        for name, file in files.items():
            try:
                data = read_bytes(file)
                extract(name, data)
            except UnreadableDocument as error:
                skipped.append(error)
            else:
                hashes[name] = hashlib.sha256(data).hexdigest()
        return cls(root, files, hashes, tuple(skipped))

    @property
    def fingerprint(self) -> str:
        """Return a hash, equal for two folders if and only if they have the same documents at the same paths."""
        text = "\n".join(f"{sha256} {name}" for name, sha256 in sorted(self.sha256.items()))
        return hashlib.sha256(text.encode()).hexdigest()

    def reader(self) -> CitationCheck:
        """Return a reader that compares results with the files as they are from now on."""
        return CitationCheck(self)


class CitationCheck:
    """Reads lines from disk again, each file once, sharing no code with the chunker or the prover."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents
        self._lines: dict[str, list[bytes]] = {}

    def is_exact(self, result: RetrievalResult) -> bool:
        """Whether the lines exist and match the result, byte for byte."""
        return self.lines(result.citation) == result.content.encode(errors="replace")

    def lines(self, citation: Citation) -> bytes | None:
        """Return the current cited lines; ``None`` if there are no such lines."""
        lines = self._read(citation.source_file)
        if citation.end_line > len(lines):
            return None
        return b"\n".join(lines[citation.start_line - 1 : citation.end_line])

    def length(self, source_file: str) -> int:
        """Return a document's number of lines, 0 if it can't be read."""
        return len(self._read(source_file))

    def _read(self, source_file: str) -> list[bytes]:
        if source_file not in self._lines:
            self._lines[source_file] = self._split(source_file)
        return self._lines[source_file]

    def _split(self, source_file: str) -> list[bytes]:
        file = self.documents.files.get(source_file)
        if file is None:
            return []
        try:
            data = read_bytes(file)
            if is_extracted(source_file):  # line numbers refer to its text
                data = extract(source_file, data).text.encode()
            lines = data.removeprefix(_BOM).split(b"\n")
        except UnreadableDocument:
            return []
        return lines[:-1] if not lines[-1] else lines


def doubts_about_labels(rows: tuple[Row, ...], reader: CitationCheck) -> Iterator[str]:
    """Yield mismatches between labels and documents, which make figures look worse."""
    documents = reader.documents
    targets = [target for row in rows for target in row.targets]
    gone = {t.source_file for t in targets if t.source_file not in documents.sha256}
    changed = {
        t.source_file
        for t in targets
        if t.sha256 and documents.sha256.get(t.source_file, t.sha256) != t.sha256
    }
    if gone:
        yield f"{documents.root} lacks {counted(len(gone), 'document')} that should answer questions: {_some(gone)}"
    if changed:
        others = counted(len(changed), "document")
        yield f"the labels were made on other versions of {others}: {_some(changed)}"
    past = {
        f"{t.source_file} has {counted(have, 'line')}, labelled to {t.lines[1]}"
        for t in targets
        if t.lines
        and t.source_file not in gone
        and t.lines[1] > (have := reader.length(t.source_file))
    }
    if past:
        yield f"labelled lines that don't exist: {_some(past)}"


@contextmanager
def ingested(
    documents: Documents,
    cache_dir: Path,
    embedder: Embedder,
    progress: Progress | None = None,
    *,
    besides: Sequence[Path] = (),
) -> Iterator[KnowledgeBase]:
    """Open the knowledge base of these documents, creating it unless it is cached.

    The documents' bytes and metadata files determine the name of the cached file. Vectors of knowledge bases in
    ``besides`` may be reused.

    Raises:
        UnusableCorpus: nothing in the folder is readable.
        IngestFailed: it can't be written.
        ModelUnavailable: the embedding model isn't available.
    """
    path = _cached(documents, cache_dir, embedder)
    try:
        knowledge_base = KnowledgeBase(path, embedder)
    except UnusableKnowledgeBase:  # missing or damaged: nothing to lose
        candidates = (*sorted(path.parent.glob("*.kb")), *besides)
        _make(documents, path, embedder, progress, candidates)
        knowledge_base = KnowledgeBase(path, embedder)
    with suppress(OSError):
        os.utime(path)
    _make_room(path)
    with knowledge_base:
        yield knowledge_base


def _cached(documents: Documents, cache_dir: Path, embedder: Embedder) -> Path:
    settings = IngestSettings()
    rules = (
        settings.fingerprint_of(name, read_beside(documents.files[name]))
        for name in sorted(documents.sha256)
    )
    parts = (documents.fingerprint, *rules, embedder.fingerprint)
    name = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return cache_dir / CACHE_FOLDER / f"{name}.kb"


def _make(
    documents: Documents,
    path: Path,
    embedder: Embedder,
    progress: Progress | None,
    candidates: Sequence[Path],
) -> None:
    # under a temporary name, so that an interrupted run leaves nothing that looks finished
    unfinished = path.with_suffix(f".{os.getpid()}{_UNFINISHED}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted = frozenset(documents.sha256.values())
        _copy_most_alike(unfinished, candidates, wanted, embedder.fingerprint)
        ingest(documents.root, unfinished, embedder=embedder, progress=progress)
        for index in unfinished.parent.glob(f"{unfinished.name}.*{INDEX_SUFFIX}"):
            index.replace(index.with_name(path.name + index.name.removeprefix(unfinished.name)))
        unfinished.replace(path)
    finally:
        _remove(unfinished)


def _make_room(used: Path) -> None:
    with suppress(OSError):  # another run may be removing files, too
        others = sorted(
            (path for path in used.parent.glob("*.kb") if path != used),
            key=lambda path: path.stat().st_mtime,
            reverse=True,
        )
        abandoned = (
            path
            for path in used.parent.glob(f"*{_UNFINISHED}*")  # and SQLite's journals of them
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS
        )
        for path in (*others[KEPT - 1 :], *abandoned):
            _remove(path)


def _remove(path: Path) -> None:
    """Remove a knowledge base, if it is there, with its indexes."""
    for each in (path, *path.parent.glob(f"{path.name}.*{INDEX_SUFFIX}*")):
        each.unlink(missing_ok=True)


def _some(names: set[str]) -> str:
    return f"{min(names)}{', ...' if len(names) > 1 else ''}"
