"""What a reference stands for in the ledger, or why it stands for nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.references import Lines, Unparsable

if TYPE_CHECKING:
    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.references import Numbers, Reference


class Why(StrEnum):
    """Why a reference is taken out."""

    UNKNOWN_FILE = "unknown_file"
    """No result of this request is of that file; names are compared exactly."""
    LINES_NOT_RETRIEVED = "lines_not_retrieved"
    """No single result holds all these lines."""
    UNKNOWN_NUMBER = "unknown_number"
    """The ledger has no entry of that number."""
    UNPARSABLE = "unparsable"
    """It resembles a reference and can't be parsed."""
    UNCLOSED = "unclosed"
    """It begins like a reference and its bracket is never closed, or only behind another one."""


def resolve(reference: Reference | Unparsable, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    """Resolve every part of a reference against the evidence of the request.

    Returns:
        The evidence for its parts, in their order, each once; or why one of them has none: a
        reference is good as a whole or not at all.
    """
    if isinstance(reference, Unparsable):
        return Why.UNPARSABLE
    if len(reference) == 1:
        return _part(reference[0], ledger)
    found: dict[Evidence, None] = {}
    for part in reference:
        evidence = _part(part, ledger)
        if isinstance(evidence, Why):
            return evidence
        found.update(dict.fromkeys(evidence))
    return tuple(found)


def _part(part: Numbers | Lines, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    return _lines(part, ledger) if isinstance(part, Lines) else _numbers(part, ledger)


def _numbers(part: Numbers, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    if not 1 <= part.first <= part.last <= len(ledger):
        return Why.UNKNOWN_NUMBER
    return ledger.entries[part.first - 1 : part.last]


def _lines(part: Lines, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    known = [name for name in part.names if ledger.knows(name)]
    for name in known:
        if evidence := ledger.lines(name, part.first, part.last):
            return (evidence,)
    return Why.LINES_NOT_RETRIEVED if known else Why.UNKNOWN_FILE
