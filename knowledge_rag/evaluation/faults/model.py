"""A fault: its setup, and the promised behaviour when it occurs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.evaluation.faults.payloads import Context, direct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.evaluation.faults.scenario import Scenario

SetUp = Callable[["Scenario"], None]
"""Prepares the servers and the environment for a fault's calls."""

PERMANENT: Final = frozenset({Reason.ACCESS_DENIED, Reason.CONFIGURATION})
"""Reasons that no retry fixes; listed here and not taken from the code under test."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drop reasons for items that the knowledge base shouldn't contain; also listed independently."""


class CannotRun(KnowledgeRagError):  # noqa: N818 - named for what it is
    """This machine lacks something that a fault needs; the message says what."""


class Group(StrEnum):
    """Kinds of faults, in the order of the report."""

    ERRORS = "The service answers an error"
    CONNECTIONS = "No connection, or one that breaks"
    SLOWNESS = "The service is slow"
    BODIES = "A 200 that isn't an answer"
    RESULTS = "Results that can't be shown as they are"
    REUSED = "Kept connections"
    SURROUNDINGS = "Settings, credentials and code"
    REQUESTS = "The request"


@dataclass(frozen=True, slots=True)
class Expected:
    """The answer that the caller must get.

    Args:
        http: status code; the envelope's for an agent.
        status: of the retrieval; ``None`` for a refused request.
        reason: if degraded.
        evidence: content, citation and score of each result, in order.
        dropped: results not shown, by reason; ``None`` if not part of the promise.
        error: part of the message of a refused request.
        code: the failure's own name in the log, ``""`` if not part of the promise.
    """

    http: int = 200
    status: Status | None = None
    reason: Reason | None = None
    evidence: tuple[Mapping[str, Any], ...] = ()
    dropped: Mapping[DropReason, int] | None = None
    error: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the catalogue.

    Args:
        name: short, unique, easy to type.
        what: the fault in a few words.
        set_up: prepares it.
        expected: for every call while the fault lasts.
        group: its kind.
        event: for those calls, like ``context``.
        calls: number of calls.
        healthy_before: number of earlier calls, which must succeed.
        pause_seconds: between those and the calls during the fault.
        healthy_after: whether the next call must succeed; false if that takes another deployment or other
            credentials.
        connections: number that the server must have accepted in the end; ``None`` for any number.
        crashes: whether the function itself dies, so that only Lambda can report it.
        hook: the replacement for the real thing, shown with the row; ``""`` if there is none.
    """

    name: str
    what: str
    set_up: SetUp
    expected: Expected
    group: Group
    event: object = field(default_factory=direct)
    context: Context = field(default_factory=Context)
    calls: int = 1
    healthy_before: int = 0
    pause_seconds: float = 0.0
    healthy_after: bool = True
    connections: int | None = None
    crashes: bool = False
    hook: str = ""


def degrades(
    reason: Reason, code: str = "", dropped: Mapping[DropReason, int] | None = None
) -> Expected:
    """Promise an honest "could not be searched"."""
    return Expected(status=Status.DEGRADED, reason=reason, code=code, dropped=dropped)


def answers(
    *evidence: Mapping[str, Any], dropped: Mapping[DropReason, int] | None = None
) -> Expected:
    """Promise these results, in this order, and that those were dropped."""
    return Expected(status=Status.OK, evidence=evidence, dropped=dropped or {})


def refuses(http: int, error: str) -> Expected:
    """Promise a 4xx that says what is wrong, and no call to AWS."""
    return Expected(http=http, error=error)
