"""Errors of the orchestrator.

::

    KnowledgeRagError
    ├── InvalidSettings
    │   └── MissingKey                a model's key isn't in the environment
    └── AdviceFailed                  an advisor could not write an answer; has a reason
        └── ModelFailed               a model or an agent (advisors/calls.py); has a coarse cause
            └── NotAsked              it wasn't asked, and a person can change that
                ├── NoKey             its key isn't set
                └── LimitReached      the daily limit on model costs is reached
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
    """A model or an agent returned no usable answer.

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


class NotAsked(ModelFailed):
    """A model wasn't asked.

    Args:
        said: one clause for a person.
        detail: for the log.
    """

    def __init__(self, said: str, detail: str) -> None:
        super().__init__(Reason.CONFIGURATION, detail)
        self.said = said


class NoKey(NotAsked):
    """A model wasn't asked, since its key isn't set; ``said`` names the variable if it is known."""

    def __init__(self, said: str) -> None:
        super().__init__(said, "no key")


class LimitReached(NotAsked):
    """A model wasn't asked, since the call may cost more than is left of the day's limit."""

    def __init__(self, said: str) -> None:
        super().__init__(said, "the day's limit")
