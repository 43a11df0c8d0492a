"""A folder of documents, as the check for staleness reads it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract.documents import extract, is_extracted
from knowledge_rag.guardrails.staleness import FileNow
from knowledge_rag.local.corpus import MAX_FILE_BYTES, find_documents, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable


class CorpusFiles:
    """The documents of a folder; the very ones that ingest would read.

    No path is made of what a citation says: it is looked up among the documents that the folder was
    found to hold. So absolute paths, ``..``, hidden files, folders and links that leave the folder
    are no documents here, whoever wrote the citation.

    Args:
        root: the folder; it is listed once.
        max_file_bytes: larger files are unreadable, as they are to ingest.

    Raises:
        UnusableCorpus: the folder is missing, is no folder, can't be listed, or holds no document.
    """

    def __init__(self, root: Path, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self._root = root.resolve()
        self._files = {file.source_file: file for file in find_documents(root)}
        self._max_file_bytes = max_file_bytes

    def files(self) -> Iterable[str]:
        """Give the path of every document, relative to the root, sorted."""
        return self._files

    def now(self, source_file: str) -> FileNow | None:
        """Read a document; ``None`` if the folder held none of exactly that path."""
        file = self._files.get(source_file)
        if file is None or not self._holds(file.path):
            return None
        try:
            data = read_bytes(file, self._max_file_bytes)
        except UnreadableDocument as error:
            return FileNow(None, None, error.reason)
        return _now(source_file, data)

    def _holds(self, path: Path) -> bool:
        """Whether it still lies in the folder: it may have become a link since it was listed."""
        return Path(os.path.realpath(path)).is_relative_to(self._root)  # never raises on a loop


def _now(source_file: str, data: bytes) -> FileNow:
    """Give a file with the text that its citations count lines in: of a page or a PDF, extracted."""
    if not is_extracted(source_file):
        return FileNow.of(source_file, data)
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        return FileNow(sha256, extract(source_file, data).text)
    except UnreadableDocument as error:
        return FileNow(sha256, None, error.reason)
