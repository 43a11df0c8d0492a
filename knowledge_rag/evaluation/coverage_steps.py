"""What an agent would be told to do when an alert fires: the real advice, and whose steps it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.orchestrator.consultation import consult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.evaluation.coverage_runbooks import Runbook
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.retrieval import Retrieval

NAMED: Final = 3
"""Citations that a message names at most."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a recommendation for an alert.

    Args:
        own: how many cite lines of the alert's own runbook.
        elsewhere: what the others cite, in order, each once.
        reason: why a query could not be answered; more steps may be known then.
    """

    own: int
    elsewhere: tuple[Citation, ...] = ()
    reason: Reason | None = None

    @property
    def are_missing(self) -> bool:
        """Whether all was searched, and the runbook gives no step."""
        return not self.own and self.reason is None

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form; ``reason`` is absent where all was searched."""
        told: dict[str, Any] = {
            "own": self.own,
            "elsewhere": [citation.to_dict() for citation in self.elsewhere],
        }
        return told if self.reason is None else {**told, "reason": self.reason.value}


async def steps_of(incident: Incident, runbook: Runbook, retrieval: Retrieval) -> Steps:
    """Consult as ``knowledge-rag ask`` does, and count the steps that the runbook gives.

    Args:
        incident: what an agent is told.
        runbook: the alert's own.
        retrieval: the way to the knowledge base.
    """
    given = await consult(incident, retrieval)
    own = 0
    elsewhere: dict[Citation, None] = {}
    for step in given.recommendation.guidance:
        cited = [lines.citation for lines in step.citations]
        if any(map(runbook.may_say, cited)):
            own += 1
        else:
            elsewhere.update(dict.fromkeys(cited))
    failures = given.findings.failures
    return Steps(own, tuple(elsewhere), failures[0] if failures else None)


def without_steps(alert: str, runbook: Runbook, steps: Steps) -> str:
    """Say that a runbook is found and gives no step."""
    gives = "`knowledge-rag ask` gives none at all"
    if steps.elsewhere:
        gives = f"`knowledge-rag ask` gives those of {named(steps.elsewhere)}"
    return f"alert {alert} finds {runbook.named}, and no step to take in it; {gives}"


def named(citations: Sequence[Citation]) -> str:
    """Name the first citations of a list."""
    return ", ".join(map(_lines, citations[:NAMED]))


def _lines(citation: Citation) -> str:
    first, last = citation.start_line, citation.end_line
    lines = f"line {first}" if first == last else f"lines {first}-{last}"
    return f"{citation.source_file} {lines}"
