"""Which retrieved documents are about an incident: search always finds what is least unlike."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import TITLE
from knowledge_rag.orchestrator.confidence import told_of, words_of
from knowledge_rag.orchestrator.linked import documents_linked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.incident import Incident

MIN_WORDS: Final = 2
MIN_SHARE: Final = 1 / 3
"""Words, and share of the words that tell of the incident, that the retrieved lines of a document
must hold, or it is about something else."""
HALF: Final = 1 / 2
"""Share of the words of the alert's name that they must hold as well, unless they hold as much of all
words: any alert may be high, failing or out of requests, and its name says what is. Not all of it,
since names hold those of environments and products, too (``orders-db-commit-latency``)."""


def shared_words(results: Iterable[RetrievalResult], told: set[str]) -> dict[str, set[str]]:
    """Give the words of the incident that each document's retrieved lines, title or name hold."""
    shared: dict[str, set[str]] = defaultdict(set)
    for result in results:
        texts = (result.content, result.citation.source_file, *_headings(result))
        shared[result.citation.source_file] |= told & words_of(texts)
    return shared


def documents_about(results: Sequence[RetrievalResult], incident: Incident) -> list[str]:
    """Give the documents that are about an incident, in the order of ``results``.

    They hold enough of its words and of its alert's name; or their own name, their title or a heading
    holds all of that name, which may be told in many words that its runbook does without; or the alert
    links them.
    """
    linked = documents_linked(results, incident.links)
    told, name = told_of(incident), words_of([incident.alert_name])
    named = _named(results, name) if len(name) >= MIN_WORDS else set()
    shared = shared_words(results, told)
    given = named | linked.keys()
    return [it for it, words in shared.items() if it in given or _is_about(words, told, name)]


def _is_about(words: set[str], told: set[str], name: set[str]) -> bool:
    if len(words) < max(min(MIN_WORDS, len(told)), MIN_SHARE * len(told)):
        return False
    return len(words & name) >= HALF * len(name) or len(words) >= HALF * len(told)


def _named(results: Iterable[RetrievalResult], name: set[str]) -> set[str]:
    """Give the documents that are named with all of these words."""
    named = set()
    for result in results:
        document = result.citation.source_file
        texts = (document.rpartition("/")[2], *_headings(result))
        if any(name <= words_of([text]) for text in texts):
            named.add(document)
    return named


def _headings(result: RetrievalResult) -> tuple[str, str]:
    return str(result.metadata.get(TITLE, "")), result.citation.section_header
