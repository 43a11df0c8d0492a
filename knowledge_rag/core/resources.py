"""Files that ship with the product: in the wheel, or in its checkout."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from knowledge_rag.core.errors import KnowledgeRagError


def shipped(name: str) -> Path:
    """Return the path of a shipped file or folder, e.g. ``"knowledge-corpus"``.

    Raises:
        KnowledgeRagError: it is in neither place, so the installation is incomplete.
    """
    for root in (
        Path(str(resources.files("knowledge_rag"))) / "_resources",
        Path(__file__).parents[2],
    ):
        if (root / name).exists():
            return root / name
    raise KnowledgeRagError(
        f"{name} is missing from this installation: reinstall it from its wheel or checkout"
    )
