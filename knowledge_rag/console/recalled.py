"""What the kept answers rest on: the lines as they were retrieved, whatever became of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import DOCUMENT_SHA256, DOCUMENT_TYPE, PAGE, TITLE
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.staleness import CitedLines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.console.answers import Answers
    from knowledge_rag.core.outcome import MetadataValue

_METADATA = {
    "title": TITLE,
    "documentType": DOCUMENT_TYPE,
    "documentSha256": DOCUMENT_SHA256,
    "page": PAGE,
}


class RecalledPassages:
    """Passages of documents, where the only thing known of those is what was retrieved.

    Args:
        answers: those that are kept.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def passages(self, source_file: str) -> list[RetrievalResult]:
        """Give what was retrieved of a document, of its last version; see ``kept_documents.Passages``."""
        cards = self._answers.sources(source_file)
        last = [one for one in cards if one.get("documentSha256") == cards[0].get("documentSha256")]
        found = {_lines(one): _result(one) for one in last}
        return [found[lines] for lines in sorted(found)]


def retrieved_lines(cards: Sequence[Mapping[str, Any]], first: int, last: int) -> CitedLines | None:
    """Give lines of a document as the last answer that rests on them has them.

    Args:
        cards: of the document, the last answer's first.
        first: first line.
        last: last line, inclusive.
    """
    for card in cards:
        start, end = _lines(card)
        if start <= first <= last <= end:
            content = "\n".join(card["content"].split("\n")[first - start : last - start + 1])
            citation = Citation(card["source"], first, last, card["section"])
            return CitedLines(citation, content, card.get("documentSha256"))
    return None


def _lines(card: Mapping[str, Any]) -> tuple[int, int]:
    return card["citation"]["start_line"], card["citation"]["end_line"]


def _result(card: Mapping[str, Any]) -> RetrievalResult:
    metadata: dict[str, MetadataValue] = {
        name: card[key] for key, name in _METADATA.items() if key in card
    }
    return RetrievalResult(card["content"], Citation(**card["citation"]), None, metadata)
