"""The advisor without a model: steps, commands and checks as the retrieved lines have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.advisors.past import past_of
from knowledge_rag.orchestrator.advisors.selection import choose
from knowledge_rag.orchestrator.advisors.writing import AnswerWriter
from knowledge_rag.orchestrator.confidence import told_of
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

NAME: Final = "extractive"


class ExtractiveAdvisor:
    """Lifts guidance from evidence; the local default, and what is left when a model fails.

    It writes no word of its own: each step is lines of a document, word for word, and each
    reference the narrowest one for them. What stands in a document is never followed, only quoted.
    """

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Write an answer; deterministic, and never fails.

        Args:
            incident: what is known.
            findings: what retrieval gave for it.
        """
        return Advice(write(incident, findings), findings, NAME)


def write(incident: Incident, findings: Findings) -> str:
    """Give the answer's text: steps, then similar incidents; or that there is nothing."""
    if findings.status is not Status.OK:
        return UNREACHABLE if findings.failures else NO_MATCH
    writer = AnswerWriter(findings.ledger)
    for step in choose(findings, incident):
        writer.add_step(step)
    for name, resolution in past_of(findings, incident, told_of(incident)):
        writer.add_past(resolution, name)
    return writer.text.lstrip("\n") or NO_MATCH
