"""A knowledge base opened for searching, following what ingests make of its file."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.retrieval import SearchType
from knowledge_rag.local.errors import UnusableKnowledgeBase
from knowledge_rag.local.keywords import query_terms, words_of
from knowledge_rag.local.seals import unfinished
from knowledge_rag.local.search import Fusion, Question, SearchMethod, rank
from knowledge_rag.local.snapshot import load_snapshot
from knowledge_rag.local.spelling import corrected
from knowledge_rag.local.store import data_version, explained, open_for_reading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Embedder
    from knowledge_rag.local.filters import Filter
    from knowledge_rag.local.snapshot import Snapshot
    from knowledge_rag.local.spelling import Corrected


@dataclass(frozen=True, slots=True)
class Hit:
    """One found chunk, as it is stored.

    Args:
        text: context prefix, then the verbatim lines.
        metadata: as made by ``core.metadata.to_metadata``.
        score: 0..1, comparable within a search type only.
    """

    text: str
    metadata: Mapping[str, MetadataValue]
    score: float


class KnowledgeBase:
    """Searches one knowledge-base file; safe to use from several threads.

    Args:
        path: the file.
        embedder: the model that its vectors are from.
        fusion: how hybrid searches join vectors and keywords.

    Raises:
        UnusableKnowledgeBase: the file is missing, something else, or made with another model.
    """

    def __init__(self, path: Path, embedder: Embedder, *, fusion: Fusion = Fusion.WEIGHTED) -> None:
        self._path = path
        self._embedder = embedder
        self._fusion = fusion
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

        Args:
            query: any text.

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
            evidence is for the caller's floor to say.
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
        method = SearchMethod(search_type, self._fusion)
        found = rank(snapshot, question, limit=limit, method=method, mask=mask)
        return [Hit(snapshot.texts[row], snapshot.metadata(row), score) for row, score in found]

    def _current(self) -> Snapshot:
        """Give the file's present state; the last known one while an ingest commits."""
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
