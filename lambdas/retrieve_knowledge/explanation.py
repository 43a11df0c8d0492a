"""How the results came into their order, for a caller who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.core.metadata import DATES
from knowledge_rag.core.policy_settings import SourcePolicy

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.policy import Placement
    from knowledge_rag.core.retrieval import Retrieval


def explanation(retrieval: Retrieval, outcome: RetrievalOutcome) -> dict[str, Any]:
    """Say where each candidate stood, where it stands, and why.

    Args:
        retrieval: what the query gave.
        outcome: what of it the caller gets.

    Returns:
        ``policy``; with one that is on, also ``date_related``, ``today`` and ``order``: an entry for
        each candidate with ``citation``, ``before`` and ``after`` (ranks from 1), ``shown``,
        ``source_kind``, ``timing``, ``dates`` and ``why``. ``off`` means that no policy ordered these
        results: the order is Retrieve's, or that of the lines of the one document that was asked for.
    """
    arrangement = retrieval.arrangement
    if arrangement is None:
        return {"policy": SourcePolicy.OFF.value}
    shown = {result.citation for result in outcome.results}
    return {
        "policy": SourcePolicy.WEBSITE_FIRST.value,
        "date_related": arrangement.dated,
        "today": arrangement.today.isoformat(),
        "order": [
            _entry(placement, shown=placement.result.citation in shown)
            for placement in arrangement.placements
        ],
    }


def _entry(placement: Placement, *, shown: bool) -> dict[str, Any]:
    return {
        "citation": placement.result.citation.to_dict(),
        "before": placement.before,
        "after": placement.after,
        "shown": shown,
        "source_kind": placement.kind.value,
        "timing": placement.timing.value,
        "dates": placement.result.metadata.get(DATES, []),
        "why": placement.why,
    }
