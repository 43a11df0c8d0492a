"""The failures of the orchestrator.

::

    KnowledgeRagError
    ├── InvalidSettings
    │   └── MissingKey                a model's key isn't in the environment
    └── AdviceFailed                  an advisor could not write an answer; has a reason
        └── ModelFailed               a model or an agent (advisors/calls.py); has a coarse cause
            └── NoKey                 it wasn't asked, since its key isn't set
"""

from __future__ import annotations

from knowledge_rag.core.errors import InvalidSettings, KnowledgeRagError
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.retrieval import Findings


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


class MissingKey(InvalidSettings):
    """A model's provider needs a key that isn't in the environment."""


class NoKey(ModelFailed):
    """A model wasn't asked, since its key isn't set.

    Args:
        said: one clause for a person, with the name of the variable where it is known.
    """

    def __init__(self, said: str) -> None:
        super().__init__(Reason.CONFIGURATION, "no key")
        self.said = said
