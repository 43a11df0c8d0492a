"""An answer that may be shown, cut into what was said and what was referred to.

Whoever shows an answer needs to know where its references stand, and must not look for brackets
again: a second reader of references would be a second place where a citation could come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.stream import VerifiedStream
from knowledge_rag.guardrails.verify import cited_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.ledger import Ledger
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


class PieceStream:
    """Takes the fragments of an answer and gives the pieces of it that may be shown.

    Put together they are what :func:`pieces_of` gives of the whole, but for what is said between two
    references: that may come in several pieces.

    Args:
        ledger: all that retrieval returned for this request.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._stream = VerifiedStream(ledger)
        self._shown = 0
        self._references = 0

    def feed(self, fragment: str) -> tuple[Piece, ...]:
        """Take the next fragment, of any length; give what may be shown now."""
        return tuple(self._cut(self._stream.feed(fragment)))

    def close(self) -> tuple[tuple[Piece, ...], Verified]:
        """End the answer; give the rest of what may be shown, and the result for the whole."""
        rest, verified = self._stream.close()
        return tuple(self._cut(rest)), verified

    def _cut(self, text: str) -> Iterator[Piece]:
        at, first = 0, self._shown
        for kept in self._stream.kept[self._references :]:
            cited = cited_by(kept)
            start, end = cited[0].start - first, cited[0].end - first
            if end > len(text):
                break  # not all of it has come out
            if start > at:
                yield Piece(text[at:start])
            yield Piece(text[start:end], cited)
            self._references += 1
            at = end
        if at < len(text):
            yield Piece(text[at:])
        self._shown += len(text)


def pieces_of(verified: Verified) -> Iterator[Piece]:
    """Return the pieces of a verified answer, in their order."""
    text, at = verified.text, 0
    for (start, end), cited in groupby(verified.citations, key=lambda one: (one.start, one.end)):
        if start > at:
            yield Piece(text[at:start])
        yield Piece(text[start:end], tuple(cited))
        at = end
    if at < len(text):
        yield Piece(text[at:])
