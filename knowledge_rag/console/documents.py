"""The documents that citations lead to: as they were ingested, and as they are now.

No path is made of what a request says. A document is looked up by its exact name among those that
were ingested, and its file among those that the corpus folder was found to hold.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from knowledge_rag.core.lines import split_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256, PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.core.outcome import MetadataValue, RetrievalResult
    from knowledge_rag.guardrails.staleness import Corpus
    from knowledge_rag.local.knowledge_base import Passages

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class IngestedDocument:
    r"""A document as it was ingested.

    Args:
        source_file: path relative to the corpus root.
        sha256: of its bytes, 64 hex digits; ``""`` where it isn't known.
        lines: the first one first, as they were, a ``\r`` included; ``None`` for one that was not
            kept: it is blank, or front matter.
        is_complete: whether they are all of the document's, as its hash proves.
        metadata: what is known of it: title, document_type, service, ...
        pages: of a PDF, the first line that is known of each page, and its number.
    """

    source_file: str
    sha256: str
    lines: tuple[str | None, ...]
    is_complete: bool
    metadata: Mapping[str, MetadataValue]
    pages: tuple[tuple[int, int], ...] = ()


class Documents(Protocol):
    """Where documents are kept; the methods block, and are called by several threads at once."""

    def read(self, source_file: str) -> IngestedDocument | None:
        """Give the document of exactly this name; ``None`` if there is none.

        Raises:
            KnowledgeRagError: it can't be told.
        """
        ...

    def current(self) -> Corpus | None:
        """Give the documents as they are now; ``None`` if nobody knows where they are."""
        ...


class KeptDocuments:
    """Documents of which the passages that can be found were kept.

    Front matter and blank lines were not. Where the corpus is known and holds the very file, by its
    hash, they are taken from there; where they were empty, the hash of the whole proves it. Of a web
    page or a PDF only the file can: its hash says nothing of the text that was made of it.

    Args:
        passages: the knowledge base.
        corpus: the folder that was ingested, as it is now; ``None`` if it isn't known.
    """

    def __init__(self, passages: Passages, corpus: Corpus | None = None) -> None:
        self._passages = passages
        self._corpus = corpus

    def current(self) -> Corpus | None:
        """Give the documents as they are now; see ``Documents``."""
        return self._corpus

    def read(self, source_file: str) -> IngestedDocument | None:
        """Give a document; see ``Documents``."""
        passages = self._passages.passages(source_file)
        if not passages:
            return None
        kept = _lines_of(passages)
        metadata = passages[0].metadata
        sha256 = str(metadata.get(DOCUMENT_SHA256, ""))
        whole = self._file(source_file, sha256, kept) or _filled(kept, sha256)
        known = (source_file, sha256, whole or kept, whole is not None, metadata)
        return IngestedDocument(*known, tuple(_pages(passages)))

    def _file(
        self, source_file: str, sha256: str, kept: Sequence[str | None]
    ) -> tuple[str, ...] | None:
        """Give the file's lines if it still is what was ingested, and holds what was kept of it."""
        now = self._corpus.now(source_file) if self._corpus else None
        if now is None or now.text is None or now.sha256 != sha256:
            return None
        lines = tuple(split_lines(now.text))
        holds = len(lines) >= len(kept) and all(
            line is None or line == there for line, there in zip(kept, lines, strict=False)
        )
        return lines if holds else None


def _lines_of(passages: Sequence[RetrievalResult]) -> tuple[str | None, ...]:
    lines: list[str | None] = [None] * max(one.citation.end_line for one in passages)
    for one in passages:
        lines[one.citation.start_line - 1 : one.citation.end_line] = one.content.split("\n")
    return tuple(lines)


def _pages(passages: Sequence[RetrievalResult]) -> Iterator[tuple[int, int]]:
    last = None
    for one in passages:
        page = one.metadata.get(PAGE)
        if isinstance(page, int) and page != last:
            yield one.citation.start_line, page
            last = page


def _filled(kept: Sequence[str | None], sha256: str) -> tuple[str, ...] | None:
    """Give the lines with empty ones between them, if the hash says that this is the document."""
    lines = tuple(line or "" for line in kept)
    text = "\n".join(lines)
    for candidate in (text + "\n", text, _BOM + text + "\n", _BOM + text):
        if hashlib.sha256(candidate.encode()).hexdigest() == sha256:
            return lines
    return None
