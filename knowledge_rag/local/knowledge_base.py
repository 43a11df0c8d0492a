"""A knowledge base opened for reading: search by its index, and its documents.

Searching needs no lock: an index never changes, so an ingest can neither delay a search nor show it half
a state.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.field_words import COMMON, field_words
from knowledge_rag.core.languages import ENGLISH, language_of
from knowledge_rag.core.metadata import SECTION_SEPARATOR, prove
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import Damage, UnusableKnowledgeBase
from knowledge_rag.local.index import Index, index_path, open_index, write_index
from knowledge_rag.local.keywords import query_terms, words_of
from knowledge_rag.local.search import Question, rank
from knowledge_rag.local.spelling import corrected
from knowledge_rag.local.store import (
    checked_arrays,
    data_version,
    explained,
    index_seals,
    open_for_reading,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.filters import Filter
    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.spelling import Corrected


@dataclass(frozen=True, slots=True)
class Hit:
    """One search hit as stored: context prefix and lines; scores are 0..1 within a search type."""

    text: str
    metadata: Mapping[str, MetadataValue]
    score: float


class KnowledgeBase:
    """Searches one knowledge-base file; thread-safe.

    Raises:
        UnusableKnowledgeBase: the file is missing, something else, or made with another model.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path = path
        self._embedder = embedder
        self._lock = threading.Lock()
        self._seal = ""
        self._connection = open_for_reading(path)
        try:
            with explained(path):
                self._file = self._identity()
                self._version = data_version(self._connection)
                self._index = self._load()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def unfinished(self) -> int:
        """Number of documents that the last ingest left unprocessed; 0 if it completed."""
        with self._lock, explained(self._path):
            return unfinished(self._connection)

    @property
    def chunks(self) -> int:
        """Number of searchable chunks."""
        return len(self._current())

    @property
    def index(self) -> Index:
        """The current index, for measuring how it is searched."""
        return self._current()

    def warm_up(self) -> None:
        """Load the embedding model now, so that the first search is as fast as the next.

        Raises:
            ModelUnavailable: the model isn't available.
        """
        self._embedder.embed("")

    def corrected(self, query: str) -> Corrected:
        """Correct typing mistakes in a query with the documents' words; see ``spelling``.

        Raises:
            ModelUnavailable: the model, which knows common words, isn't available.
        """
        index = self._current()

        def is_known(word: str) -> bool:
            terms = words_of(query_terms(word))
            # a stop word is no term, and "dont" is no mistake for "done"
            is_common = not terms or word in COMMON
            return is_common or bool(index.keywords.known(terms)) or self._embedder.knows(word)

        with explained(self._path):
            return corrected(query, is_known, lambda: index.spelling)

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        search_type: SearchType = SearchType.HYBRID,
        wanted: Filter | None = None,
    ) -> list[Hit]:
        """Find the chunks that best answer a query: at most ``limit``, >= 1, whose metadata match ``wanted``, best first.

        There is always a nearest chunk: the caller's score threshold decides whether it is evidence.
        """
        index = self._current()
        with explained(self._path):
            return self._search(index, query, limit, search_type, wanted)

    def _search(
        self, index: Index, query: str, limit: int, search_type: SearchType, wanted: Filter | None
    ) -> list[Hit]:
        mask = None if wanted is None else index.columns.mask(wanted)
        language = language_of(query)
        in_english = ENGLISH == language == index.language
        by_meaning = self._embedder.dimensions > DIMENSIONS and not in_english
        vector = self._embedder.embed_question(query, in_english=in_english)
        question = Question(vector, query_terms(query), language if by_meaning else "")
        if language == ENGLISH and not by_meaning and (words := " ".join(field_words(query))):
            question = self._with(words, query, question)
        found = rank(index, question, limit=limit, search_type=search_type, mask=mask)
        return [Hit(index.texts[row], index.metadata(row), score) for row, score in found]

    def _with(self, words: str, query: str, question: Question) -> Question:
        """Return an English question with the technical terms for its everyday words."""
        meant = self._embedder.embed_question(f"{query} {words}", in_english=True)
        both = question.vector + meant
        terms = {it: 1 for it in words_of(query_terms(words)) if it not in question.terms}
        return replace(question, vector=both / np.linalg.norm(both), meant=terms)

    def _current(self) -> Index:
        """Return the file's current state, or the last known one while an ingest commits."""
        with self._lock:
            try:
                self._follow()
            except (sqlite3.Error, KnowledgeRagError, OSError):
                # being committed, replaced or gone: the index in memory stays valid for its state
                return self._index
            return self._index

    def _follow(self) -> None:
        identity = self._identity()
        if identity != self._file:
            connection = open_for_reading(self._path)
            self._connection.close()
            self._connection, self._file, self._version = connection, identity, -1
        version = data_version(self._connection)
        if version != self._version:
            try:
                with explained(self._path):
                    seals = index_seals(self._connection)
                    # later batches of a running ingest are ignored until their index exists
                    if [self._seal] != seals[-1:]:
                        self._index = self._load()
            except UnusableKnowledgeBase:
                # no reason to read it again before the next commit
                self._version = version
                raise
            self._version = version

    def _identity(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def _load(self) -> Index:
        with explained(self._path):
            self._seal, index = present_index(self._connection, self._path)
        if index.model != self._embedder.fingerprint:
            raise UnusableKnowledgeBase(
                f"{self._path} was made with another embedding model: ingest its documents again"
            )
        if index.vectors.shape[1] != self._embedder.dimensions:
            raise UnusableKnowledgeBase(f"{self._path} is damaged: a vector has the wrong size")
        return index


_TRIES: Final = 3
"""An ingest may delete an index after its name is read and before it is opened."""


def present_index(connection: sqlite3.Connection, path: Path) -> tuple[str, Index]:
    """Return the index of a knowledge base's last whole state, and that state's seal.

    It is the one that the last ingest wrote; if that is missing or damaged, it is rebuilt from the stored
    data, and saved for others if the folder is writable.

    Raises:
        Damage: stored data are not what an ingest stores.
        sqlite3.Error: the file can't be read.
    """
    for _ in range(_TRIES):
        for seal in index_seals(connection):
            with suppress(OSError, Damage):
                return seal, open_index(index_path(path, seal))
    seal, model, arrays = checked_arrays(connection)
    with suppress(OSError):
        write_index(index_path(path, seal), model, arrays)
    return seal, Index(model, arrays)


_PAGE: Final = """
SELECT source_file, title FROM documents WHERE source_file > ? ORDER BY source_file LIMIT ?
"""
_WITH: Final = """
SELECT source_file FROM documents WHERE instr(lower(source_file), lower(?)) > 0
ORDER BY source_file LIMIT ?
"""
_LISTED: Final = """
SELECT source_file, title, metadata FROM documents
JOIN chunks ON chunks.id = (SELECT min(id) FROM chunks WHERE document = documents.id)
ORDER BY source_file LIMIT ?
"""
_HEADINGS: Final = """
SELECT DISTINCT source_file, title, json_extract(metadata, '$.section_path')
FROM documents JOIN chunks ON document = documents.id
"""
_COUNTS: Final = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
_PASSAGES: Final = """
SELECT text, metadata FROM chunks JOIN documents ON document = documents.id
WHERE source_file = ? ORDER BY start_line, end_line
"""


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its path relative to the corpus root and its title."""

    source_file: str
    title: str


class Passages(Protocol):
    """Returns the stored lines of each document; the method blocks."""

    def passages(self, source_file: str) -> Sequence[RetrievalResult]:
        """Return a document's lines, proven, in order; none if there is no such document.

        Raises:
            KnowledgeRagError: it can't be read, or has data that no ingest stores.
        """
        ...


class Documents(Passages, Protocol):
    """A store of documents; the methods block."""

    def after(self, source_file: str, limit: int) -> Sequence[Document]:
        """List the documents whose paths sort after one, ``""`` for the first ones, sorted."""
        ...

    def named_like(self, part: str, limit: int) -> Sequence[str]:
        """Return the paths that contain a text, regardless of case, sorted."""
        ...


class KnowledgeBaseDocuments:
    """Reads the documents of a knowledge base's file, even while an ingest writes it.

    It has every text line outside the front matter; lines between two passages are blank.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def after(self, source_file: str, limit: int) -> list[Document]:
        """List documents; see ``Documents``."""
        with self._opened() as connection:
            rows = connection.execute(_PAGE, (source_file, limit)).fetchall()
        return [Document(name, title) for name, title in rows]

    def named_like(self, part: str, limit: int) -> list[str]:
        """Find documents; see ``Documents``."""
        with self._opened() as connection:
            return [name for (name,) in connection.execute(_WITH, (part, limit))]

    def listed(self, limit: int) -> list[tuple[Document, dict[str, object]]]:
        """Return the first documents by path, each with its passages' shared metadata."""
        with self._opened() as connection:
            rows = connection.execute(_LISTED, (limit,)).fetchall()
        return [(Document(name, title), json.loads(metadata)) for name, title, metadata in rows]

    def headings(self) -> list[tuple[str, ...]]:
        """Return, for each section of each document, its path, its title and the headings around and above it."""
        with self._opened() as connection:
            rows = connection.execute(_HEADINGS).fetchall()
        return [
            (name, title, *filter(None, str(path or "").split(SECTION_SEPARATOR)))
            for name, title, path in rows
        ]

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of documents, chunks, and documents that a stopped ingest left unprocessed."""
        with self._opened() as connection:
            (found,) = connection.execute(_COUNTS)
            return (*found, unfinished(connection))

    def passages(self, source_file: str) -> list[RetrievalResult]:
        """Return a document's lines; see ``Documents``."""
        with self._opened() as connection:
            rows = connection.execute(_PASSAGES, (source_file,)).fetchall()
            return [_proven(text, metadata, source_file) for text, metadata in rows]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        with closing(open_for_reading(self._path)) as connection, explained(self._path):
            yield connection


def _proven(text: Any, metadata: Any, source_file: str) -> RetrievalResult:  # noqa: ANN401 - as SQLite gives it
    try:
        result = prove(text, json.loads(metadata))
    except (TypeError, ValueError, RecursionError) as error:
        raise Damage("metadata are not JSON") from error
    if not isinstance(result, RetrievalResult) or result.citation.source_file != source_file:
        raise Damage("a passage can't be proven")
    return result
