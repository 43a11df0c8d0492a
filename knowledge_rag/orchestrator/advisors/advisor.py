"""Who gives the guidance: one interface for a Bedrock agent, a model, and none at all.

A model writes an *answer* in Markdown, in the format that prompts/knowledge-rag-agent.txt asks for:
numbered steps, each with its reference behind it, ``[Source: file, lines a-b]``. What its references
stand for is looked up in the evidence, by :func:`knowledge_rag.orchestrator.composition.recommend`.
Without a model the advice is the procedures themselves, as data, and no text is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.incident import Incident


@dataclass(frozen=True, slots=True)
class Advice:
    """What an advisor gives.

    Args:
        text: Markdown as a model wrote it, not verified; ``None`` for the procedures as they are.
        findings: the evidence it was written from: what the advisor was given, or, for one that
            searches itself (a Bedrock agent), what it found.
        advisor: the name of who wrote it: ``extractive``, ``converse``, ``bedrock-agent``.
    """

    text: str | None
    findings: Findings
    advisor: str


class Advisor(Protocol):
    """Writes guidance for an incident."""

    async def advise(self, incident: Incident, findings: Findings) -> Advice:
        """Write an answer.

        Args:
            incident: what is known.
            findings: what retrieval gave for it; their ledger's numbers and lines are what the
                answer may refer to. An advisor that searches itself ignores them.

        Raises:
            AdviceFailed: it could not write one.
        """
        ...
