"""The advisor without a model: the procedures as their authors wrote them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.planning import plan_of

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident

NAME: Final = "extractive"


class ExtractiveAdvisor:
    """Hands over the procedures of the findings; the local default, and the fallback when a model fails.

    It writes no word of its own: each step is lines of a document, verbatim. What stands in a document
    is never followed, only quoted.
    """

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Return the procedures; deterministic, and never fails.

        Args:
            incident: what is known.
            findings: what retrieval gave for it; procedures are looked for if nobody has yet.
        """
        if findings.plan is None:
            findings = replace(findings, plan=plan_of(incident, findings))
        return Advice(None, findings, NAME)
