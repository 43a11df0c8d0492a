"""Questions that refer to the answer before them, such as "and how do I undo it?"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import TITLE

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.consultation import Consultation

LONGEST_FOLLOW_UP: Final = 100
"""Characters; a longer question says itself what it is about."""

FOLLOWS: Final = re.compile(
    r"^(?:and|then|but|so|also|what about|how about)\b|\b(?:it|this)\b(?!['’-])", re.IGNORECASE
)
"""As the console's page has it, whose rule is in JavaScript."""


def topic_of(before: Consultation) -> str:
    """Return the name of the first procedure of an answer; ``""`` if it has none."""
    procedures = before.recommendation.procedures
    if not procedures:
        return ""
    first = procedures[0]
    titles = (
        str(result.metadata.get(TITLE, ""))
        for result in before.findings.ledger.results
        if result.citation.source_file == first.source_file
    )
    return first.path[0] if first.path else next(titles, "")


def in_context(question: str, topic: str) -> str:
    """Return a question that refers to an answer as one about its procedure, any other as it is.

    >>> in_context("And how do I undo it?", "RDS failover")
    'RDS failover: And how do I undo it?'
    >>> in_context("Redis is full", "RDS failover")
    'Redis is full'
    """
    return f"{topic}: {question}" if topic and refers(question) else question


def refers(question: str) -> bool:
    """Whether a question refers to the answer before it: "And how do I undo it?"."""
    return len(question) < LONGEST_FOLLOW_UP and FOLLOWS.search(question) is not None
