"""Verifies an answer while it is written, and splits it into text and references.

Unverified text never comes out. Code that shows an answer takes its references from the pieces and must
not search for brackets again: a second parser of references would be a second origin of citations.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.mentions import AnswerScanner
from knowledge_rag.guardrails.pieces import Piece
from knowledge_rag.guardrails.verify import DEFAULTS, cited_by, conclude

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.guardrails.resolve import Kept
    from knowledge_rag.guardrails.verify import Settings, Verified


class VerifiedStream:
    """Takes the fragments of an answer and returns the text that may be shown.

    Joined, the returned texts equal the text of :func:`~knowledge_rag.guardrails.verify.verify` for the
    whole. Text comes out word by word; an opening bracket waits until it is closed, its paragraph ends,
    or MAX_REFERENCE characters have come, and a document's name until AHEAD more have.

    Args:
        ledger: everything that retrieval returned for this request.
        settings: marks and checks; DEFAULTS if omitted.
    """

    def __init__(self, ledger: Ledger, settings: Settings | None = None) -> None:
        self._ledger = ledger
        self._settings = settings or DEFAULTS
        self._scanner = AnswerScanner(ledger, mark=self._settings.mark)
        self._sent: list[str] = []

    def feed(self, fragment: str) -> str:
        """Take the next fragment, of any length; return the text that may be shown now."""
        return self._show(self._scanner.feed(fragment))

    @property
    def kept(self) -> Sequence[Kept]:
        """The remaining references so far, in order."""
        return self._scanner.found.kept

    def close(self) -> tuple[str, Verified]:
        """End the answer; return the rest of the text that may be shown, and the result for the whole."""
        rest = self._show(self._scanner.close())
        return rest, conclude(
            "".join(self._sent), self._scanner.found, self._ledger, self._settings
        )

    def _show(self, text: str) -> str:
        self._sent.append(text)
        return text


class PieceStream:
    """Takes the fragments of an answer and returns the pieces that may be shown.

    They are those of :func:`pieces_of` for the whole, except that the text between two references may
    come in several pieces.

    Args:
        ledger: everything that retrieval returned for this request.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._stream = VerifiedStream(ledger)
        self._shown = 0
        self._references = 0

    def feed(self, fragment: str) -> tuple[Piece, ...]:
        """Take the next fragment, of any length; return the pieces that may be shown now."""
        return tuple(self._cut(self._stream.feed(fragment)))

    def close(self) -> tuple[tuple[Piece, ...], Verified]:
        """End the answer; return the rest of the pieces, and the result for the whole."""
        rest, verified = self._stream.close()
        return tuple(self._cut(rest)), verified

    def _cut(self, text: str) -> Iterator[Piece]:
        at, first = 0, self._shown
        for kept in self._stream.kept[self._references :]:
            cited = cited_by(kept)
            start, end = cited[0].start - first, cited[0].end - first
            if end > len(text):
                break  # the rest of it is still to come
            if start > at:
                yield Piece(text[at:start])
            yield Piece(text[start:end], cited)
            self._references += 1
            at = end
        if at < len(text):
            yield Piece(text[at:])
        self._shown += len(text)


def pieces_of(verified: Verified) -> Iterator[Piece]:
    """Return the pieces of a verified answer, in order."""
    text, at = verified.text, 0
    for (start, end), cited in groupby(verified.citations, key=lambda one: (one.start, one.end)):
        if start > at:
            yield Piece(text[at:start])
        yield Piece(text[start:end], tuple(cited))
        at = end
    if at < len(text):
        yield Piece(text[at:])
