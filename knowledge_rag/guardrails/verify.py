"""Verifies an answer, whole or while it is written: the text that may be shown cites the ledger only.

Unverified text never comes out. Code that shows an answer takes its references from the pieces and must
not search for brackets again: a second parser of references would be a second origin of citations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.checks import CheckSettings, Draft, check
from knowledge_rag.guardrails.ledger import Cited, Piece
from knowledge_rag.guardrails.mentions import AnswerScanner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.guardrails.resolve import Findings, Kept, Taken
    from knowledge_rag.guardrails.rules import Kind, Warned


@dataclass(frozen=True, slots=True)
class Settings:
    """How to verify.

    Args:
        mark: whether ``[unverified]`` replaces every removed reference, so that readers see where one
            was; otherwise it replaces only those that can't go without a mark.
        checks: settings for the checks of uncited text.
    """

    mark: bool = False
    checks: CheckSettings = field(default_factory=CheckSettings)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Figures of one answer.

    Args:
        words: in the answer that may be shown, without references.
        references: number of remaining references.
        removed: number of removed references.
        sources: number of sources that retrieval returned.
        sources_cited: how many of them the answer cites.
        warnings: number of each kind; kinds without any are absent.
    """

    words: int
    references: int
    removed: int
    sources: int
    sources_cited: int
    warnings: Mapping[Kind, int] = field(default_factory=dict)

    @property
    def density(self) -> float:
        """References per 100 words; 0.0 without words."""
        return 100 * self.references / self.words if self.words else 0.0

    @property
    def coverage(self) -> float:
        """Share of the sources that are cited, 0..1; 0.0 without sources."""
        return self.sources_cited / self.sources if self.sources else 0.0


@dataclass(frozen=True, slots=True)
class Verified:
    """A verified answer and its findings.

    Args:
        text: the answer that may be shown.
        citations: of its references, in order; a reference with several parts has several.
        removed: the removed references, with offsets in the answer as the model wrote it.
        warnings: for a person to check, with offsets in ``text``, in order.
        metrics: the figures of this answer.
    """

    text: str
    citations: tuple[Cited, ...]
    removed: tuple[Taken, ...]
    warnings: tuple[Warned, ...]
    metrics: Metrics


def verify(answer: str, ledger: Ledger, settings: Settings | None = None) -> Verified:
    """Verify an answer against the evidence of its request.

    Every remaining reference resolves to lines of the ledger; the others are removed, and no
    other character changes. Deterministic, and linear in the answer's length.

    Args:
        answer: as the model wrote it.
        ledger: everything that retrieval returned for this request.
        settings: marks and checks.
    """
    return VerifiedStream(ledger, settings).close(answer)[1]


class VerifiedStream:
    """Takes the fragments of an answer and returns the text that may be shown.

    Joined, the returned texts equal the text of :func:`verify` for the whole. Text comes out word by
    word; an opening bracket waits until it is closed, its paragraph ends, or MAX_REFERENCE characters
    have come, and a document's name until AHEAD more have.

    Args:
        ledger: everything that retrieval returned for this request.
        settings: marks and checks.
    """

    def __init__(self, ledger: Ledger, settings: Settings | None = None) -> None:
        self._ledger = ledger
        self._settings = settings or Settings()
        self._scanner = AnswerScanner(ledger, mark=self._settings.mark)
        self._sent: list[str] = []

    def feed(self, fragment: str) -> str:
        """Take the next fragment, of any length; return the text that may be shown now."""
        return self._show(self._scanner.feed(fragment))

    @property
    def kept(self) -> Sequence[Kept]:
        """The remaining references so far, in order."""
        return self._scanner.found.kept

    def close(self, fragment: str = "") -> tuple[str, Verified]:
        """Take the last of the answer; return the rest of the text, and the result for the whole."""
        rest = self._show(self._scanner.close(fragment))
        return rest, self._verified("".join(self._sent), self._scanner.found)

    def _show(self, text: str) -> str:
        self._sent.append(text)
        return text

    def _verified(self, text: str, found: Findings) -> Verified:
        citations = tuple(cited for kept in found.kept for cited in _cited_by(kept))
        removed = tuple(sorted(found.taken, key=lambda taken: taken.start))
        draft = Draft(
            text,
            references=tuple((kept.start, kept.end) for kept in found.kept),
            contents=tuple(tuple(it.content for it in kept.evidence) for kept in found.kept),
            unchecked=tuple(found.unchecked),
            code=tuple(found.code),
            removed=tuple(_where_removed(removed)),
            sources=len(self._ledger),
        )
        warnings = check(draft, self._settings.checks)
        kinds = Counter(warned.kind for warned in warnings)
        metrics = Metrics(
            words=draft.words,
            references=len(draft.references),
            removed=len(draft.removed),
            sources=draft.sources,
            sources_cited=len({cited.number for cited in citations}),
            warnings=dict(sorted(kinds.items())),
        )
        return Verified(text, citations, removed, warnings, metrics)


def _cited_by(kept: Kept) -> tuple[Cited, ...]:
    return tuple(
        Cited(kept.start, kept.end, evidence.number, evidence.citation, evidence.content)
        for evidence in kept.evidence
    )


def _where_removed(removed: Iterable[Taken]) -> Iterator[tuple[int, str]]:
    shift = 0
    for taken in removed:
        yield taken.start - shift, taken.text
        shift += taken.end - taken.start - len(taken.mark)


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
        return self._cut(self._stream.feed(fragment))

    def close(self) -> tuple[tuple[Piece, ...], Verified]:
        """End the answer; return the rest of the pieces, and the result for the whole."""
        rest, verified = self._stream.close()
        return self._cut(rest), verified

    def _cut(self, text: str) -> tuple[Piece, ...]:
        first, end = self._shown, self._shown + len(text)
        ready = [kept for kept in self._stream.kept[self._references :] if kept.end <= end]
        self._shown = end
        self._references += len(ready)
        return tuple(_pieces(text, first, map(_cited_by, ready)))


def pieces_of(verified: Verified) -> Iterator[Piece]:
    """Return the pieces of a verified answer, in order."""
    references = groupby(verified.citations, key=lambda one: (one.start, one.end))
    return _pieces(verified.text, 0, (tuple(cited) for _, cited in references))


def _pieces(text: str, first: int, references: Iterable[tuple[Cited, ...]]) -> Iterator[Piece]:
    """Cut a part of an answer that begins at offset ``first`` at the references in it."""
    at = 0
    for cited in references:
        start, end = cited[0].start - first, cited[0].end - first
        if start > at:
            yield Piece(text[at:start])
        yield Piece(text[start:end], cited)
        at = end
    if at < len(text):
        yield Piece(text[at:])
