"""Reads the text of a folder's documents, for ingest and for staleness checks."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract.documents import extract
from knowledge_rag.guardrails.staleness import FileNow
from knowledge_rag.local.corpus import MAX_FILE_BYTES, find_documents, read_beside, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.extract.documents import Extracted
    from knowledge_rag.local.corpus import CorpusFile


def read_extracted(file: CorpusFile, max_bytes: int = MAX_FILE_BYTES) -> Extracted:
    """Read a document of any kind, and the text that its line numbers refer to.

    Raises:
        UnreadableDocument: as in :func:`read_bytes`, or it has no text.
    """
    return extract(file.source_file, read_bytes(file, max_bytes), read_beside(file))


class CorpusFiles:
    """The documents of a folder, exactly those that ingest would read.

    A citation's text never becomes a path: it is looked up among the documents found in the folder. So
    absolute paths, ``..``, hidden files, and links that leave the folder are no documents here, whoever
    wrote the citation.

    Raises:
        UnusableCorpus: the folder is missing, not a folder, can't be listed, or has no documents.
    """

    def __init__(self, root: Path, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = root.resolve()
        self._files = {file.source_file: file for file in find_documents(root)}
        self._max_file_bytes = max_file_bytes

    def files(self) -> Iterable[str]:
        """Return the path of every document, relative to the root, sorted."""
        return self._files

    def now(self, source_file: str) -> FileNow | None:
        """Read a document; ``None`` if the folder had none of exactly that path."""
        file = self._files.get(source_file)
        if file is None or not self._contains(file.path):
            return None
        try:
            data = read_bytes(file, self._max_file_bytes)
        except UnreadableDocument as error:
            return FileNow(None, None, error.reason)
        sha256 = hashlib.sha256(data).hexdigest()
        try:
            return FileNow(sha256, extract(source_file, data).text)
        except UnreadableDocument as error:
            return FileNow(sha256, None, error.reason)

    def data(self, source_file: str) -> bytes | None:
        """Return the bytes of a document; ``None`` if there is none of exactly that path, or it can't be read."""
        file = self._files.get(source_file)
        if file is None or not self._contains(file.path):
            return None
        try:
            return read_bytes(file, self._max_file_bytes)
        except UnreadableDocument:
            return None

    def _contains(self, path: Path) -> bool:
        """Whether it is still in the folder: it may have become a link since it was listed."""
        return Path(os.path.realpath(path)).is_relative_to(self._root)  # never raises on a loop
