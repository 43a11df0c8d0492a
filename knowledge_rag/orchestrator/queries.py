"""The questions that an incident is looked up with: at most three, always the same for the same.

They are of three forms: how its symptom is diagnosed, how an incident of its type is resolved, and
which incidents of its service were like it. An alert's name is in each of them as it is written, for
the keyword search, and in words, for the search by meaning, to which ``KubePodCrashLooping`` says
little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.context import split_words
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.orchestrator.incident import Incident

MAX_QUERIES: Final = 3
"""Queries for one incident at most."""

RESULTS: Final = 5
"""Results of one query at most."""

MAX_SYMPTOM: Final = 300
"""Characters of a symptom in a query: an embedding model reads about 250 words, of which the first
count most, and a whole description would drown the names."""

_POSTMORTEMS: Final = {DOCUMENT_TYPE: DocumentType.POSTMORTEM.value}


def build_queries(incident: Incident) -> tuple[Query, ...]:
    """Give the questions for an incident, in the order in which to ask them.

    Only the one for similar incidents is filtered, by the type of document: how a team names its
    services in an alert and in a runbook may differ, and a filter would hide the runbook.

    Args:
        incident: what is known.

    Returns:
        At most MAX_QUERIES, no two of the same text; none if there is nothing to ask about.
    """
    distinct: dict[str, Query] = {}
    for query in _queries(incident):
        distinct.setdefault(query.text.casefold(), query)
    return tuple(distinct.values())[:MAX_QUERIES]


def _queries(incident: Incident) -> Iterator[Query]:
    kind, symptom = _kind(incident), _symptom(incident)
    if diagnosed := _joined(kind, symptom):
        yield _query(f"How to diagnose {diagnosed}?")
    if resolved := _joined(kind or symptom, incident.title):
        yield _query(f"Resolution steps for {resolved}")
    if involved := _joined(incident.service, kind or incident.title or symptom):
        yield _query(f"Similar incidents involving {involved}", _POSTMORTEMS)


def _query(text: str, filters: dict[str, str] | None = None) -> Query:
    return Query(text[:MAX_QUERY_CHARACTERS], RESULTS, filters or {})


def _kind(incident: Incident) -> str:
    """Give the alert's name and, where that differs, its words."""
    name = incident.alert_name
    words = split_words(name)
    return name if words.casefold() == name.casefold() else f"{name} ({words})"


def _symptom(incident: Incident) -> str:
    """Give what was noticed: the first of what says it, without repeating the alert's name."""
    name = incident.alert_name.casefold()
    texts = (incident.title, incident.description, *incident.signals, *incident.evidence)
    said = [text for text in texts if text and text.casefold() != name]
    return " ".join(dict.fromkeys(said))[:MAX_SYMPTOM].rstrip(" .?!:;,")


def _joined(*parts: str) -> str:
    """Join what is known, each once."""
    known = dict.fromkeys(part.rstrip(" .?!:;,") for part in parts if part)
    return ": ".join(filter(None, known))
