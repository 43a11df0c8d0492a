"""What a query gave, as text for a model: each passage below its source, or an honest sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.outcome import RetrievalOutcome


def to_text(outcome: RetrievalOutcome) -> str:
    """Give an outcome as text.

    Args:
        outcome: of one query.

    Returns:
        In the outcome's order, each result's reference in the form that an answer cites it with,
        ``[Source: runbooks/rds.md, lines 5-10]``, and below it the lines as they are; or the
        sentence for no match or for a search that could not be carried out, with its reason.
        Retrieval's notice stands first.
    """
    return "\n\n".join(_parts(outcome))


def _parts(outcome: RetrievalOutcome) -> Iterator[str]:
    if outcome.notice:
        yield f"Notice: {outcome.notice}"
    if outcome.status is Status.NO_MATCH:
        yield NO_MATCH
    elif outcome.status is Status.DEGRADED:
        yield f"{UNREACHABLE} Reason: {outcome.reason}."
    for result in outcome.results:
        yield f"{result.citation}\n{result.content}"
