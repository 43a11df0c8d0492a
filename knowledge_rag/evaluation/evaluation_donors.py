"""What is embedded already: a new knowledge base of an evaluation begins as a copy of a like one.

An ingest over a copy keeps what is the same, proves it by its seals, and gives what an ingest of all
of it would: the same file's text has the same vector, wherever it was made.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.local.store import explained, open_for_reading
from knowledge_rag.local.tables import Tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

LEAST_SHARE: Final = 0.5
"""Of the documents that a knowledge base has to know, by their bytes, to be worth its copy."""


def begin_with_a_like_one(
    path: Path, donors: Iterable[Path], wanted: Collection[str], model: str
) -> Path | None:
    """Copy the knowledge base that knows the most of these documents to a place, if one is worth it.

    Args:
        path: where to; nothing is there yet, and nothing is if nobody is worth it.
        donors: files that may be knowledge bases, and may be damaged, or gone by now.
        wanted: sha256 of each document.
        model: fingerprint of the one whose vectors are wanted.

    Returns:
        Whose copy it is; ``None`` where there is none.
    """
    known = {donor: _known(donor, model) & set(wanted) for donor in donors}
    best = max(known, key=lambda donor: len(known[donor]), default=None)
    if best is None or len(known[best]) < LEAST_SHARE * len(set(wanted)):
        return None
    with suppress(KnowledgeRagError, OSError), explained(best):
        with (
            closing(open_for_reading(best)) as source,
            closing(sqlite3.connect(path)) as copy,
        ):
            source.backup(copy)
        return best
    path.unlink(missing_ok=True)  # half a copy
    return None


def _known(donor: Path, model: str) -> set[str]:
    """Give the sha256 of the documents that a knowledge base holds as they were stored."""
    with (
        suppress(KnowledgeRagError, OSError),
        explained(donor),
        closing(open_for_reading(donor)) as connection,
    ):
        tables = Tables(connection)
        if tables.model() == model:
            return {known.sha256 for known in tables.documents().values() if known.sound}
    return set()
