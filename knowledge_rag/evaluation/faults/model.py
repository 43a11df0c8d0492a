"""A fault: how it is set up, and what is promised when it strikes."""

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
"""Prepares the servers and the environment in which the calls of a fault are made."""

PERMANENT: Final = frozenset({Reason.ACCESS_DENIED, Reason.CONFIGURATION})
"""Reasons that no retry mends; stated here and not taken from the code under test."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drops that mean that the knowledge base holds what it should not; likewise."""


class CannotRun(KnowledgeRagError):  # noqa: N818 - named for what it is
    """This machine lacks what a fault needs; the message says what."""


class Group(StrEnum):
    """What kind of thing goes wrong, in the order of the report."""

    ERRORS = "The service answers an error"
    CONNECTIONS = "No connection, or one that breaks"
    SLOWNESS = "The service is slow"
    BODIES = "A 200 that is no answer"
    RESULTS = "Results that may not be shown as they are"
    REUSED = "Kept connections"
    SURROUNDINGS = "Settings, credentials and code"
    REQUESTS = "The request"


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller must be answered.

    Args:
        http: status code; the envelope's for an agent.
        status: of the retrieval; ``None`` for a refused request.
        reason: when degraded.
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
        expected: of every call while the fault lasts.
        group: what kind it is.
        event: of those calls, as is ``context``.
        calls: how many are made.
        healthy_before: calls made first, which must succeed.
        pause_seconds: between those and the calls that meet the fault.
        healthy_after: whether the very next call must succeed; false where it takes another
            deployment or other credentials.
        connections: that the server must have seen in the end; ``None`` for any number.
        crashes: whether the function itself dies, so that only Lambda can report it.
        hook: what stands in for the real thing, shown with the row; ``""`` if nothing.
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
