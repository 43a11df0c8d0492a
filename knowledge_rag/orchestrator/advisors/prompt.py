"""The agent's prompt, as it ships: in the wheel, or in the checkout it was made from."""

from __future__ import annotations

from typing import Final

from knowledge_rag.core.resources import shipped

PROMPT: Final = "prompts/knowledge-rag-agent.txt"
"""Read by the deployed agent and by whoever converses with a model alike."""


def agent_prompt() -> str:
    """Give the prompt's text.

    Raises:
        KnowledgeRagError: it is in neither place, so the installation is incomplete.
    """
    return shipped(PROMPT).read_text(encoding="utf-8")
