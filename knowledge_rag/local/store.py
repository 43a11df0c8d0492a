"""The knowledge-base file: one SQLite database, written in one transaction per batch of documents.

SQLite's ``application_id`` and ``user_version`` identify the file, so a file of another kind or format is
refused before anything is read from it or written to it.

Each document's row has a seal, the sha256 of all its data. Another one, in ``meta``, covers all documents'
seals and the vocabulary. A flipped byte, a deleted row or an edited text is found before anything is searched
or kept. Seals are checksums, not signatures: anyone who can write the file can seal it again, so citations
are proven separately.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.metadata import to_metadata
from knowledge_rag.local.errors import (
    Damage,
    IngestFailed,
    KnowledgeBaseBusy,
    UnusableKnowledgeBase,
)
from knowledge_rag.local.index import build, index_path, write_index
from knowledge_rag.local.keywords import ENTRY
from knowledge_rag.local.spelling import from_json, to_json, words_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.chunks import Chunk, Document


APPLICATION_ID: Final = 0x4B524147  # "KRAG"
FORMAT_VERSION: Final = 3
"""Raised when the tables change. A knowledge base of another version is rebuilt from its documents."""

COMMIT_WAIT_MS: Final = 10_000
"""How long a finished ingest waits for readers, who lock the file for milliseconds."""
READ_WAIT_MS: Final = 5_000
"""How long opening waits for a commit in progress."""

_SHOWN_ERROR: Final = 120
"""Longer SQLite messages are cut."""

SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    source_file TEXT NOT NULL UNIQUE,
    sha256 TEXT NOT NULL,
    fingerprint TEXT NOT NULL,          -- chunker, prefix and keyword rules it was made with
    title TEXT NOT NULL,
    warnings TEXT NOT NULL,             -- JSON list of sentences, repeated at every ingest
    seal BLOB NOT NULL                  -- sha256 over this row and all chunks of the document
);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id),
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    chunk_id TEXT NOT NULL,
    text TEXT NOT NULL,                 -- context prefix, then the verbatim lines
    metadata TEXT NOT NULL              -- JSON object
);
CREATE INDEX chunks_by_document ON chunks (document, start_line, end_line);
CREATE TABLE vectors (
    chunk INTEGER PRIMARY KEY REFERENCES chunks (id),
    vector BLOB NOT NULL,               -- 384 little-endian float32
    terms BLOB NOT NULL                 -- (term id uint32, weight float32), little-endian
);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE TABLE files (
    source_file TEXT PRIMARY KEY,
    stamp TEXT NOT NULL,                -- sizes and times of the file and its metadata file
    lint TEXT NOT NULL                  -- JSON list of findings, each a list of its fields
) WITHOUT ROWID;
"""
_STATEMENTS: Final = SCHEMA.strip().removesuffix(";").split(";\n")


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open an existing knowledge base; the connection may be used from several threads in turn.

    Raises:
        UnusableKnowledgeBase: it is missing, empty, not a knowledge base, or of another version.
    """
    if not _exists(path):
        raise UnusableKnowledgeBase(
            f"no knowledge base at {path}: create one with `knowledge-rag ingest DIR --kb {path}`"
        )
    with explained(path):
        # not "ro": after an ingest that died while writing, the next process has to roll back its
        # changes. If the file isn't writable, SQLite itself opens it for reading only.
        connection = _connect(path, "rw", wait_ms=READ_WAIT_MS)
        try:
            connection.execute("PRAGMA query_only = ON")
            filled = _has_tables(connection, path)
        except BaseException:
            connection.close()
            raise
    if not filled:
        connection.close()
        raise UnusableKnowledgeBase(
            f"{path} is empty: fill it with `knowledge-rag ingest DIR --kb {path}`"
        )
    return connection


@contextmanager
def ingest_transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """Lock the knowledge base for one ingest, exclusively among writers; create it if missing.

    Meanwhile readers use the previous state. :func:`commit_batch` and leaving normally commit; an
    exception, or the process's death at any point, leaves the state of the last commit.

    Raises:
        KnowledgeBaseBusy: another ingest has locked it; raised immediately.
        UnusableKnowledgeBase: the file is something else; it is left untouched.
        IngestFailed: it can't be written.
    """
    existed = _exists(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with explained(path), closing(_connect(path, "rwc", wait_ms=0)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not _has_tables(connection, path):
                    _create(connection)
                yield connection
                _commit(connection)
            finally:
                if connection.in_transaction:
                    _roll_back(connection)
    except (FileExistsError, NotADirectoryError) as error:
        raise UnusableKnowledgeBase(
            f"can't create {path}: {error.filename} is not a folder"
        ) from error
    except OSError as error:
        raise IngestFailed(f"can't make {path}: {error.strerror or error}") from error
    finally:
        if not existed:
            _remove_if_empty(path)


def commit_batch(connection: sqlite3.Connection) -> None:
    """Commit an ingest's writes so far, and continue.

    Raises:
        KnowledgeBaseBusy: another ingest wrote it in between; committed data stays.
        sqlite3.OperationalError: another ingest is writing it; committed data stays.
    """
    version = data_version(connection)
    _commit(connection)
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("BEGIN IMMEDIATE")
    if data_version(connection) != version:
        raise KnowledgeBaseBusy("another ingest has written it in the meantime: run this one again")


def data_version(connection: sqlite3.Connection) -> int:
    """Return SQLite's counter of commits by others; reading it takes microseconds."""
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)


def _commit(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA busy_timeout = {COMMIT_WAIT_MS}")
    connection.execute("COMMIT")


def _connect(path: Path, mode: str, *, wait_ms: int) -> sqlite3.Connection:
    if path.is_dir():
        raise UnusableKnowledgeBase(f"{path} is a folder, not a knowledge base")
    if path.exists() and not path.is_file():  # opening a named pipe would block
        raise UnusableKnowledgeBase(f"{path} is not a regular file, so not a knowledge base")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=wait_ms / 1000,
        check_same_thread=False,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file has a knowledge base yet; refuse other files."""
    (kind,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if not (kind or version or tables):
        return False
    if kind != APPLICATION_ID:
        raise UnusableKnowledgeBase(f"{path} is a SQLite file, but not a knowledge base")
    if version != FORMAT_VERSION:
        raise UnusableKnowledgeBase(
            f"{path} has format version {version}, and this program reads {FORMAT_VERSION}: "
            "delete it and ingest again"
        )
    made = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
    )
    if sorted(sql for (sql,) in made) != sorted(_STATEMENTS):
        raise Damage("its tables are not a knowledge base's")
    return True


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a name that is too long
        raise UnusableKnowledgeBase(f"invalid path: {path}: {error.strerror}") from error


def _create(connection: sqlite3.Connection) -> None:
    for statement in _STATEMENTS:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def _roll_back(connection: sqlite3.Connection) -> None:
    # after an I/O error SQLite has rolled back by itself, or will when the file is next opened
    with suppress(sqlite3.Error):
        connection.execute("ROLLBACK")


def _remove_if_empty(path: Path) -> None:
    with suppress(OSError):
        if path.stat().st_size == 0:
            path.unlink()


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, and damage, into this product's named errors."""
    try:
        yield
    except (Damage, UnicodeDecodeError) as error:
        what = error if isinstance(error, Damage) else "text is not UTF-8"
        raise UnusableKnowledgeBase(
            f"{path} is damaged ({what}): delete it, ingest again"
        ) from error
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise KnowledgeBaseBusy(f"another ingest is writing {path}: try again later") from error
        if code == sqlite3.SQLITE_NOTADB:
            raise UnusableKnowledgeBase(f"{path} is not a knowledge base") from error
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            raise _disk_failed(path, str(error)) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise IngestFailed(f"can't open {path}: {error}") from error
        # SQLite repeats a text that it can't decode
        what = " ".join(str(error).partition(" with text ")[0].split())[:_SHOWN_ERROR]
        raise UnusableKnowledgeBase(
            f"{path} is damaged ({what}): delete it, ingest again"
        ) from error


def _disk_failed(path: Path, reason: str) -> IngestFailed:
    return IngestFailed(
        f"can't write {path}: the disk is full or failing ({reason}); "
        "batches committed before are complete in the knowledge base"
    )


MODEL: Final = "embedding_model"
"""Key in ``meta``: the fingerprint of the vectors' model."""
SEAL: Final = "seal"
"""Key in ``meta``: the seal over all documents' seals, the vocabulary and the words."""
WORDS: Final = "words"
"""Key in ``meta``: the words of all chunks as written, for correcting questions; missing in a knowledge base
from an earlier version."""

CORPUS: Final = "corpus"
"""Key in ``meta``: the state of the folder from which all of it was made; missing unless recorded."""

FOLDER: Final = "folder"
"""Key in ``meta``: the last ingested folder, relative to the knowledge base's own."""

INDEX: Final = "index"
"""Key in ``meta``: the seal of the last indexed state. During an ingest, the stored data are ahead of it."""

UNFINISHED: Final = "unfinished"
"""Key in ``meta``: number of documents that a stopped ingest left unprocessed; missing after a completed one."""

Row = tuple[Any, ...]
"""A row from SQLite: of any types, until checked."""

DOCUMENTS: Final = """
SELECT id, source_file, sha256, fingerprint, title, warnings, seal FROM documents
ORDER BY source_file
"""
CHUNKS_OF: Final = """
SELECT document, start_line, end_line, chunk_id, metadata, text, vector, terms
FROM chunks JOIN vectors ON chunk = chunks.id WHERE document = ? ORDER BY start_line, end_line
"""
# CROSS JOIN keeps this order of loops, in which both indexes return sorted rows
CHUNKS: Final = """
SELECT document, start_line, end_line, chunk_id, metadata, text, vector, terms
FROM documents CROSS JOIN chunks ON document = documents.id
CROSS JOIN vectors ON chunk = chunks.id
ORDER BY source_file, start_line, end_line
"""


def seal_document(fields: Sequence[str], chunks: Iterable[Row]) -> bytes:
    """Seal one document: its stored fields, and its rows of ``CHUNKS`` without their row ids."""
    digest = hashlib.sha256(repr(tuple(fields)).encode())
    for _, start, end, chunk_id, metadata, text, vector, terms in chunks:
        head = f"{start} {end} {len(metadata)} {len(text)} {len(vector)} {len(terms)}\0"
        digest.update(f"{head}{chunk_id}\0{metadata}{text}".encode() + vector + terms)
    return digest.digest()


class Whole(NamedTuple):
    """The model's fingerprint, the keyword terms by id, and the words that spelling uses."""

    model: str
    terms: list[str]
    words: str


def seal_all(model: str, seals: Iterable[bytes], terms: Iterable[str], words: str = "") -> str:
    """Seal a whole knowledge base: its model, its documents and its terms in order, its words."""
    digest = hashlib.sha256(model.encode())
    digest.update(b"".join(seals))
    digest.update("\0".join(terms).encode())
    digest.update(words.encode())
    return digest.hexdigest()


def unsound(connection: sqlite3.Connection, documents: Iterable[Row]) -> set[str]:
    """Return the names of the documents, rows of ``DOCUMENTS``, that have changed since they were stored."""
    return {
        fields[0]
        for document, *fields, seal in documents
        if not _fits(seal, fields, connection.execute(CHUNKS_OF, (document,)))
    }


def _fits(seal: object, fields: Sequence[str], chunks: Iterable[Row]) -> bool:
    try:
        return seal_document(fields, chunks) == seal
    except (TypeError, UnicodeEncodeError):  # a value of another type
        return False


def check_whole(connection: sqlite3.Connection) -> Whole:
    """Check and return the data that belong to no single document, and the overall seal.

    Raises:
        Damage: something is missing, left over, or has changed since it was stored.
    """
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    terms = connection.execute("SELECT id, term FROM terms ORDER BY id").fetchall()
    names = [term for _, term in terms]
    # ids become indexes of arrays: a wrong one must not decide an allocation
    if [number for number, _ in terms] != list(range(len(terms))):
        raise Damage("its vocabulary has gaps")
    seals = [row[-1] for row in connection.execute(DOCUMENTS)]
    if not _is_sealed(meta, seals, names):
        raise Damage("documents or terms are missing")
    counted = "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM vectors)"
    chunks, vectors = connection.execute(counted).fetchone()
    joined = "SELECT count(*) FROM documents JOIN chunks ON document = documents.id"
    ((owned,),) = connection.execute(joined)
    if not chunks == vectors == owned:
        raise Damage("chunks are missing or left over")
    return Whole(meta[MODEL], names, meta.get(WORDS, ""))


def unfinished(connection: sqlite3.Connection) -> int:
    """Return the number of documents that the last ingest left unprocessed; 0 if it completed."""
    found = _meta(connection, UNFINISHED)
    return int(found) if found and found.isdigit() else 0


def index_seals(connection: sqlite3.Connection) -> list[str]:
    """Return the seals of the states that an index may have: the current one, and the last indexed one."""
    return [seal for key in (SEAL, INDEX) if (seal := _meta(connection, key)) is not None]


def _meta(connection: sqlite3.Connection, key: str) -> str | None:
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else str(found[0])


def _set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Store a value, ``""`` for none; write nothing if it is already there."""
    if (_meta(connection, key) or "") == value:
        return
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))
    if value:
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


def checked_arrays(connection: sqlite3.Connection) -> tuple[str, str, dict[str, Any]]:
    """Check all stored data, and build their index: the state's seal, its model, the arrays.

    Raises:
        Damage: some data are not what an ingest stores.
        sqlite3.Error: the file can't be read.
    """
    connection.execute("BEGIN")
    try:
        whole = check_whole(connection)
        documents = connection.execute(DOCUMENTS).fetchall()
        if broken := unsound(connection, documents):
            raise Damage(f"{len(broken)} of {len(documents)} documents are not as they were stored")
        arrays = build(connection.execute(CHUNKS), whole.terms, whole.words)
        return index_seals(connection)[0], whole.model, arrays
    finally:
        connection.execute("ROLLBACK")


def noted(path: Path, key: str) -> str:
    """Return a value from ``meta``; ``""`` if it is missing, or the file can't be read."""
    with (
        suppress(KnowledgeRagError),
        closing(open_for_reading(path)) as connection,
        explained(path),
    ):
        return _meta(connection, key) or ""
    return ""


def note(path: Path, key: str, value: str) -> None:
    """Store a value about a knowledge base, for :func:`noted`; raises the same as :func:`ingest_transaction`."""
    with ingest_transaction(path) as connection:
        _set_meta(connection, key, value)


def _is_sealed(meta: dict[str, Any], seals: Sequence[bytes], terms: Sequence[str]) -> bool:
    try:
        sealed = seal_all(meta[MODEL], seals, terms, meta.get(WORDS, ""))
        return bool(seals) and sealed == meta[SEAL]
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):
        return False


@dataclass(slots=True)
class PreparedChunk:
    """A chunk to store, with its context prefix; ``vector`` is little-endian float32, empty until embedded."""

    chunk: Chunk
    text: str
    terms: dict[str, float]
    vector: bytes = b""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document to store, its chunks in line order."""

    document: Document
    fingerprint: str
    warnings: tuple[str, ...]
    chunks: tuple[PreparedChunk, ...]


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A stored document; ``sound`` if unchanged since it was stored. Data of any other can't be reused."""

    row: int
    sha256: str
    fingerprint: str
    warnings: tuple[str, ...]
    sound: bool


class KnownFile(NamedTuple):
    """A file when it was last read: its stamp, and its lint findings, as JSON."""

    stamp: str
    lint: str


class Tables:
    """The tables of one connection, inside a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._words: Counter[str] | None = None
        self._term_ids: dict[str, int] | None = None
        self._damaged = False
        self.indexed = ""
        """Seal of the last indexed state, once there is one."""

    def model(self) -> str | None:
        """Return the fingerprint of the vectors' model; ``None`` in a new file.

        Raises:
            Damage: the data that belong to no single document have changed since they were stored.
        """
        ((new,),) = self._connection.execute(
            "SELECT NOT EXISTS (SELECT 1 FROM meta) AND NOT EXISTS (SELECT 1 FROM documents) "
            "AND NOT EXISTS (SELECT 1 FROM chunks)"
        )
        return None if new else check_whole(self._connection).model

    def documents(self) -> dict[str, KnownDocument]:
        """Return every document, by source file, after checking each against its seal."""
        rows = self._connection.execute(DOCUMENTS).fetchall()
        broken = unsound(self._connection, rows)
        self._damaged = bool(broken)
        return {
            name: KnownDocument(
                row,
                sha256,
                fingerprint,
                () if name in broken else tuple(json.loads(warnings)),
                name not in broken,
            )
            for row, name, sha256, fingerprint, _, warnings, _ in rows
        }

    def write_index(self, kb_path: Path) -> None:
        """Write the index of the data stored so far, beside the knowledge base, unless it exists.

        It is used once this transaction is committed.

        Raises:
            IngestFailed: it can't be written.
        """
        meta = dict(self._connection.execute("SELECT key, value FROM meta"))
        self.indexed = meta[SEAL]
        path = index_path(kb_path, self.indexed)
        if not path.exists():
            terms = self._connection.execute("SELECT term FROM terms ORDER BY id")
            arrays = build(
                self._connection.execute(CHUNKS), [term for (term,) in terms], meta.get(WORDS, "")
            )
            try:
                write_index(path, meta[MODEL], arrays)
            except OSError as error:
                raise _disk_failed(kb_path, error.strerror or str(error)) from error
        _set_meta(self._connection, INDEX, meta[SEAL])

    def files(self) -> dict[str, KnownFile]:
        """Return the stored facts about the documents' files."""
        rows = self._connection.execute("SELECT source_file, stamp, lint FROM files")
        return {name: KnownFile(stamp, lint) for name, stamp, lint in rows}

    def note_files(self, files: Mapping[str, KnownFile], gone: Iterable[str]) -> None:
        """Store the facts about some files, and delete those of others."""
        rows = ((name, known.stamp, known.lint) for name, known in files.items())
        self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?)", rows)
        self._connection.executemany(
            "DELETE FROM files WHERE source_file = ?", ((name,) for name in gone)
        )

    def note(self, key: str, value: str) -> None:
        """Store a value in ``meta``, ``""`` for none."""
        _set_meta(self._connection, key, value)

    def count_chunks(self) -> int:
        """Count the chunks of all documents."""
        (count,) = self._connection.execute("SELECT count(*) FROM chunks").fetchone()
        return int(count)

    def vectors_of(self, documents: Sequence[KnownDocument]) -> Iterator[tuple[bytes, bytes]]:
        """Return text key and vector of each chunk of some documents."""
        for document in documents:
            rows = self._connection.execute(
                "SELECT text, vector FROM vectors JOIN chunks ON chunks.id = chunk "
                "WHERE document = ?",
                (document.row,),
            )
            yield from ((text_key(text), vector) for text, vector in rows)

    def replace(
        self, stale: Sequence[KnownDocument], fresh: Sequence[PreparedDocument], model: str
    ) -> None:
        """Delete some documents and add others."""
        self._count_words(stale, fresh)
        rows = [(document.row,) for document in stale]
        self._connection.executemany(
            "DELETE FROM vectors WHERE chunk IN (SELECT id FROM chunks WHERE document = ?)", rows
        )
        self._connection.executemany("DELETE FROM chunks WHERE document = ?", rows)
        self._connection.executemany("DELETE FROM documents WHERE id = ?", rows)
        term_ids = self._numbered(fresh)
        for document in fresh:
            self._add(document, term_ids)
        self._seal(model, sorted(term_ids, key=term_ids.__getitem__))

    def _count_words(
        self, stale: Sequence[KnownDocument], fresh: Sequence[PreparedDocument]
    ) -> None:
        """Update the count of words before documents are replaced."""
        if self._words is None:
            self._words = Counter(self._stored_words())
        for document in stale:
            old = self._texts("SELECT text FROM chunks WHERE document = ?", document.row)
            self._words.subtract(words_in(old))
        self._words.update(words_in(chunk.text for document in fresh for chunk in document.chunks))

    def _stored_words(self) -> Mapping[str, int]:
        """Return the stored and sealed count, or compute it if it is missing or no longer valid."""
        found = _meta(self._connection, WORDS)
        if found is None or self._damaged:
            return words_in(self._texts("SELECT text FROM chunks"))
        return from_json(found)

    def _texts(self, statement: str, *values: int) -> Iterator[str]:
        for (text,) in self._connection.execute(statement, values):
            # a damaged document's text may be anything
            yield text if isinstance(text, str) else ""

    def _seal(self, model: str, terms: Sequence[str]) -> None:
        seals = [row[-1] for row in self._connection.execute(DOCUMENTS)]
        words = to_json(+(self._words or Counter()))
        meta = {MODEL: model, WORDS: words, SEAL: seal_all(model, seals, terms, words)}
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())

    def _numbered(self, fresh: Sequence[PreparedDocument]) -> dict[str, int]:
        """Return the number of each term, adding those of new documents."""
        if self._term_ids is None:
            self._term_ids = dict(self._connection.execute("SELECT term, id FROM terms"))
        known = self._term_ids
        terms = dict.fromkeys(t for d in fresh for chunk in d.chunks for t in chunk.terms)
        new = {t: i for i, t in enumerate((t for t in terms if t not in known), len(known))}
        self._connection.executemany("INSERT INTO terms (term, id) VALUES (?, ?)", new.items())
        known |= new
        return known

    def _add(self, document: PreparedDocument, term_ids: Mapping[str, int]) -> None:
        described, warnings = document.document, json.dumps(document.warnings, ensure_ascii=False)
        fields = (
            described.source_file,
            described.sha256,
            document.fingerprint,
            described.title,
            warnings,
        )
        rows = [_row(chunk, term_ids) for chunk in document.chunks]
        stored = self._connection.execute(
            "INSERT INTO documents (source_file, sha256, fingerprint, title, warnings, seal) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (*fields, seal_document(fields, rows)),
        ).lastrowid
        for _, start_line, end_line, chunk_id, metadata, text, vector, terms in rows:
            chunk = self._connection.execute(
                "INSERT INTO chunks (document, start_line, end_line, chunk_id, text, metadata) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (stored, start_line, end_line, chunk_id, text, metadata),
            ).lastrowid
            self._connection.execute(
                "INSERT INTO vectors (chunk, vector, terms) VALUES (?, ?, ?)",
                (chunk, vector, terms),
            )


def text_key(text: str) -> bytes:
    """Return the sha256 under which an unchanged text's vector is found again."""
    return hashlib.sha256(text.encode()).digest()


def _row(prepared: PreparedChunk, term_ids: Mapping[str, int]) -> Row:
    """Return a chunk as ``CHUNKS`` will read it, all but its document's id."""
    chunk = prepared.chunk
    entries = [(term_ids[term], weight) for term, weight in prepared.terms.items()]
    return (
        None,
        chunk.start_line,
        chunk.end_line,
        chunk.chunk_id,
        json.dumps(to_metadata(chunk), ensure_ascii=False),
        prepared.text,
        prepared.vector,
        np.array(entries, dtype=ENTRY).tobytes(),
    )
