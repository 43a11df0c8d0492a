"""What an examination says: one finding a fact, each with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.deployment.aws import Aws


class Status(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """A deployment can work, but not every one, or not well, or something costs money for nothing."""
    PROBLEM = "problem"
    """A deployment with these options can't work until it is put right."""
    UNKNOWN = "unknown"
    """It could not be found out."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact.

    Args:
        check: what was looked at.
        status: how bad it is.
        detail: what was found, without a full stop.
        action: what to do, one sentence; ``""`` where there is nothing to do.
        asked: whether AWS answered; false too for what only concerns this machine.
        skipped: whether it was not looked at, since something else stood in the way.
    """

    check: str
    status: Status
    detail: str
    action: str = ""
    asked: bool = True
    skipped: bool = False

    def to_dict(self) -> dict[str, str]:
        """Return the JSON form."""
        return {
            "check": self.check,
            "status": self.status.value,
            "detail": self.detail,
            "action": self.action,
        }


@dataclass(frozen=True, slots=True)
class PlannedDeployment:
    """What is examined."""

    aws: Aws
    name: str
    embedding_model: str
    agent_model: str
    agent_wanted: bool = False
