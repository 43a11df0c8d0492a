"""How often the guardrails warn of honest answers: documents' own lines, each chunk cited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.documents import cut
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.verify import Settings, verify
from knowledge_rag.local.corpus import find_documents, read_extracted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowledge_rag.guardrails.verify import Metrics


CHUNKS = 5
"""Chunks that one answer is made of, as many as a query returns by default."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of many honest answers.

    Args:
        answers: how many.
        citation_rate: share that cites any source, 0..1.
        removed: references removed, in all.
        warning_rate: share with a warning, 0..1.
    """

    answers: int
    citation_rate: float
    removed: int
    warning_rate: float


def false_alarms(corpus: Path, settings: Settings | None = None) -> Summary:
    """Verify answers without any mistake: every warning is a false alarm.

    Args:
        corpus: a folder of documents.
        settings: of the guardrails.

    Returns:
        The figures over all answers: ``removed`` should be 0, and ``warning_rate`` small.
    """
    metrics = list(_verified(corpus, settings or Settings()))
    return Summary(
        answers=len(metrics),
        citation_rate=sum(one.references > 0 for one in metrics) / len(metrics),
        removed=sum(one.removed for one in metrics),
        warning_rate=sum(bool(one.warnings) for one in metrics) / len(metrics),
    )


def _verified(corpus: Path, settings: Settings) -> Iterator[Metrics]:
    for file in find_documents(corpus):
        pieces = cut(read_extracted(file))
        for first in range(0, len(pieces), CHUNKS):
            results = [
                RetrievalResult(piece.content, piece.citation, None)
                for piece in pieces[first : first + CHUNKS]
            ]
            answer = "\n\n".join(f"{one.content}\n\n{one.citation}" for one in results)
            yield verify(answer, Ledger.of(results), settings).metrics
