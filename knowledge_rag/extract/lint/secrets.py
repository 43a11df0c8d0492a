"""Everything in a text that looks like a secret, each place once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.extract.lint.credentials import given_away
from knowledge_rag.extract.lint.tokens import known_secrets

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Folded
    from knowledge_rag.extract.lint.finding import Hit


def find_secrets(text: str, folded: Folded) -> list[Hit]:
    """Find the secrets of a text, in order; of two that overlap the one that is known by form.

    Args:
        text: the document's.
        folded: the same, folded.
    """
    kept: list[Hit] = []
    taken = bytearray()
    for hit in [*known_secrets(text, folded.words), *given_away(text, folded)]:
        if not taken:
            taken = bytearray(len(text))
        if not any(taken[hit.start : hit.end]):
            taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
            kept.append(hit)
    return sorted(kept)
