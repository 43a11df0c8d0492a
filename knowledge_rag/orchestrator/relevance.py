"""Which retrieved documents are about an incident: search always finds what is least unlike."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import TITLE
from knowledge_rag.orchestrator.confidence import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.outcome import RetrievalResult

MIN_WORDS: Final = 2
MIN_SHARE: Final = 1 / 3
"""Words, and share of the words that tell of the incident, that the retrieved lines of a document
must hold, or it is about something else."""


def shared_words(results: Iterable[RetrievalResult], told: set[str]) -> dict[str, set[str]]:
    """Give the words of the incident that each document's retrieved lines, title or name hold."""
    shared: dict[str, set[str]] = defaultdict(set)
    for result in results:
        citation, title = result.citation, str(result.metadata.get(TITLE, ""))
        texts = (result.content, title, citation.source_file, citation.section_header)
        shared[citation.source_file] |= told & words_of(texts)
    return shared


def documents_about(results: Iterable[RetrievalResult], told: set[str]) -> list[str]:
    """Give the documents that hold enough of an incident's words, in the order of ``results``.

    Args:
        results: what was retrieved.
        told: the words that tell of the incident, as :func:`words_of` gives them.
    """
    enough = max(min(MIN_WORDS, len(told)), MIN_SHARE * len(told))
    return [name for name, words in shared_words(results, told).items() if len(words) >= enough]
