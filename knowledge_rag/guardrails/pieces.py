"""An answer that may be shown, in pieces: its references, and the text between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.core.citations import Citation


@dataclass(frozen=True, slots=True)
class Cited:
    """One citation of an answer.

    Args:
        start: offset of its reference in the answer that may be shown.
        end: offset after that reference.
        number: of its entry in the ledger.
        citation: the lines, all of them retrieved for this request.
        content: the lines' text, byte for byte.
    """

    start: int
    end: int
    number: int
    citation: Citation
    content: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive characters of an answer: one reference, or the text between two.

    Args:
        text: never empty; joined, all pieces of an answer are the answer.
        cited: the reference's citations, in order; empty for other text.
    """

    text: str
    cited: tuple[Cited, ...] = ()
