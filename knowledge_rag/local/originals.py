"""Uses the documents of a folder as the originals of passages from another system."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.locating import Original, Originals
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.extract.documents import cut
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.corpus_files import read_extracted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from knowledge_rag.core.outcome import RetrievalResult


class FolderOriginals:
    """Returns the document in a folder for a location.

    The folder corresponds to the one prefix under which most locations are its documents.

    Args:
        root: the folder.
        sources: URIs and paths of all passages to locate.
        prefix: of the folder, ``""`` to find it from the sources.

    Attributes:
        prefix: of the folder; also ``""`` if no source is one of its documents.
        unread: why a source's document isn't available.

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
