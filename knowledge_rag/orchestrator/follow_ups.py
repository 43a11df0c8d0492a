"""Recognises turns that refer to the answer before them, such as "and how do I undo it?", and those that ask nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import TITLE
from knowledge_rag.orchestrator.words import spaced_words

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.consultation import Consultation

LONGEST_FOLLOW_UP: Final = 100
"""Characters; a question this long names its subject itself."""

FOLLOWS: Final = re.compile(
    r"^(?:and|then|but|so|also|what about|how about)\b|\b(?:it|this)\b(?!['’-])", re.IGNORECASE
)
"""The same rule as in the console's page, which has it in JavaScript."""


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
    """Return a question that refers to an answer with the name of its procedure; any other unchanged.

    >>> in_context("And how do I undo it?", "RDS failover")
    'RDS failover: And how do I undo it?'
    >>> in_context("Redis is full", "RDS failover")
    'Redis is full'
    """
    return f"{topic}: {question}" if topic and refers(question) else question


def refers(question: str) -> bool:
    """Whether a question refers to the answer before it: "And how do I undo it?"."""
    return len(question) < LONGEST_FOLLOW_UP and FOLLOWS.search(question) is not None


WELCOME: Final = "Happy to help: ask about an alert or a procedure whenever you need one."
"""The answer to a turn that asks nothing."""

_THANKS: Final = """
    thanks thank thx ty cheers ok okay great perfect awesome cool nice hi hello hey bye goodbye worked works helped
    fixed solved danke merci gracias
"""
_SAID: Final = frozenset(_THANKS.split())
"""A turn that asks nothing has at least one of these words ..."""
_BESIDE: Final = """
    you so very much a lot many that this it got all good now again for the your help and has is everything
"""
_KNOWN: Final = _SAID.union(_BESIDE.split())
"""... and only these."""


def is_no_question(text: str) -> bool:
    """Whether a turn asks nothing: "thanks!", "ok", "thank you, that worked".

    >>> [is_no_question(it) for it in ("ok", "Thank you, that worked!", "it worked?", "ok, and Redis?")]
    [True, True, False, False]
    """
    said = spaced_words(text).split()
    asks = "?" in text or not said or not _SAID.intersection(said)
    return not asks and _KNOWN.issuperset(said)
