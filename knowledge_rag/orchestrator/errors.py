"""The failures of the orchestrator.

::

    KnowledgeRagError
    └── AdviceFailed                  an advisor could not write an answer; has a reason
        └── ModelFailed               a model or an agent (advisors/failures.py); has a coarse cause
"""

from __future__ import annotations

from knowledge_rag.core.errors import KnowledgeRagError


class AdviceFailed(KnowledgeRagError):  # noqa: N818 - named for what it is, as core's errors are
    """An advisor could not write an answer.

    Args:
        reason: one clause, for the log: what failed.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
