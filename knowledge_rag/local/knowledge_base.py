"""A knowledge base opened for reading: searched from memory, its documents listed and read.

Searching works on a snapshot and needs no lock and no disk: an ingest can neither delay it nor show it
half a state.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

import numpy as np

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.metadata import CHUNK_ID, SOURCE_FILE, prove
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import Damage, UnusableKnowledgeBase
from knowledge_rag.local.filters import Comparison
from knowledge_rag.local.keywords import ENTRY, KeywordIndex, query_terms, words_of
from knowledge_rag.local.search import Question, rank
from knowledge_rag.local.spelling import Spelling, corrected, from_json
from knowledge_rag.local.store import (
    CHUNKS,
    DOCUMENTS,
    check_whole,
    data_version,
    explained,
    open_for_reading,
    unfinished,
    unsound,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Embedder, Matrix
    from knowledge_rag.local.filters import Filter
    from knowledge_rag.local.spelling import Corrected


Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Shape (chunks,): true where the filter passes."""

_CACHED_MASKS: Final = 64
_ABSENT: Final = 0


class MetadataColumns:
    """The metadata of all chunks, each attribute as codes into its distinct values.

    A filter then costs one look at each distinct value, not at each chunk.
    """

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._size = len(rows)
        self._values: dict[str, list[object]] = {}
        self._codes: dict[str, np.ndarray[Any, np.dtype[np.int32]]] = {}
        self._masks: dict[bytes, Mask] = {}
        known: dict[str, dict[str, int]] = {}
        for row, metadata in enumerate(rows):
            for key, value in metadata.items():
                self._add(known, row, key, value)

    def _add(self, known: dict[str, dict[str, int]], row: int, key: str, value: object) -> None:
        if key not in known:
            known[key] = {}
            self._values[key] = [None]
            self._codes[key] = np.full(self._size, _ABSENT, dtype=np.int32)
        # 1, 1.0, true and "1" are different values, and lists are no dictionary keys: JSON is both
        code = known[key].setdefault(json.dumps(value), len(self._values[key]))
        if code == len(self._values[key]):
            self._values[key].append(value)
        self._codes[key][row] = code

    def mask(self, wanted: Filter) -> Mask:
        """Return for each chunk whether the filter passes; recent answers are kept."""
        key = hashlib.sha256(repr(wanted).encode(errors="surrogatepass")).digest()
        mask = self._masks.get(key)
        if mask is None:
            mask = self._evaluate(wanted)
            if len(self._masks) >= _CACHED_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _evaluate(self, wanted: Filter) -> Mask:
        if isinstance(wanted, Comparison):
            return self._compare(wanted)
        masks = [self._evaluate(member) for member in wanted.members]
        joined = np.logical_and.reduce(masks) if wanted.every else np.logical_or.reduce(masks)
        result: Mask = joined
        return result

    def _compare(self, wanted: Comparison) -> Mask:
        if wanted.key not in self._codes:
            return np.full(self._size, wanted.matches_absent)
        passes = [wanted.matches_value(value) for value in self._values[wanted.key]]
        passes[_ABSENT] = wanted.matches_absent
        mask: Mask = np.array(passes)[self._codes[wanted.key]]
        return mask


Numbers = np.ndarray[Any, np.dtype[np.int64]]

_VECTOR_BYTES: Final = 4 * DIMENSIONS
_UNIT: Final = 1e-3
"""How far a vector's length may be from 1."""


@dataclass(frozen=True)
class Snapshot:
    """All chunks of one state, ordered by file and line.

    Args:
        model: fingerprint of the embedding model.
        texts: stored text of each chunk.
        metadata_json: metadata of each chunk, as stored.
        vectors: shape (chunks, 384).
        keywords: the keyword index over the same chunks.
        documents: shape (chunks,): a number for each, equal for the chunks of one document.
        words: those of the chunks as they are written, in their stored form.
    """

    model: str
    texts: tuple[str, ...]
    metadata_json: tuple[str, ...] = field(repr=False)
    vectors: Matrix = field(repr=False)
    keywords: KeywordIndex = field(repr=False)
    documents: Numbers = field(repr=False)
    words: str = field(default="", repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def metadata(self, row: int) -> dict[str, MetadataValue]:
        """Return one chunk's metadata.

        Raises:
            Damage: it is no JSON object that names its file and chunk.
        """
        try:
            decoded: Any = json.loads(self.metadata_json[row])
        except (ValueError, RecursionError) as error:
            raise Damage("metadata are no JSON") from error
        if not isinstance(decoded, dict):
            raise Damage("metadata are no JSON object")
        if not all(isinstance(decoded.get(name), str) for name in (SOURCE_FILE, CHUNK_ID)):
            raise Damage("metadata name no file or no chunk")
        return decoded

    @cached_property
    def columns(self) -> MetadataColumns:
        """The metadata by attribute, for filters; made when first asked for."""
        return MetadataColumns([self.metadata(row) for row in range(len(self))])

    @cached_property
    def spelling(self) -> Spelling:
        """The words as they are written, for correcting questions; made when first asked for."""
        return Spelling(from_json(self.words))


def load_snapshot(connection: sqlite3.Connection) -> Snapshot:
    """Read one consistent state, and check it before anything is made of it.

    Raises:
        Damage: something in it is not what an ingest stores.
        sqlite3.Error: the file can't be read.
    """
    connection.execute("BEGIN")
    try:
        whole = check_whole(connection)
        documents = connection.execute(DOCUMENTS).fetchall()
        rows = connection.execute(CHUNKS).fetchall()
        ((chunks,),) = connection.execute("SELECT count(*) FROM chunks")
    finally:
        connection.execute("ROLLBACK")
    if len(rows) != chunks:
        raise Damage("chunks without vectors")
    if broken := unsound(documents, rows):
        raise Damage(f"{len(broken)} of {len(documents)} documents are not as they were stored")
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * 8
    numbers, *_, metadata, texts, vectors, terms = columns
    return Snapshot(
        whole.model,
        _all(str, texts),
        _all(str, metadata),
        _matrix(_all(bytes, vectors)),
        _keywords(whole.terms, _all(bytes, terms)),
        np.array(_all(int, numbers), dtype=np.int64),
        whole.words,
    )


def _all(kind: type, column: Sequence[Any]) -> Any:  # noqa: ANN401 - the same, now of one type
    if not set(map(type, column)) <= {kind}:
        raise Damage("a value is of another type")
    return column


def _matrix(vectors: Sequence[bytes]) -> Matrix:
    if not set(map(len, vectors)) <= {_VECTOR_BYTES}:
        raise Damage("a vector is of another size")
    matrix = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(-1, DIMENSIONS)
    lengths = np.einsum("ij,ij->i", matrix, matrix)
    if not np.all(np.abs(lengths - 1.0) < _UNIT):  # not-a-number is not near 1 either
        raise Damage("a vector is not of unit length")
    return matrix


def _keywords(words: Sequence[str], terms: Sequence[bytes]) -> KeywordIndex:
    if any(len(blob) % ENTRY.itemsize for blob in terms):
        raise Damage("a list of terms is cut short")
    entries = [np.frombuffer(blob, dtype=ENTRY) for blob in terms]
    return KeywordIndex({word: number for number, word in enumerate(words)}, entries)


@dataclass(frozen=True, slots=True)
class Hit:
    """One found chunk as stored: context prefix and lines; scores are 0..1 within a search type."""

    text: str
    metadata: Mapping[str, MetadataValue]
    score: float


class KnowledgeBase:
    """Searches one knowledge-base file; safe to use from several threads.

    Raises:
        UnusableKnowledgeBase: the file is missing, something else, or made with another model.
    """

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path = path
        self._embedder = embedder
        self._lock = threading.Lock()
        self._connection = open_for_reading(path)
        try:
            with explained(path):
                self._file = self._identity()
                self._version = data_version(self._connection)
                self._snapshot = self._load()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def unfinished(self) -> int:
        """How many documents the last ingest left to do; 0 if it came to its end."""
        with self._lock, explained(self._path):
            return unfinished(self._connection)

    @property
    def chunks(self) -> int:
        """How many chunks can be found."""
        return len(self._current())

    @property
    def snapshot(self) -> Snapshot:
        """The present state, for what measures how it is searched."""
        return self._current()

    def warm_up(self) -> None:
        """Load the embedding model now, so that the first search is as fast as the next.

        Raises:
            ModelUnavailable: the model can't be had.
        """
        self._embedder.embed("")

    def corrected(self, query: str) -> Corrected:
        """Correct typing mistakes in a query by the words of the documents; see ``spelling``.

        Raises:
            ModelUnavailable: the model, which knows usual words, can't be had.
        """
        snapshot = self._current()

        def is_known(word: str) -> bool:
            terms = words_of(query_terms(word))
            # a stop word is no term
            return not terms or bool(snapshot.keywords.known(terms)) or self._embedder.knows(word)

        with explained(self._path):
            return corrected(query, is_known, lambda: snapshot.spelling)

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        search_type: SearchType = SearchType.HYBRID,
        wanted: Filter | None = None,
    ) -> list[Hit]:
        """Find the chunks that answer a query best.

        Args:
            query: any text.
            limit: at most so many hits, >= 1.
            search_type: vectors only, or with keywords.
            wanted: only chunks whose metadata pass this filter.

        Returns:
            Hits, best first. Something is always nearest: whether it is near enough to be
            evidence is for the caller's score threshold to say.
        """
        snapshot = self._current()
        with explained(self._path):
            return self._search(snapshot, query, limit, search_type, wanted)

    def _search(
        self,
        snapshot: Snapshot,
        query: str,
        limit: int,
        search_type: SearchType,
        wanted: Filter | None,
    ) -> list[Hit]:
        mask = None if wanted is None else snapshot.columns.mask(wanted)
        question = Question(self._embedder.embed(query), query_terms(query))
        found = rank(snapshot, question, limit=limit, search_type=search_type, mask=mask)
        return [Hit(snapshot.texts[row], snapshot.metadata(row), score) for row, score in found]

    def _current(self) -> Snapshot:
        """Return the file's present state; the last known one while an ingest commits."""
        with self._lock:
            try:
                self._follow()
            except (sqlite3.Error, KnowledgeRagError, OSError):
                # being committed, replaced or gone: what is in memory stays true of its time
                return self._snapshot
            return self._snapshot

    def _follow(self) -> None:
        identity = self._identity()
        if identity != self._file:
            connection = open_for_reading(self._path)
            self._connection.close()
            self._connection, self._file, self._version = connection, identity, -1
        version = data_version(self._connection)
        if version != self._version:
            try:
                self._snapshot = self._load()
            except UnusableKnowledgeBase:
                # no reason to read it again before the next commit
                self._version = version
                raise
            self._version = version

    def _identity(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_dev, status.st_ino

    def _load(self) -> Snapshot:
        with explained(self._path):
            snapshot = load_snapshot(self._connection)
        if snapshot.model != self._embedder.fingerprint:
            raise UnusableKnowledgeBase(
                f"{self._path} was made with another embedding model: ingest its documents again"
            )
        return snapshot


_PAGE: Final = """
SELECT source_file, title FROM documents WHERE source_file > ? ORDER BY source_file LIMIT ?
"""
_WITH: Final = """
SELECT source_file FROM documents WHERE instr(lower(source_file), lower(?)) > 0
ORDER BY source_file LIMIT ?
"""
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
    """What was kept of each document; the method blocks."""

    def passages(self, source_file: str) -> Sequence[RetrievalResult]:
        """Return a document's lines, proven, in their order; none if there is no such document.

        Raises:
            KnowledgeRagError: it can't be read, or holds what no ingest stores.
        """
        ...


class Documents(Passages, Protocol):
    """Where documents are kept; the methods block."""

    def after(self, source_file: str, limit: int) -> Sequence[Document]:
        """List the documents whose paths come after one, ``""`` for the first ones, sorted."""
        ...

    def named_like(self, part: str, limit: int) -> Sequence[str]:
        """Return the paths that hold a text, whatever its case, sorted."""
        ...


class KnowledgeBaseDocuments:
    """Reads the documents of a knowledge base's file, also while an ingest writes it.

    It holds every line that is text, outside the front matter; lines between two passages are blank.
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
        raise Damage("metadata are no JSON") from error
    if not isinstance(result, RetrievalResult) or result.citation.source_file != source_file:
        raise Damage("a passage can't be proven")
    return result
