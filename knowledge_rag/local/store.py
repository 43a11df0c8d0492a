"""The knowledge-base file: one SQLite database, written by one transaction a batch of documents.

The file carries SQLite's ``application_id`` and ``user_version``, so that a file of another kind
or of another format is told apart before anything is read from it or written to it.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from knowledge_rag.local.errors import (
    Damage,
    IngestFailed,
    KnowledgeBaseBusy,
    UnusableKnowledgeBase,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

APPLICATION_ID: Final = 0x4B524147  # "KRAG"
FORMAT_VERSION: Final = 2
"""Raised when the tables change; a knowledge base of another version is made again, not migrated:
it holds nothing that its documents do not give."""

COMMIT_WAIT_MS: Final = 10_000
"""How long a finished ingest waits for readers, who hold the file for milliseconds."""
READ_WAIT_MS: Final = 5_000
"""How long opening waits for a commit in progress."""

_SHOWN_ERROR: Final = 120
"""Longer messages of SQLite are cut."""

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
"""


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open an existing knowledge base; the connection may be used from several threads in turn.

    Raises:
        UnusableKnowledgeBase: it is missing, empty, no knowledge base, or of another version.
    """
    if not _exists(path):
        raise UnusableKnowledgeBase(
            f"no knowledge base at {path}: make one with `knowledge-rag ingest DIR --kb {path}`"
        )
    with explained(path):
        # not "ro": after an ingest that died while it wrote, whoever comes next has to roll back
        # what it left. Where the file can't be written, SQLite itself opens it for reading only.
        connection = _connect(path, "rw", wait_ms=READ_WAIT_MS)
        try:
            connection.execute("PRAGMA query_only = ON")
            filled = _check_kind(connection, path)
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
    """Hold the knowledge base for one ingest, exclusively among writers; make it if need be.

    Readers go on with the previous state meanwhile. :func:`commit_batch` and leaving normally commit; an
    exception, or the process's death at any point, leaves the state of the last commit.

    Raises:
        KnowledgeBaseBusy: another ingest holds it; raised at once.
        UnusableKnowledgeBase: the file is something else; it is left untouched.
        IngestFailed: it can't be written.
    """
    existed = _exists(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with explained(path), closing(_connect(path, "rwc", wait_ms=0)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if not _check_kind(connection, path):
                    _create(connection)
                yield connection
                _commit(connection)
            finally:
                if connection.in_transaction:
                    _roll_back(connection)
    except (FileExistsError, NotADirectoryError) as error:
        raise UnusableKnowledgeBase(f"can't make {path}: {error.filename} is no folder") from error
    except OSError as error:
        raise IngestFailed(f"can't make {path}: {error.strerror or error}") from error
    finally:
        if not existed:
            _remove_if_empty(path)


def commit_batch(connection: sqlite3.Connection) -> None:
    """Commit what an ingest has written so far, and go on holding the knowledge base.

    Raises:
        KnowledgeBaseBusy: another ingest wrote it in between; what was committed stays.
        sqlite3.OperationalError: another ingest is writing it; likewise.
    """
    version = data_version(connection)
    _commit(connection)
    connection.execute("PRAGMA busy_timeout = 0")
    connection.execute("BEGIN IMMEDIATE")
    if data_version(connection) != version:
        raise KnowledgeBaseBusy("another ingest has written it meanwhile: run this one again")


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
    if path.exists() and not path.is_file():  # opening a named pipe would wait for its other end
        raise UnusableKnowledgeBase(f"{path} is not a regular file, so no knowledge base")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=wait_ms / 1000,
        check_same_thread=False,
    )
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path) -> bool:
    """Give whether the file holds a knowledge base yet; refuse what is something else."""
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
    if sorted(sql for (sql,) in made) != sorted(_statements()):
        raise Damage("its tables are not a knowledge base's")
    return True


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:  # a name that is too long
        raise UnusableKnowledgeBase(f"no place for a file: {path}: {error.strerror}") from error


def _statements() -> list[str]:
    return SCHEMA.strip().removesuffix(";").split(";\n")


def _create(connection: sqlite3.Connection) -> None:
    for statement in _statements():
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
    """Turn SQLite's errors, and damage, into the failures that this product knows by name."""
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
            raise IngestFailed(
                f"can't write {path}: the disk is full or failing ({error}); "
                "what was committed before is in the knowledge base, whole"
            ) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise IngestFailed(f"can't open {path}: {error}") from error
        # SQLite repeats a text that it can't decode
        what = " ".join(str(error).partition(" with text ")[0].split())[:_SHOWN_ERROR]
        raise UnusableKnowledgeBase(
            f"{path} is damaged ({what}): delete it, ingest again"
        ) from error
