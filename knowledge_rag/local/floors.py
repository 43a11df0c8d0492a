"""The evidence floors of the local knowledge base: scores under which a hit is no evidence.

Chosen by ``knowledge_rag.evaluation.floor`` on one half of the labelled questions and checked on
the other; ``docs/decisions/0016-retrieval-quality.md`` has the figures. They belong to this store's
scores: in AWS the same settings need values of their own.
"""

from __future__ import annotations

from typing import Final

from knowledge_rag.orchestrator.planning import Floors

EVIDENCE_FLOOR_HYBRID: Final = 0.157
"""For the weighted sum of cosine and keyword coverage, lowered where the question's words hardly
occur (``search.keyword_support``)."""

EVIDENCE_FLOOR_SEMANTIC: Final = 0.213
"""For the cosine, lowered likewise."""

ADVICE_FLOORS: Final = Floors(alert=0.45, question=0.20, sure=0.55)
"""Scores of the first query, in hybrid search, under which a section that is not filed under the alert's name
is no advice; ``docs/decisions/0019-procedures.md`` has the figures."""
