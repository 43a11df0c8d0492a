"""How often the guardrails warn of honest answers: documents' own lines, each chunk cited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.documents import cut
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.metrics import summarise
from knowledge_rag.guardrails.verify import Settings, verify
from knowledge_rag.local.corpus import find_documents, read_extracted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from knowledge_rag.guardrails.metrics import Metrics, Summary

CHUNKS = 5
"""Chunks that one answer is made of, as many as a query returns by default."""


def false_alarms(corpus: Path, settings: Settings | None = None) -> Summary:
    """Verify answers in which nothing is wrong, so that every warning is a false alarm.

    Args:
        corpus: a folder of documents.
        settings: of the guardrails.

    Returns:
        The figures over all answers: ``removed`` should be 0, and ``warning_rate`` small.
    """
    return summarise(list(_verified(corpus, settings or Settings())))


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
