"""Reads the text of a folder's documents: for ingest, staleness checks, and as originals of passages from elsewhere."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.locating import Original, Originals
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.extract.documents import cut, extract
from knowledge_rag.guardrails.staleness import FileNow
from knowledge_rag.local.corpus import find_documents, read_beside, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.extract.documents import Extracted
    from knowledge_rag.local.corpus import CorpusFile


def read_extracted(file: CorpusFile) -> Extracted:
    """Read a document of any kind, and the text that its line numbers refer to.

    Raises:
        UnreadableDocument: as in :func:`read_bytes`, or it has no text.
    """
    return extract(file.source_file, read_bytes(file), read_beside(file))


class CorpusFiles:
    """The documents of a folder, exactly those that ingest would read.

    A citation's text never becomes a path: it is looked up among the documents found in the folder. So
    absolute paths, ``..``, hidden files, and links that leave the folder are no documents here, whoever
    wrote the citation.

    Raises:
        UnusableCorpus: the folder is missing, not a folder, can't be listed, or has no documents.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._files = {file.source_file: file for file in find_documents(root)}

    def files(self) -> Iterable[str]:
        """Return the path of every document, relative to the root, sorted."""
        return self._files

    def now(self, source_file: str) -> FileNow | None:
        """Read a document; ``None`` if the folder had none of exactly that path."""
        file, sha256 = self._file(source_file), None
        if file is None:
            return None
        try:
            data = read_bytes(file)
            sha256 = hashlib.sha256(data).hexdigest()
            return FileNow(sha256, extract(source_file, data).text)
        except UnreadableDocument as error:
            return FileNow(sha256, None, error.reason)

    def data(self, source_file: str) -> bytes | None:
        """Return the bytes of a document; ``None`` if there is none of exactly that path, or it can't be read."""
        file = self._file(source_file)
        with suppress(UnreadableDocument):
            return read_bytes(file) if file else None
        return None

    def _file(self, source_file: str) -> CorpusFile | None:
        file = self._files.get(source_file)
        # it may have become a link that leaves the folder; realpath never raises on a loop
        is_inside = file and Path(os.path.realpath(file.path)).is_relative_to(self._root)
        return file if is_inside else None


class FolderOriginals:
    """Returns the document in a folder for a location.

    The folder corresponds to the one prefix under which most locations are its documents.

    ``sources`` are URIs and paths of all passages to locate. A ``prefix`` of ``""`` is found from them, and stays if
    none is one of the folder's documents. ``unread`` says why a source's document isn't available.

    Raises:
        UnusableCorpus: the folder is missing, not a folder, can't be listed, or has no documents.
    """

    def __init__(self, root: Path, sources: Iterable[str], prefix: str = "") -> None:
        self._root = root
        self._files = {file.source_file: file for file in find_documents(root)}
        self._kept = Originals()
        self.prefix = f"{prefix.rstrip('/')}/" if prefix else self._common_prefix(set(sources))
        self.unread: dict[str, str] = {}

    def __call__(self, source: str) -> Original | None:
        """Return a source's current document; ``None`` if it isn't available."""
        if source in self.unread:
            return None
        if kept := self._kept.get(source):
            return kept[1]
        try:
            read = read_extracted(self._files[self._path(source)])
        except KeyError:
            below = f" below {self.prefix}" if self.prefix else ""
            self.unread[source] = f"no such document in {self._root}{below}"
            return None
        except UnreadableDocument as error:
            self.unread[source] = error.reason
            return None
        original = Original(read.document, read.text, cut(read))
        self._kept.put(source, "", original)
        return original

    def compared(self, result: RetrievalResult) -> DropReason | None:
        """Compare lines that a result names itself with the folder; return why they don't count, if so."""
        original = self(self.prefix + result.citation.source_file)
        if original is None:
            return DropReason.UNREAD
        return None if original.has(result) else DropReason.NOT_PROVEN

    def _path(self, source: str) -> str:
        if not source.startswith(self.prefix):
            raise KeyError(source)
        path = source.removeprefix(self.prefix).lstrip("/")
        return path if path in self._files else unquote(path)

    def _common_prefix(self, sources: set[str]) -> str:
        """Return the prefix under which most sources are documents, ``""`` if another has as many.

        Of prefixes that extend each other, the shortest.
        """
        found: Counter[str] = Counter()
        deepest = max((path.count("/") for path in self._files), default=0)
        for source in sources:
            start = len(source)
            for _ in range(deepest + 1):
                if start < 0:
                    break
                start = source.rfind("/", 0, start)
                path = source[start + 1 :]
                if path in self._files or unquote(path) in self._files:
                    found[source[: len(source) - len(path)]] += 1
        most = max(found.values(), default=0)
        best = sorted((prefix for prefix in found if found[prefix] == most), key=len)
        return best[0] if best and all(one.startswith(best[0]) for one in best) else ""
