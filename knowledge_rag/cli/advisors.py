"""Which advisor writes, as the user chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.orchestrator.advisors.extractive import ExtractiveAdvisor

if TYPE_CHECKING:
    from knowledge_rag.cli.ask import AdvisorName
    from knowledge_rag.orchestrator.advisors.advisor import Advisor


def chosen_advisor(
    name: AdvisorName, *, model_id: str | None, agent: str | None, region: str | None
) -> Advisor:
    """Make the advisor.

    Raises:
        InvalidRequest: it needs an option that is missing.
    """
    if name == "extractive":
        return ExtractiveAdvisor()
    raise InvalidRequest(f"{name} {model_id} {agent} {region}")
