"""From what a user typed to an incident, the queries for it, and what came of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from knowledge_rag.cli.advisors import chosen_advisor
from knowledge_rag.cli.input_files import input_name, read_input
from knowledge_rag.cli.knowledge_bases import opened
from knowledge_rag.cli.ways import deployed
from knowledge_rag.core.errors import InvalidRequest, UnreadableResponse
from knowledge_rag.core.response import read_json
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query, SearchType
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.consultation import advise_on, consult, look_up
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.pagers import MAX_PASTED, SUPPORTED, pasted
from knowledge_rag.orchestrator.queries import MAX_QUERIES, build_queries, queries_for
from knowledge_rag.orchestrator.state import one_line

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.cli.advisors import Writer
    from knowledge_rag.cli.ways import Way
    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.telling import Notify


def incident_of(question: str | None, path: Path | None) -> Incident:
    """Return what is known: the file's incident, or the one whose JSON was pasted as the question.

    A question in words is the title, unless the file's incident has one.

    Raises:
        InvalidRequest: there is neither, or both are JSON; the question is too long; or the file
            can't be read or has nothing to ask about.
    """
    here = Incident.pasted_in(question or "")
    asked = " ".join((question or "").split())
    if path is None:
        if here is not None:
            return here
        if not asked:
            raise InvalidRequest("ask a question, or name an incident's file with --incident")
        if len(asked) > MAX_QUERY_CHARACTERS:
            raise InvalidRequest(
                f"the question has {len(asked)} characters, allowed: {MAX_QUERY_CHARACTERS}"
            )
        return Incident(title=one_line(asked) or "")
    if here is not None:
        raise InvalidRequest("the question is an incident's JSON; leave it out, or --incident")
    incident = Incident.from_state(_read(path))
    if incident.is_empty and not asked:
        name = input_name(str(path))
        raise InvalidRequest(f"{name}: nothing in it that could be asked about; {SUPPORTED}")
    return (
        incident if incident.title or not asked else replace(incident, title=one_line(asked) or "")
    )


def queries_of(question: str | None, incident: Incident) -> tuple[Query, ...] | None:
    """Return the queries: the question as it was typed, and what the incident suggests beside it.

    ``None`` for a group of alerts: each of them is asked for by its own words.
    """
    if incident.is_group:
        return None
    asked = " ".join((question or "").split())
    if not asked or Incident.pasted_in(question or "") is not None:
        return build_queries(incident)
    if incident == Incident(title=one_line(asked) or ""):
        return queries_for(asked)
    return (Query(asked), *build_queries(incident))[:MAX_QUERIES]


def consulted(
    question: str | None,
    incident: Incident,
    way: Way,
    writer: Writer,
    *,
    kb: Path | None = None,
    notify: Notify | None = None,
) -> Consultation:
    """Consult a knowledge base, here or deployed, and whoever is to write.

    Args:
        question: as it was typed, if one was.
        incident: what is known.
        way: which knowledge base.
        writer: who writes.
        kb: file of one on this machine.
        notify: is told of each stage.
    """
    queries = queries_of(question, incident)
    if not way.is_local:
        with deployed(way) as found:
            advisor = chosen_advisor(writer, found.agent)
            return asyncio.run(
                consult(incident, found.retrieval, advisor, queries=queries, notify=notify)
            )
    advisor = chosen_advisor(writer)
    search_type = SearchType(way.method.upper())
    with (
        opened(kb) as knowledge_base,
        local_retrieval(knowledge_base, search_type=search_type, budget=way.budget) as retrieval,
    ):
        # retrieval corrects the queries itself, and says so; procedures are chosen by the title
        incident = replace(incident, title=knowledge_base.corrected(incident.title).text)
        findings = asyncio.run(look_up(incident, retrieval, queries=queries, notify=notify))
    # outside the block, which hides the user's own AWS settings from the local function
    return asyncio.run(advise_on(incident, findings, advisor, notify=notify))


def _read(path: Path) -> object:
    """Return the JSON of a file, also where words or a Markdown fence stand around it."""
    data = read_input(str(path))
    try:
        return read_json(data)
    except UnreadableResponse as error:
        if (payload := pasted(data[:MAX_PASTED].decode(errors="replace"))) is not None:
            return payload
        raise InvalidRequest(f"{input_name(str(path))}: {error}") from error
