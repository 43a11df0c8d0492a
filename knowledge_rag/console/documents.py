"""The documents that citations lead to: as ingested, and as they are now."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from urllib.parse import quote

from knowledge_rag.console.limits import MAX_SEARCHED_FILES
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.core.lines import split_lines
from knowledge_rag.core.metadata import DOCUMENT_SHA256, DOCUMENT_TYPE, PAGE, TITLE
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.staleness import (
    CitedLines,
    State,
    compare,
    compare_all,
    describe,
    to_dict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.console.answers import Answers
    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.guardrails.staleness import Corpus, FileNow, Staleness
    from knowledge_rag.local.knowledge_base import Document, Passages


def document_url(source_file: str, start_line: int = 0, end_line: int = 0) -> str:
    """Return the path of a document's page, with the lines, if any, in its fragment."""
    lines = f"#L{start_line}-L{end_line}" if start_line else ""
    return "/doc/" + quote(source_file) + lines


def citation_url(citation: Citation) -> str:
    """Return the path of the page that shows the lines of a citation."""
    return document_url(citation.source_file, citation.start_line, citation.end_line)


_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class IngestedDocument:
    r"""A document as ingested.

    Args:
        source_file: path relative to the corpus root.
        sha256: of its bytes, 64 hex digits; ``""`` if unknown.
        lines: verbatim, a ``\r`` included; ``None`` for a line that wasn't stored: blank, or front matter.
        is_complete: whether the hash proves that these are all lines of the document.
        metadata: title, document_type, service, ...
        pages: for a PDF, the first known line of each page, and its number.
    """

    source_file: str
    sha256: str
    lines: tuple[str | None, ...]
    is_complete: bool
    metadata: Mapping[str, MetadataValue]
    pages: tuple[tuple[int, int], ...] = ()


SHOWN_METADATA: Final = (
    "document_type", "service", "severity", "incident_id", "owner", "last_reviewed", "status",
    "last_changed", "tags", "alerts",
)  # fmt: skip
"""A document's metadata that the page shows."""


@runtime_checkable
class _Listing(Protocol):
    """Passages whose documents can be listed."""

    def listed(self, limit: int) -> Sequence[tuple[Document, Mapping[str, Any]]]: ...


class KeptDocuments:
    """Documents that citations lead to, assembled from passages, which lack front matter and blank lines.

    Missing lines come from the file, if the corpus has it with the same hash; otherwise they are empty, if the hash of
    the whole proves that. The hash of a web page or a PDF doesn't prove its extracted text. The methods block.

    ``corpus`` is the ingested folder as it is now; ``None`` if unknown.
    """

    def __init__(self, passages: Passages, corpus: Corpus | None = None) -> None:
        self._passages = passages
        self._corpus = corpus

    def current(self) -> Corpus | None:
        """Return the documents as they are now; ``None`` if unknown."""
        return self._corpus

    def listed(self, limit: int) -> list[dict[str, Any]] | None:
        """Return path, title and metadata of the first documents by path; ``None`` if they can't be listed."""
        if not isinstance(self._passages, _Listing):
            return None
        return [
            {"source": one.source_file, "title": one.title}
            | {key: metadata[key] for key in SHOWN_METADATA if metadata.get(key)}
            for one, metadata in self._passages.listed(limit)
        ]

    def may_have(self, source_file: str) -> bool:
        """Whether there is a document with exactly this name; true if each check would take a request."""
        return not isinstance(self._passages, _Listing) or bool(
            self._passages.passages(source_file)
        )

    def read(self, source_file: str) -> IngestedDocument | None:
        """Return the document with exactly this name; ``None`` if there is none.

        Raises:
            KnowledgeRagError: the documents can't be read.
        """
        passages = self._passages.passages(source_file)
        if not passages:
            return None
        kept = _lines_of(passages)
        metadata = passages[0].metadata
        sha256 = str(metadata.get(DOCUMENT_SHA256, ""))
        whole = self._file(source_file, sha256, kept) or _filled(kept, sha256)
        known = (source_file, sha256, whole or kept, whole is not None, metadata)
        return IngestedDocument(*known, tuple(_pages(passages)))

    def original(self, source_file: str) -> bytes | None:
        """Return the file that a document was ingested from; ``None`` if it isn't available or has changed since."""
        passages = self._passages.passages(source_file)
        read: Callable[[str], bytes | None] | None = getattr(self._corpus, "data", None)
        if not passages or read is None:
            return None
        data = read(source_file)
        sha256 = passages[0].metadata.get(DOCUMENT_SHA256)
        return data if data and hashlib.sha256(data).hexdigest() == sha256 else None

    def _file(
        self, source_file: str, sha256: str, kept: Sequence[str | None]
    ) -> tuple[str, ...] | None:
        """Return the file's lines if its hash is the ingested one and it has the stored lines."""
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
    """Return the lines with empty ones between them, if the hash proves them."""
    lines = tuple(line or "" for line in kept)
    text = "\n".join(lines)
    for candidate in (text + "\n", text, _BOM + text + "\n", _BOM + text):
        if hashlib.sha256(candidate.encode()).hexdigest() == sha256:
            return lines
    return None


_METADATA = {
    "title": TITLE,
    "documentType": DOCUMENT_TYPE,
    "documentSha256": DOCUMENT_SHA256,
    "page": PAGE,
}


class AnswerPassages:
    """Retrieved passages of documents, if no others are known; see ``knowledge_base.Passages``."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def passages(self, source_file: str) -> list[RetrievalResult]:
        """Return the retrieved passages of a document's latest version."""
        cards = self._answers.sources(source_file)
        last = [one for one in cards if one.get("documentSha256") == cards[0].get("documentSha256")]
        found = {_lines(one): result_of(one) for one in last}
        return [found[lines] for lines in sorted(found)]


def retrieved_lines(cards: Sequence[Mapping[str, Any]], first: int, last: int) -> CitedLines | None:
    """Return lines of a document from the last answer that has them as a source."""
    for card in cards:
        start, end = _lines(card)
        if start <= first <= last <= end:
            content = "\n".join(card["content"].split("\n")[first - start : last - start + 1])
            citation = Citation(card["source"], first, last, card["section"])
            return CitedLines(citation, content, card.get("documentSha256"))
    return None


def _lines(card: Mapping[str, Any]) -> tuple[int, int]:
    return card["citation"]["start_line"], card["citation"]["end_line"]


def result_of(card: Mapping[str, Any]) -> RetrievalResult:
    """Return the retrieval result of a card."""
    metadata: dict[str, MetadataValue] = {
        name: card[key] for key, name in _METADATA.items() if key in card
    }
    return RetrievalResult(card["content"], Citation(**card["citation"]), None, metadata)


class CachedCorpus:
    """Reads each file of a corpus once during a request; see ``guardrails.staleness.Corpus``.

    A text that is gone from its own file isn't searched for in web pages and PDFs, which are slow to read.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._read: dict[str, FileNow | None] = {}

    def files(self) -> Iterable[str]:
        """Return at most MAX_SEARCHED_FILES documents to search for a text."""
        texts = (name for name in self._corpus.files() if not is_extracted(name))
        return islice(texts, MAX_SEARCHED_FILES)

    def now(self, source_file: str) -> FileNow | None:
        """Return a document; see ``Corpus``."""
        if source_file not in self._read:
            self._read[source_file] = self._corpus.now(source_file)
        return self._read[source_file]


Stale = dict[str, Any]
"""The state of cited lines as ``guardrails.staleness`` returns it, and ``message``."""


def stale_at_a_glance(cited: Sequence[CitedLines], corpus: Corpus | None) -> list[Stale | None]:
    """Return the state of each citation in its own file, in order; ``None`` if it is the same or unknown.

    Web pages and PDFs are slow to read: only the view of a document checks those.
    """
    if corpus is None:
        return [None] * len(cited)
    cached = CachedCorpus(corpus)
    return [
        None
        if is_extracted(one.citation.source_file)
        else stale_json(compare(one, cached.now(one.citation.source_file)))
        for one in cited
    ]


def stale_anywhere(cited: Sequence[CitedLines], corpus: Corpus | None) -> list[Stale | None]:
    """Return the same, but search all other files for lines that are gone from their own."""
    return (
        [stale_json(one) for one in compare_all(cited, corpus)] if corpus else [None] * len(cited)
    )


def stale_json(one: Staleness) -> Stale | None:
    """Return the JSON form of a state; ``None`` if the lines are the same."""
    return None if one.state is State.SAME else to_dict(one) | {"message": describe(one)}
