"""The questions that an incident is looked up with: at most three, always the same for the same.

They are of three forms: how its symptom is diagnosed, how an incident of its type is resolved, and
which incidents of its service were like it. An alert's name is in each of them as it is written, for
the keyword search, and ``KubePodCrashLooping`` in words, too, for the search by meaning, to which it
says little. The first two name the sections that they are after, several times: what is stored of a
chunk begins with the headings above it, and an alert's words are mostly those of the sections that
describe symptoms, which say nothing of what to do and would take all places.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.context import split_words
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.linked import words_of_link
from knowledge_rag.orchestrator.names import fold
from knowledge_rag.orchestrator.state import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_QUERIES: Final = 3
"""Queries for one incident at most."""

RESULTS: Final = 5
"""Results of one query at most."""

MAX_SYMPTOM: Final = 120
"""Characters of a symptom in a query: more of them drown the names that tell which runbook it is."""

_DIAGNOSIS: Final = "Diagnosis in the {runbook}, diagnosis steps, diagnosis commands, diagnosis"
_RESOLUTION: Final = "resolution in the {runbook}, resolution commands, resolution"
_POSTMORTEMS: Final = DocumentType.POSTMORTEM.value
_RUNBOOKS: Final = DocumentType.RUNBOOK.value
_SEPARATED: Final = re.compile(r"[-_./\s]")
_END: Final = " .?!:;,"


def build_queries(incident: Incident, *, guidance_type: str = _RUNBOOKS) -> tuple[Query, ...]:
    """Give the questions for an incident, in the order in which to ask them.

    The first one searches everything, so that nothing that is documented is hidden by how it is
    filed. The others look for one type of document each, since what an alert says is mostly like
    what reports of earlier alerts say, and they would take the places of the steps. None is filtered
    by service: a team's alerts and its runbooks may name one differently.

    Args:
        incident: what is known.
        guidance_type: the type of the documents that hold steps, ``""`` if they are of any.

    Returns:
        At most MAX_QUERIES, no two of the same text; none if there is nothing to ask about.
    """
    distinct: dict[str, Query] = {}
    for query in _queries(incident, guidance_type):
        distinct.setdefault(query.text.casefold(), query)
    return tuple(distinct.values())[:MAX_QUERIES]


def queries_for(question: str, filters: Mapping[str, str] | None = None) -> tuple[Query, ...]:
    """Give the queries for a question as somebody typed it.

    A question alone finds what is most like it, which are symptoms and timelines rather than what to
    do, so what runbooks say of the resolution is asked for, too, and earlier incidents.

    Args:
        question: one line, not blank.
        filters: that hold for every query.
    """
    wanted = dict(filters or {})
    steps = [
        it.text
        for it in build_queries(Incident(title=one_line(question) or ""))
        if it.filters.get(DOCUMENT_TYPE) == _RUNBOOKS
    ]
    queries = [Query(question, filters=wanted)]
    for kind, texts in ((_RUNBOOKS, steps), (_POSTMORTEMS, [question])):
        if wanted.get(DOCUMENT_TYPE, kind) == kind:
            queries += [Query(text, filters={**wanted, DOCUMENT_TYPE: kind}) for text in texts]
    distinct = {(one.text, tuple(one.filters.items())): one for one in queries}
    return tuple(distinct.values())


def _queries(incident: Incident, guidance_type: str) -> Iterator[Query]:
    kind, symptom, service = _kind(incident), _symptom(incident), incident.service
    named = kind or incident.title or symptom
    if named:
        runbook = _runbook(incident, named)
        yield _query(
            f"How to diagnose {_joined(service, named)}? {_DIAGNOSIS.format(runbook=runbook)}"
        )
        told = _joined(service, kind, symptom)
        resolution = _RESOLUTION.format(runbook=runbook)
        yield _query(f"Resolution steps for {told}: {resolution}", guidance_type)
    if service or named:
        yield _query(
            f"Similar incidents involving {_joined(service, named)}: resolution", _POSTMORTEMS
        )


def _runbook(incident: Incident, named: str) -> str:
    """Name the runbook as the alert's author links it; many are called like the alert anyway."""
    words = words_of_link(incident.links)
    return f"runbook {words}, {words}" if words and fold(words) not in fold(named) else "runbook"


def _query(text: str, document_type: str = "") -> Query:
    filters = {DOCUMENT_TYPE: document_type} if document_type else {}
    return Query(text[:MAX_QUERY_CHARACTERS], RESULTS, filters)


def _kind(incident: Incident) -> str:
    """Give the alert's name and, where it is written as one word, its words."""
    name, words = incident.alert_name, split_words(incident.alert_name)
    return name if words == name or _SEPARATED.search(name) else f"{name} ({words})"


def _symptom(incident: Incident) -> str:
    """Give what was noticed, each text once, without repeating the alert's name."""
    name = incident.alert_name.casefold()
    texts = (incident.title, incident.description, *incident.signals, *incident.evidence)
    said = dict.fromkeys(text for text in texts if text and text.casefold() != name)
    return " ".join(said)[:MAX_SYMPTOM].rstrip(_END)


def _joined(*parts: str) -> str:
    """Join what is known, each once."""
    known = dict.fromkeys(part.rstrip(_END) for part in parts if part)
    return ": ".join(filter(None, known))
