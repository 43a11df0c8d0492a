"""The agent that the local server plays, by its ``agentId``; callers in Python may give it others.

An agent without a model: it asks what it is asked, through the real function, and writes what its
writer writes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS
from knowledge_rag.local import answer_writers as writers
from knowledge_rag.local.streaming import unaltered, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.local.answer_writers import AnswerWriter
    from knowledge_rag.local.retrieve_operation import ServiceError
    from knowledge_rag.local.streaming import ByteStep, EventStep

AGENT_ID: Final = "LOCALAGENT"
ALIAS_ID: Final = "LOCALALIAS"
"""Ten characters each, as the service's are. All agents share the alias."""

MAX_QUERIES: Final = 3
"""Queries of one turn, as the agent's prompt says."""

_LISTED: Final = re.compile(r".*\bqueries:[ \t]*+\n(.*+)", re.DOTALL | re.IGNORECASE)
_ITEM: Final = re.compile(r"(?:[-*]|[0-9]++[.)])\s++(.+)")
_FORMS: Final = re.compile(
    r"(?:how to diagnose|resolution steps for|similar incidents involving)\b.*|.*\?", re.IGNORECASE
)


class Evidence(Enum):
    """Where an agent looks things up."""

    ACTION_GROUP = "action group"
    """The ``retrieve_knowledge`` function."""
    KNOWLEDGE_BASE = "knowledge base"
    """A knowledge base that the agent has itself, beside the function."""
    CALLER = "caller"
    """Nowhere: it returns control, and the caller is to carry out the operation."""


def planned(text: str) -> Sequence[str]:
    """Give the queries for a request.

    They are the items listed last, under a line that ends with ``queries:``; else the lines that
    end with a question mark or have one of the three forms that the agent's prompt names; else all
    of the text as one.
    """
    listed = _LISTED.fullmatch(text)
    lines = [line.strip() for line in (listed[1] if listed else text).split("\n")]
    items = [item[1] if (item := _ITEM.fullmatch(line)) else line for line in lines]
    asked = [item for item in items if item and (listed or _FORMS.fullmatch(item))]
    queries = list(dict.fromkeys(asked))[:MAX_QUERIES] or [" ".join(text.split())]
    return [query[:MAX_QUERY_CHARACTERS] for query in queries]


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """An agent.

    Args:
        write: writes its answer.
        plan: gives the queries for a text, in order.
        evidence: where they are asked.
        alter: what becomes of the events.
        transmit: what becomes of their bytes.
        refusal: what it answers instead of a stream.
    """

    write: AnswerWriter = writers.extracted
    plan: Callable[[str], Sequence[str]] = planned
    evidence: Evidence = Evidence.ACTION_GROUP
    alter: EventStep = unaltered
    transmit: ByteStep = whole
    refusal: ServiceError | None = None


HONEST: Final = ScriptedAgent()
