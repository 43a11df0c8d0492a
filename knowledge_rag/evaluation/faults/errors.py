"""Why a fault can't be played."""

from __future__ import annotations

from knowledge_rag.core.errors import KnowledgeRagError


class NotPlayable(KnowledgeRagError):  # noqa: N818 - named for what it is
    """This machine lacks what a fault is played with; the message says what."""
