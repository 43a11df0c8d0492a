"""The failures of the orchestrator.

::

    KnowledgeRagError
    └── AdviceFailed                  an advisor could not write an answer; has a reason
        └── ModelFailed               a model or an agent (advisors/calls.py); has a coarse cause
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.orchestrator.retrieval import Findings

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import Reason


class AdviceFailed(KnowledgeRagError):  # noqa: N818 - named for what it is, as core's errors are
    """An advisor could not write an answer.

    Args:
        reason: one clause, for the log: what failed.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelFailed(AdviceFailed):
    """A model or an agent wrote no answer that can be used.

    Args:
        detail: one clause for the log; quotes neither the incident nor the answer.
    """

    def __init__(self, cause: Reason, detail: str, found: Findings | None = None) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause = cause
        self.detail = detail
        self.found = found or Findings()
