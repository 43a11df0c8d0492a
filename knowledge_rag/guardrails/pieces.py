"""An answer that may be shown, cut into what was said and what was referred to.

Whoever shows an answer needs to know where its references stand, and must not look for brackets
again: a second reader of references would be a second place where a citation could come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.verify import Cited, Verified


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive characters of an answer: one reference, or what stands between two.

    Args:
        text: never empty; all pieces of an answer, put together, are the answer.
        cited: what a reference stands for, in its order; none where this is no reference.
    """

    text: str
    cited: tuple[Cited, ...] = ()


def pieces_of(verified: Verified) -> Iterator[Piece]:
    """Give the pieces of a verified answer, in their order."""
    text, at = verified.text, 0
    for (start, end), cited in groupby(verified.citations, key=lambda one: (one.start, one.end)):
        if start > at:
            yield Piece(text[at:start])
        yield Piece(text[start:end], tuple(cited))
        at = end
    if at < len(text):
        yield Piece(text[at:])
