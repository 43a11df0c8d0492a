"""Seals a knowledge base anew, as somebody would who has changed it and knows how seals are made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from knowledge_rag.local.store import (
    CHUNKS,
    DOCUMENTS,
    MODEL,
    SEAL,
    WORDS,
    check_whole,
    seal_all,
    seal_document,
)

if TYPE_CHECKING:
    from pathlib import Path


def seal_anew(path: Path) -> None:
    """Make the seals fit whatever the file now holds."""
    with closing(sqlite3.connect(path)) as connection, connection:
        rows = connection.execute(CHUNKS).fetchall()
        for number, *fields, _ in connection.execute(DOCUMENTS).fetchall():
            seal = seal_document(fields, [row for row in rows if row[0] == number])
            connection.execute("UPDATE documents SET seal = ? WHERE id = ?", (seal, number))
        seals = [row[-1] for row in connection.execute(DOCUMENTS)]
        terms = [term for (term,) in connection.execute("SELECT term FROM terms ORDER BY id")]
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        seal = seal_all(meta[MODEL], seals, terms, meta.get(WORDS, ""))
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (seal, SEAL))
        check_whole(connection)
