"""The agent's prompt, as it ships: in the wheel, or in the checkout it was made from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Final

from knowledge_rag.core.errors import KnowledgeRagError

PROMPT: Final = "prompts/knowledge-rag-agent.txt"
"""Read by the deployed agent and by whoever converses with a model alike."""


def agent_prompt() -> str:
    """Give the prompt's text.

    Raises:
        KnowledgeRagError: it is in neither place, so the installation is incomplete.
    """
    installed = Path(str(resources.files("knowledge_rag"))) / "_resources"
    for root in (installed, Path(__file__).parents[3]):
        if (root / PROMPT).is_file():
            return (root / PROMPT).read_text(encoding="utf-8")
    raise KnowledgeRagError(
        f"{PROMPT} is missing from this installation: install knowledge-rag anew"
    )
