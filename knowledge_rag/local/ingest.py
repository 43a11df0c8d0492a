"""Ingests a folder of documents into a searchable knowledge base.

Documents are cut, described and embedded, then written batch by batch. A run that fails or is killed
leaves whole documents, readers see either the old state or the new one, and unchanged documents are neither
cut nor embedded again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunking import ChunkingSettings
from knowledge_rag.core.chunks import context_prefix
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.findings import Kind
from knowledge_rag.core.metadata import COMMIT, LAST_CHANGED, stored_text
from knowledge_rag.drift.history import last_changes
from knowledge_rag.drift.stamp import check_text, stamped
from knowledge_rag.drift.stamp import fingerprint as drift_fingerprint
from knowledge_rag.extract.dates import DATES_VERSION, dated
from knowledge_rag.extract.documents import cut, extract, fingerprint
from knowledge_rag.extract.lint.check import LINT_VERSION, cautioned, lint_text
from knowledge_rag.extract.lint.patterns import Finding
from knowledge_rag.local.corpus import list_folder, read_beside, read_bytes, stamp
from knowledge_rag.local.embeddings import context_of, placed
from knowledge_rag.local.errors import Damage, UnusableCorpus
from knowledge_rag.local.index import remove_other_indexes
from knowledge_rag.local.keywords import KEYWORDS_VERSION, stored_terms
from knowledge_rag.local.since_ingest import noted_folder
from knowledge_rag.local.store import (
    FOLDER,
    UNFINISHED,
    KnownFile,
    PreparedChunk,
    PreparedDocument,
    Tables,
    commit_batch,
    ingest_transaction,
    text_key,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.drift.history import Change
    from knowledge_rag.extract.dates import DateOrder
    from knowledge_rag.extract.documents import Extracted
    from knowledge_rag.local.corpus import CorpusFile, LeftOut
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.store import KnownDocument


class VectorSource:
    """Returns each text's vector: a known one, or a new one from the model.

    A vector depends only on its text, so an incremental ingest gives the same result as a full one.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[bytes, bytes] = {}
        self._batch: dict[bytes, bytes] = {}
        self._new = lru_cache(RECENT_VECTORS)(self._embedded)
        self._context = lru_cache(RECENT_VECTORS)(embedder.embed)
        self.embedded = 0
        """Number of texts that went through the model, not counting their shared contexts."""
        self.seconds = 0.0
        """Wall time spent inside the model."""

    def offer(self, known: Iterable[tuple[bytes, bytes]]) -> None:
        """Add known vectors of the same model, by text key."""
        self._known.update(known)

    def offer_for_batch(self, known: Iterable[tuple[bytes, bytes]]) -> None:
        """Replace the previous batch's known vectors."""
        self._batch = dict(known)

    def vector(self, text: str) -> bytes:
        """Return the text's vector as little-endian float32."""
        key = text_key(text)
        return self._known.get(key) or self._batch.get(key) or self._new(text)

    def _embedded(self, text: str) -> bytes:
        started = time.perf_counter()
        vector = self._embedder.embed(text)
        if context := context_of(text):
            vector = placed(vector, self._context(context))
        self.seconds += time.perf_counter() - started
        self.embedded += 1
        return vector.astype("<f4").tobytes()


def _prepared(chunk: Chunk) -> PreparedChunk:
    terms = stored_terms(context_prefix(chunk), chunk.content)
    return PreparedChunk(chunk, stored_text(chunk), terms)


def _warnings(read: Extracted, chunks: Sequence[Chunk]) -> Iterable[str]:
    name = read.document.source_file
    for note in read.notes:
        yield f"{name}: {note}"
    if not chunks:
        yield f"{name}: nothing but blank lines or front matter"
    for chunk in chunks:
        if chunk.oversized:
            yield (
                f"{name}: line {chunk.start_line} alone exceeds the embedding model's window; "
                "only its beginning is searched by meaning"
            )


Progress = Callable[[int, int, str], None]
"""Called with the amount done, the total, and the phase: reading, embedding or writing."""

RECENT_VECTORS: Final = 20_000
"""Maximum cached vectors of a run's texts and contexts, so that repeated ones are embedded once: some 80 MB."""
BATCH_CHUNKS: Final = 512
"""Chunks after which finished work is committed; some ten seconds of embedding."""
BATCH_SHARE: Final = 0.01
"""Minimum batch as a share of the stored chunks: the time of a commit grows with them, and a run that is
killed loses a batch."""
INDEX_SHARE: Final = 0.1
"""Growth of the stored chunks before readers see them: the time for an index grows with them."""

INDEX_VERSION: Final = "3"
"""Raised when the stored form of a chunk changes: all documents are then ingested again."""


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Options of an ingest.

    ``date_order`` is that of day and month in ``03/04/2026``; if unset, that is no date.
    """

    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    date_order: DateOrder | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for two runs if and only if they store the same for the same bytes."""
        dates = f"dates-{DATES_VERSION}{self.date_order or ''}"
        versions = f"keywords-{KEYWORDS_VERSION} index-{INDEX_VERSION} lint-{LINT_VERSION}"
        return f"{self.chunking.fingerprint} {versions} {drift_fingerprint()} {dates}"

    def fingerprint_of(
        self, source_file: str, beside: bytes | None, change: Change | None = None
    ) -> str:
        """Equal for two runs if and only if they store the same for the same bytes of one document."""
        known = f"{change.commit.sha} {change.blob[:16]}" if change else ""
        return f"{self.fingerprint} {fingerprint(source_file, beside)} {known}".rstrip()


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest.

    ``changed`` documents have other bytes or chunking rules, or were damaged; ``removed`` ones don't exist or can't be
    read any more; ``skipped`` files yielded nothing; ``left_out`` ones look like documents and were not read. ``lint``
    covers all readable documents, ``embedded`` counts chunks. Times are wall seconds, of the whole run and of the
    embedding model.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: int
    skipped: tuple[UnreadableDocument, ...]
    left_out: tuple[LeftOut, ...]
    warnings: tuple[str, ...]
    lint: tuple[Finding, ...]
    chunks: int
    embedded: int
    seconds: float
    embedding_seconds: float


def ingest(
    directory: Path,
    kb_path: Path,
    *,
    embedder: Embedder,
    settings: IngestSettings | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Bring a knowledge base up to date with a folder; create it if it does not exist.

    Documents are committed in batches, each document whole or not at all. A run that stops keeps its committed
    batches, and on Ctrl-C also the documents that are embedded; the next run continues from there. Documents
    that are gone from the folder are removed at the end. If the embedding model has changed, there is one commit.

    Raises:
        UnusableCorpus: the folder is missing, not a folder, or has nothing readable.
        UnusableKnowledgeBase: the file is something else, or of another version.
        KnowledgeBaseBusy: another ingest is writing it.
        IngestFailed: it could not be written; it is as it was after the last batch.
        ModelUnavailable: the embedding model isn't available.
    """
    started = time.perf_counter()
    folder = list_folder(directory)
    with ingest_transaction(kb_path) as connection:
        run = _Run(
            connection,
            kb_path,
            embedder,
            settings or IngestSettings(),
            progress or (lambda *_: None),
        )
        run.tables.note(FOLDER, noted_folder(directory, kb_path))
        names = {file.source_file for file in folder.documents}
        run.carry_out(folder.documents, last_changes(directory, names))
    run.clear_up()
    return run.report(folder.left_out, time.perf_counter() - started)


class _Run:
    def __init__(
        self,
        connection: sqlite3.Connection,
        kb_path: Path,
        embedder: Embedder,
        settings: IngestSettings,
        progress: Progress,
    ) -> None:
        self._connection = connection
        self._kb_path = kb_path
        self._indexed = 0  # chunks in the last index
        self.tables = Tables(connection)
        self._embedder = embedder
        self._settings = settings
        self._progress = progress
        self._same_model = self.tables.model() == embedder.fingerprint
        self._known = self.tables.documents()
        self._files = self.tables.files()
        self._looked_at: dict[str, KnownFile] = {}
        # vectors of two models can't be mixed: then it is all or nothing
        self._in_batches = self._same_model or not self._known
        self._skipped: list[UnreadableDocument] = []
        self._lint: list[Finding] = []
        self._fresh: dict[str, PreparedDocument] = {}
        self._stored: dict[str, tuple[str, ...]] = {}  # warnings, by document
        self._kept: dict[str, KnownDocument] = {}
        self._vectors = VectorSource(embedder)
        self._chunks = self.tables.count_chunks()
        self._is_writing = False
        self._history: dict[str, Change] = {}

    def carry_out(self, files: Sequence[CorpusFile], history: dict[str, Change]) -> None:
        self._history = history
        names = {file.source_file for file in files}
        if self._same_model:
            gone = (it for name, it in self._known.items() if name not in names and it.sound)
            self._vectors.offer(self.tables.vectors_of(tuple(gone)))
        try:
            for done, file in enumerate(files):
                self._progress(done, len(files), "reading")
                self._read(file)
                pending = sum(len(it.chunks) for it in self._fresh.values())
                # the time of each commit grows with the stored chunks
                if self._in_batches and pending >= max(BATCH_CHUNKS, BATCH_SHARE * self._chunks):
                    self._store(left=len(files) - done - 1)
                    commit_batch(self._connection)
                    self.clear_up()
            self._progress(len(files), len(files), "reading")
            if len(self._skipped) == len(files):
                reason = self._skipped[0]
                raise UnusableCorpus(f"none of {len(files)} documents can be read: {reason}")
            self._store(left=0)
        except (KeyboardInterrupt, SystemExit):
            done = len(self._kept) + len(self._stored) + len(self._skipped)
            self._keep_what_is_done(len(files) - done)
            raise

    def _store(self, left: int) -> None:
        stays = self._kept.keys() | self._stored.keys()
        stale = [
            known
            for name, known in self._known.items()
            if name in self._fresh or (not left and name not in stays)
        ]
        if self._same_model:
            changed = (self._known.get(name) for name in self._fresh)
            sound = [it for it in changed if it and it.sound]
            self._vectors.offer_for_batch(self.tables.vectors_of(sound))
        self._embed()
        self._write(stale, left, is_last=not left)

    def _write(self, stale: Sequence[KnownDocument], left: int, *, is_last: bool) -> None:
        is_changed = stale or self._fresh or not self._same_model
        self._is_writing = True
        if is_changed:
            self._progress(0, 1, "writing")
            self.tables.replace(stale, [*self._fresh.values()], self._embedder.fingerprint)
        self._note_files(is_last=not left)
        self.tables.note(UNFINISHED, str(left or ""))
        self._chunks = self.tables.count_chunks()
        if is_last or self._chunks >= (1 + INDEX_SHARE) * self._indexed:
            self.tables.write_index(self._kb_path)
            self._indexed = self._chunks
        if is_changed:
            self._progress(1, 1, "writing")
        self._is_writing = False
        self._stored |= {name: it.warnings for name, it in self._fresh.items()}
        self._fresh.clear()

    def _note_files(self, *, is_last: bool) -> None:
        """Record the files of the documents stored so far."""
        stored = self._fresh.keys() | self._kept.keys() | self._stored.keys()
        new = {
            name: known
            for name, known in self._looked_at.items()
            if name in stored and self._files.get(name) != known
        }
        gone = self._files.keys() - stored if is_last else set()
        if new or gone:
            self.tables.note_files(new, gone)
            self._files = {n: it for n, it in self._files.items() if n not in gone} | new

    def _keep_what_is_done(self, left: int) -> None:
        """Commit the embedded documents, so that stopping loses at most one document's work."""
        if self._is_writing or not self._in_batches:
            return  # half a batch, or another model's vectors: nothing to keep
        for name, document in [*self._fresh.items()]:
            if not all(chunk.vector for chunk in document.chunks):
                del self._fresh[name]
        if self._fresh or self._stored:
            stale = [known for name, known in self._known.items() if name in self._fresh]
            self._write(stale, left - len(self._fresh), is_last=True)
            commit_batch(self._connection)
            self.clear_up()

    def clear_up(self) -> None:
        """Delete the indexes of states before the committed one."""
        remove_other_indexes(self._kb_path, self.tables.indexed)

    def report(self, left_out: tuple[LeftOut, ...], seconds: float) -> IngestReport:
        fresh = self._stored.keys()
        warnings = [w for known in self._kept.values() for w in known.warnings]
        warnings += [w for own in self._stored.values() for w in own]
        return IngestReport(
            added=tuple(sorted(fresh - self._known.keys())),
            changed=tuple(sorted(fresh & self._known.keys())),
            removed=tuple(sorted(self._known.keys() - fresh - self._kept.keys())),
            unchanged=len(self._kept),
            skipped=tuple(self._skipped),
            left_out=left_out,
            warnings=tuple(sorted(warnings)),
            lint=tuple(self._lint),
            chunks=self._chunks,
            embedded=self._vectors.embedded,
            seconds=seconds,
            embedding_seconds=self._vectors.seconds,
        )

    def _read(self, file: CorpusFile) -> None:
        name = file.source_file
        try:
            seen = stamp(file)
            beside = read_beside(file)
            change = self._history.get(name)
            rules = self._settings.fingerprint_of(name, beside, change)
            known = self._known.get(name)
            if known and not (known.sound and self._same_model and known.fingerprint == rules):
                known = None  # ingested again regardless
            noted = self._files.get(name)
            if known and noted and noted.stamp == seen != "":
                self._keep(known, noted, name)
                return
            data = read_bytes(file)
            if known and noted and known.sha256 == hashlib.sha256(data).hexdigest():
                self._keep(known, KnownFile(seen or noted.stamp, noted.lint), name)
                return
            read = _with_history(extract(name, data, beside), data, change)
        except UnreadableDocument as error:
            self._skipped.append(error)
            return
        findings = lint_text(name, read.text)
        self._lint += findings
        rows = [astuple(finding)[1:] for finding in findings]
        self._looked_at[name] = KnownFile(seen, json.dumps(rows, ensure_ascii=False))
        chunks = cautioned(cut(read, self._settings.chunking), findings)
        chunks = dated(chunks, read.text, self._settings.date_order)
        chunks = stamped(chunks, check_text(name, read.shape or read.text))
        warnings = tuple(_warnings(read, chunks))
        prepared = tuple(map(_prepared, chunks))
        self._fresh[name] = PreparedDocument(read.document, rules, warnings, prepared)

    def _keep(self, known: KnownDocument, file: KnownFile, source_file: str) -> None:
        """Leave a document alone: the same bytes under the same rules have the same findings."""
        self._kept[source_file] = known
        self._looked_at[source_file] = file
        self._lint += _findings_of(source_file, file.lint)

    def _embed(self) -> None:
        chunks = [chunk for document in self._fresh.values() for chunk in document.chunks]
        for done, chunk in enumerate(chunks):
            self._progress(done, len(chunks), "embedding")
            chunk.vector = self._vectors.vector(chunk.text)
        self._progress(len(chunks), len(chunks), "embedding")


def _with_history(read: Extracted, data: bytes, change: Change | None) -> Extracted:
    """Add the commit that a document's bytes are from; uncommitted bytes have none."""
    if change is None or not change.holds(data):
        return read
    known = {COMMIT: change.commit.sha, LAST_CHANGED: change.commit.day}
    document = replace(read.document, front_matter={**read.document.front_matter, **known})
    return replace(read, document=document)


def _findings_of(source_file: str, stored: str) -> list[Finding]:
    try:
        return [
            Finding(source_file, line, column, Kind(kind), *rest)
            for line, column, kind, *rest in json.loads(stored)
        ]
    except (ValueError, TypeError) as error:
        raise Damage("lint findings are not as an ingest stores them") from error
