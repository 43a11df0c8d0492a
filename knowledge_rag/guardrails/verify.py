"""Verifies an answer: the text that may be shown has citations from the ledger only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.checks import CheckSettings, check
from knowledge_rag.guardrails.draft import Draft
from knowledge_rag.guardrails.mentions import AnswerScanner
from knowledge_rag.guardrails.pieces import Cited

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knowledge_rag.guardrails.draft import Kind, Warned
    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.guardrails.resolve import Findings, Kept, Taken


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


DEFAULTS: Final = Settings()


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
        settings: marks and checks; DEFAULTS if omitted.
    """
    settings = settings or DEFAULTS
    scanner = AnswerScanner(ledger, mark=settings.mark)
    return conclude(scanner.close(answer), scanner.found, ledger, settings)


def conclude(text: str, found: Findings, ledger: Ledger, settings: Settings) -> Verified:
    """Return the result of a finished scan.

    Args:
        text: the scan's whole output.
        found: its findings.
        ledger: the one that it resolved references against.
        settings: the ones it ran with.
    """
    citations = tuple(cited for kept in found.kept for cited in cited_by(kept))
    removed = tuple(sorted(found.taken, key=lambda taken: taken.start))
    draft = Draft(
        text,
        references=tuple((kept.start, kept.end) for kept in found.kept),
        contents=tuple(tuple(it.content for it in kept.evidence) for kept in found.kept),
        unchecked=tuple(found.unchecked),
        code=tuple(found.code),
        removed=tuple(_where_removed(removed)),
        sources=len(ledger),
    )
    warnings = check(draft, settings.checks)
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


def cited_by(kept: Kept) -> tuple[Cited, ...]:
    """Return the citations of a remaining reference."""
    return tuple(
        Cited(kept.start, kept.end, evidence.number, evidence.citation, evidence.content)
        for evidence in kept.evidence
    )


def _where_removed(removed: Iterable[Taken]) -> Iterator[tuple[int, str]]:
    shift = 0
    for taken in removed:
        yield taken.start - shift, taken.text
        shift += taken.end - taken.start - len(taken.mark)
