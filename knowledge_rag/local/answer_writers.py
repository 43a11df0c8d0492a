"""Who writes the text of a local answer, honestly from what retrieval returned; no model runs here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS, Query
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

AnswerWriter = Callable[[str, Sequence[RetrievalOutcome]], str]
"""From the question and what its queries gave to the text of the answer."""


def extracted(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
    """Write down the procedures of the results, as the advisor without a model hands them over."""
    # only now: most who use the local server never ask it for an answer
    from knowledge_rag.orchestrator.composition import state  # noqa: PLC0415
    from knowledge_rag.orchestrator.findings import Asked, Findings  # noqa: PLC0415
    from knowledge_rag.orchestrator.incident import Incident  # noqa: PLC0415
    from knowledge_rag.orchestrator.showing import counted_line, pieces_of  # noqa: PLC0415

    query = Query(question[:MAX_QUERY_CHARACTERS] if question.strip() else "?")
    findings = Findings(tuple(Asked(query, outcome) for outcome in outcomes))
    given = state(Incident.from_state({"incident": question}), findings, "extractive")
    if given.status is not Status.OK:
        return UNREACHABLE if given.status is Status.DEGRADED else NO_MATCH
    return "".join(piece.text for piece in pieces_of(given, findings.ledger, counted_line))
