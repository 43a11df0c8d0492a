"""The answers of the local server's agent and model; neither uses a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

AnswerWriter = Callable[[str, Sequence[RetrievalOutcome]], str]
"""Returns an answer's text for a question and the results of its queries."""


def extracted(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
    """Return the procedures in the results, as the advisor without a model does."""
    # only now: most users of the local server never ask it for an answer
    from knowledge_rag.orchestrator.composition import state  # noqa: PLC0415
    from knowledge_rag.orchestrator.incident import Incident  # noqa: PLC0415
    from knowledge_rag.orchestrator.retrieval import Asked, Findings  # noqa: PLC0415
    from knowledge_rag.orchestrator.showing import counted_line, pieces_of  # noqa: PLC0415

    query = Query(question[:MAX_QUERY_CHARACTERS] if question.strip() else "?")
    findings = Findings(tuple(Asked(query, outcome) for outcome in outcomes))
    given = state(Incident.from_state({"incident": question}), findings, "extractive")
    if given.status is not Status.OK:
        return UNREACHABLE if given.status is Status.DEGRADED else NO_MATCH
    return "".join(piece.text for piece in pieces_of(given, findings.ledger, counted_line))


AGENT_ID: Final = "LOCALAGENT"
ALIAS_ID: Final = "LOCALALIAS"
"""Ten characters each, like the service's."""
MODEL_ID: Final = "local.extractive-v1"

MAX_QUERIES: Final = 3
"""Queries per turn, as in the agent's prompt."""

_LISTED: Final = re.compile(r".*\bqueries:[ \t]*+\n(.*+)", re.DOTALL | re.IGNORECASE)
_ITEM: Final = re.compile(r"(?:[-*]|[0-9]++[.)])\s++(.+)")
_FORMS: Final = re.compile(
    r"(?:how to diagnose|resolution steps for|similar incidents involving)\b.*|.*\?", re.IGNORECASE
)


def planned(text: str) -> Sequence[str]:
    """Return the queries for a request.

    They are the items of the last list below a line that ends with ``queries:``; else the lines that
    end with a question mark or have one of the three forms that the agent's prompt names; else all
    of the text as one query.
    """
    listed = _LISTED.fullmatch(text)
    lines = [line.strip() for line in (listed[1] if listed else text).split("\n")]
    items = [item[1] if (item := _ITEM.fullmatch(line)) else line for line in lines]
    asked = [item for item in items if item and (listed or _FORMS.fullmatch(item))]
    queries = list(dict.fromkeys(asked))[:MAX_QUERIES] or [" ".join(text.split())]
    return [query[:MAX_QUERY_CHARACTERS] for query in queries]
