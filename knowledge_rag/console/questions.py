"""A question as it was asked in the console, and what the knowledge base is asked for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.bodies import only, text_in
from knowledge_rag.console.errors import Refused
from knowledge_rag.console.limits import MAX_BODY_BYTES, MAX_FILTER_CHARACTERS
from knowledge_rag.console.narrowed import agrees, narrowed
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_TYPE, SOURCE_FILE
from knowledge_rag.core.retrieval import FILTER_KEYS, MAX_QUERY_CHARACTERS
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.queries import build_queries, queries_for
from knowledge_rag.orchestrator.state import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knowledge_rag.core.retrieval import Query

_TYPES: Final = frozenset(kind.value for kind in DocumentType)
_RUNBOOK: Final = DocumentType.RUNBOOK.value
_FILTERS: Final = tuple(name for name in FILTER_KEYS if name != SOURCE_FILE)
"""Without that of one document: no evidence floor applies to it, so a question would never be told that
nothing is documented."""

MAX_NAMED: Final = 5
"""Alerts of a pasted group that its title names."""


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants to know.

    Args:
        text: one line, not blank, at most MAX_QUERY_CHARACTERS; the name of what was pasted.
        advisor: the name of who is to write.
        filters: from ``document_type`` and ``service`` to the value that a document must have.
        pasted: the incident whose JSON was pasted as the question; ``None`` for a question in words.
    """

    text: str
    advisor: str
    filters: Mapping[str, str] = field(default_factory=dict)
    pasted: Incident | None = None

    @property
    def incident(self) -> Incident:
        """What is known: the pasted incident; else the question is what it is about."""
        return self.pasted or Incident(title=one_line(self.text) or "")

    def queries(self) -> tuple[Query, ...] | None:
        """Return the queries; a filter that the reader set holds for each of them.

        ``None`` for a group of alerts: each of them is asked for by its own words.
        """
        if self.pasted is None:
            return queries_for(self.text, self.filters)
        if self.pasted.is_group:
            return None
        return tuple(
            narrowed(query, self.filters)
            for query in build_queries(self.pasted)
            if agrees(query, self.filters)
        )


def read_question(body: dict[str, Any], advisors: Collection[str]) -> Question:
    """Read a question from the body of a request.

    Args:
        body: ``question`` and, as wanted, ``document_type``, ``service`` and ``advisor``.
        advisors: names of those who can write; the first one does by default.

    Raises:
        Refused: it is no question, or names what there is not.
    """
    only(body, "question", "advisor", *_FILTERS)
    pasted = Incident.pasted_in(text_in(body, "question", MAX_BODY_BYTES))
    if pasted is None:
        asked = " ".join(text_in(body, "question", MAX_QUERY_CHARACTERS, required=True).split())
    else:
        asked = _named(pasted)
    if not any(character.isalnum() for character in asked):
        raise Refused(400, "question has no letter and no digit")
    filters = {
        name: value for name in _FILTERS if (value := text_in(body, name, MAX_FILTER_CHARACTERS))
    }
    if filters.get(DOCUMENT_TYPE, _RUNBOOK) not in _TYPES:
        raise Refused(400, f"document_type must be one of {', '.join(sorted(_TYPES))}")
    advisor = text_in(body, "advisor", MAX_FILTER_CHARACTERS) or next(iter(advisors))
    if advisor not in advisors:
        raise Refused(400, f"advisor must be one of {', '.join(advisors)}")
    return Question(asked, advisor, filters, pasted)


def _named(incident: Incident) -> str:
    """Return what a pasted incident is called where questions are listed."""
    if incident.is_group:
        names = [one.alert_name or one.title for one in incident.alerts]
        more = ["..."] if len(names) > MAX_NAMED else []
        return f"{len(names)} alerts: {', '.join([*names[:MAX_NAMED], *more])}"
    name, title = incident.alert_name, incident.title
    texts = (title if name in title else name, incident.description, *incident.signals)
    return next(filter(None, texts), incident.service)
