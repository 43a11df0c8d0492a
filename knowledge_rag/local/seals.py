"""Seals: digests by which a knowledge base tells that what it holds is what an ingest stored.

Each document's row carries a sha256 over all that belongs to it, and one more, in ``meta``, goes
over the documents' seals and the vocabulary. So a flipped byte, a deleted row or an edited text
shows before anything is searched or kept. They are no signatures: who can write the file and knows
this module can seal anew, and what a reader is shown is proven apart from them.
"""

from __future__ import annotations

import hashlib
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knowledge_rag.local.errors import Damage

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence

MODEL: Final = "embedding_model"
"""Key in ``meta``: the fingerprint of the model that the vectors are from."""
SEAL: Final = "seal"
"""Key in ``meta``: the seal over all documents' seals, the vocabulary and the words."""
WORDS: Final = "words"
"""Key in ``meta``: the words of all chunks as they are written, for correcting questions; missing in
a knowledge base that an earlier version made."""

UNFINISHED: Final = "unfinished"
"""Key in ``meta``: how many documents an ingest had still to do when it stopped; missing after a whole one."""

Row = tuple[Any, ...]
"""As SQLite gives it: of any types, until it is checked."""

DOCUMENTS: Final = """
SELECT id, source_file, sha256, fingerprint, title, warnings, seal FROM documents
ORDER BY source_file
"""
# CROSS JOIN keeps this order of loops, in which both indexes give the rows sorted
CHUNKS: Final = """
SELECT document, start_line, end_line, chunk_id, metadata, text, vector, terms
FROM documents CROSS JOIN chunks ON document = documents.id
CROSS JOIN vectors ON chunk = chunks.id
ORDER BY source_file, start_line, end_line
"""


def seal_document(fields: Sequence[str], chunks: Iterable[Row]) -> bytes:
    """Seal one document.

    Args:
        fields: its source file, sha256, fingerprint, title and warnings, as stored.
        chunks: rows of ``CHUNKS``; the first column, a row id, does not count.
    """
    digest = hashlib.sha256(repr(tuple(fields)).encode())
    for _, start, end, chunk_id, metadata, text, vector, terms in chunks:
        head = f"{start} {end} {len(metadata)} {len(text)} {len(vector)} {len(terms)}\0"
        digest.update(f"{head}{chunk_id}\0{metadata}{text}".encode() + vector + terms)
    return digest.digest()


class Whole(NamedTuple):
    """What belongs to no single document.

    Args:
        model: fingerprint of the embedding model.
        terms: of the keyword index, by id.
        words: as ``spelling.to_json`` writes them; ``""`` where there are none yet.
    """

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


def unsound(documents: Iterable[Row], chunks: Iterable[Row]) -> list[str]:
    """Name the documents of which something is not as it was stored.

    Args:
        documents: rows of ``DOCUMENTS``.
        chunks: rows of ``CHUNKS``; read once, a document at a time.
    """
    # the documents' order is the chunks', so both are walked through together
    grouped = groupby(chunks, key=itemgetter(0))
    row, group = next(grouped, (None, ()))
    names = []
    for document, *fields, seal in documents:
        mine: Iterable[Row] = ()
        if row == document:
            mine = group
        if not _fits(seal, fields, mine):
            names.append(fields[0])
        if row == document:
            row, group = next(grouped, (None, ()))
    return names


def _fits(seal: object, fields: Sequence[str], chunks: Iterable[Row]) -> bool:
    try:
        return seal_document(fields, chunks) == seal
    except (TypeError, UnicodeEncodeError):  # a value of another type
        return False


def check_whole(connection: sqlite3.Connection) -> Whole:
    """Check and return what belongs to no single document, and the seal over all.

    Raises:
        Damage: something is missing, left over, or not as it was stored.
    """
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    terms = connection.execute("SELECT id, term FROM terms ORDER BY id").fetchall()
    names = [term for _, term in terms]
    # ids are indexes of arrays later on: nothing may be allocated by what a wrong one says
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
    """Return how many documents the last ingest left to do; 0 if it came to its end."""
    found = connection.execute("SELECT value FROM meta WHERE key = ?", (UNFINISHED,)).fetchone()
    return int(found[0]) if found and str(found[0]).isdigit() else 0


def _is_sealed(meta: dict[str, Any], seals: Sequence[bytes], terms: Sequence[str]) -> bool:
    try:
        sealed = seal_all(meta[MODEL], seals, terms, meta.get(WORDS, ""))
        return bool(seals) and sealed == meta[SEAL]
    except (KeyError, TypeError, AttributeError, UnicodeEncodeError):
        return False
