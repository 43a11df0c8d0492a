"""Destructive instructions of a claim: a sentence of the lines must tell each of them.

Its words found here and there in the lines are not enough: the verb and its object must stand together.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.guardrails.support.alignment import tokens_of
from knowledge_rag.guardrails.support.report import Change, Contradiction
from knowledge_rag.guardrails.support.wording import NEGATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.support.alignment import Stream

_BEFORE = 24
"""Characters in front of an instruction in which it may be forbidden."""


def destructions(claim: str, stream: Stream, lines: str) -> Iterator[Contradiction]:
    """Find destructive instructions of a claim that no sentence of the lines tells.

    Args:
        claim: with markup blanked.
        stream: of the lines.
        lines: the same, joined.
    """
    for danger in dangers_in(claim):
        said = claim[danger.start : danger.end]
        keys = _content(said)
        told = said.lower() in lines.lower() or any(keys <= it for it in stream.sets)
        if told or _is_forbidden(claim, danger.start):
            continue
        if not any(keys & other for other in _destroyed(lines)):
            yield Contradiction(Change.DANGER, danger.start, danger.end, 0, "")


def _content(text: str) -> frozenset[str]:
    return frozenset(it.key for it in tokens_of(text.split("\n")) if it.is_content)


def _is_forbidden(claim: str, start: int) -> bool:
    return not NEGATIONS.isdisjoint(claim[max(start - _BEFORE, 0) : start].lower().split())


@lru_cache(maxsize=256)
def _destroyed(lines: str) -> tuple[frozenset[str], ...]:
    """Return what the lines destroy, without the verb, which may be a synonym."""
    return tuple(
        frozenset(it.key for it in tokens_of([lines[one.start : one.end]])[1:] if it.is_content)
        for one in dangers_in(lines)
    )
