"""Builds the queries of an incident or a question: at most three, always the same for the same input.

They begin with the alert's name as written, for the keyword search, and split into words, for the search by
meaning; then come the words of its linked runbook, and the symptoms. The first query searches everything, another
has the words of the linked runbook or else the name alone, and the last searches the reports of earlier
incidents. No query asks which section of a page says what to do: the documents found are completed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import DocumentType, split_words
from knowledge_rag.core.metadata import DOCUMENT_TYPE
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.orchestrator.links import words_of_link

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.orchestrator.incident import Incident

MAX_QUERIES: Final = 3
"""Maximum queries for one incident."""

RESULTS: Final = 5
"""Maximum results of one query."""

MAX_SYMPTOM: Final = 300
"""Maximum characters of the symptoms in a query: more would drown the names that identify the runbook."""

_POSTMORTEMS: Final = DocumentType.POSTMORTEM.value
_RESOLVED: Final = "resolution"
"""Added to searches for reports, since the section that says what helped is shown."""
_ESCALATION: Final = "Escalation, contacts, on-call: who to call"
"""Finds pages of contacts, whatever the question is about: the question then chooses among their rows."""
WHO: Final = re.compile(
    r"\bwho(?:['’]?s| is| are| has| else| next)\b|\bwho(?:m)? (?:to|do|should|can|must|is on|owns)\b|\b(?:any|some)(?:body|one) to be (?:woken|called|paged)\b"
    r"|\b(?:\w+n['’]?t|not|nobody|no ?one) (?:picks?(?:ing)? up|answers?(?:ing)? (?:the |his |her |their )?(?:phone|pager|calls?|pages?))\b"
    r"|\b(?:wake|page|ring|call|phone) (?:any|some)(?:body|one)\b|\bout of bed\b|\b(?:which|what|whose) (?:phone )?number\b|\b(?:do|should|can|may|must) (?:i|we) (?:(?:wake|ring|phone)\b|call (?:anybody|somebody|them|him|her)\b)|\bto (?:wake|page|escalate to)\b|\bescalat(?:e|ion) (?:to|path|contacts?)\b",
    re.IGNORECASE,
)
"""A question about contacts."""
_END: Final = " .?!:;,"


def build_queries(incident: Incident) -> tuple[Query, ...]:
    """Return the queries for an incident, in the order in which to ask them.

    None is filtered by service, since a team's alerts and its runbooks may name one differently.

    Returns:
        At most MAX_QUERIES; none if there is nothing to ask about.
    """
    return tuple(_queries(incident))


def queries_for(question: str, filters: Mapping[str, str] | None = None) -> tuple[Query, ...]:
    """Return the queries for a question as typed."""
    wanted = dict(filters or {})
    queries = [Query(question, filters=wanted)]
    if DOCUMENT_TYPE not in wanted:
        text = f"{question} {_RESOLVED}"[:MAX_QUERY_CHARACTERS]
        queries.append(Query(text, filters={**wanted, DOCUMENT_TYPE: _POSTMORTEMS}))
    if WHO.search(question):
        queries.append(Query(_ESCALATION, filters=wanted))
    return tuple(queries)


def _queries(incident: Incident) -> Iterator[Query]:
    linked = words_of_link(incident.links)
    text = _joined(
        incident.alert_name,
        split_words(incident.alert_name),
        linked,
        incident.service,
        _symptom(incident),
    )
    if not text:
        return
    yield _query(text)
    named = linked or name_alone(incident)
    # symptoms may match another page, which the alert isn't filed under
    if named not in ("", text):
        yield _query(named)
    yield _query(f"{text} {_RESOLVED}", _POSTMORTEMS)


def name_alone(incident: Incident) -> str:
    """Return the text of the query for an alert's name alone; its results count if they are filed under that name."""
    return _joined(incident.alert_name, split_words(incident.alert_name))


def _query(text: str, document_type: str = "") -> Query:
    filters = {DOCUMENT_TYPE: document_type} if document_type else {}
    return Query(text[:MAX_QUERY_CHARACTERS], RESULTS, filters)


def _symptom(incident: Incident) -> str:
    """Return the symptoms, each text once, without repeating the alert's name."""
    name = incident.alert_name.casefold()
    texts = (incident.title, incident.description, *incident.signals, *incident.evidence)
    said = dict.fromkeys(text for text in texts if text and text.casefold() != name)
    return " ".join(said)[:MAX_SYMPTOM].rstrip(_END)


def _joined(*parts: str) -> str:
    """Join the parts that aren't blank, each once."""
    return " ".join(dict.fromkeys(part.rstrip(_END) for part in parts if part.strip()))
