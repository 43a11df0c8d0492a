"""A fault: how it is played, and what is promised when it strikes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypedDict

from knowledge_rag.core.outcome import DropReason, Reason, Status
from knowledge_rag.evaluation.faults.events import Context, direct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.evaluation.faults.stage import Stage

Play = Callable[["Stage"], None]
"""Sets the stage on which the calls of a fault are made."""


PERMANENT: Final = frozenset({Reason.ACCESS_DENIED, Reason.CONFIGURATION})
"""Reasons that no retry mends. As FAULTS has it, and not taken from the code that is tried."""

UNPROVEN: Final = frozenset({DropReason.NOT_TEXT, DropReason.NO_CITATION, DropReason.NOT_PROVEN})
"""Drops that mean that the knowledge base holds what it should not; likewise."""


class Group(StrEnum):
    """What kind of thing goes wrong; also the order in which a game day is shown."""

    ERRORS = "The service answers an error"
    CONNECTIONS = "No connection, or one that breaks"
    SLOWNESS = "The service is slow"
    BODIES = "A 200 that is no answer"
    RESULTS = "Results that may not be shown as they are"
    KEPT = "Kept connections"
    SURROUNDINGS = "Settings, credentials and code"
    REQUESTS = "The request"

    @property
    def on_the_wire(self) -> bool:
        """Whether a server plays it, so that any client of the service can be tried."""
        return self not in (Group.SURROUNDINGS, Group.REQUESTS)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller must be answered.

    Args:
        http: status code of the answer; the envelope's for an agent.
        status: of the retrieval; ``None`` for a refused request.
        reason: when degraded.
        evidence: content, citation and score of each result, in order.
        dropped: results not shown, by reason; ``None`` where that is not part of the promise.
        error: part of what a refused request is told.
        code: the failure's own name in the log, ``""`` where that is not part of the promise.
        or_timeout: whether ``timeout`` will do as well, for what takes megabytes to find out: on a slow
            machine the deadline comes first, and says so.
    """

    http: int = 200
    status: Status | None = None
    reason: Reason | None = None
    evidence: tuple[Mapping[str, Any], ...] = ()
    dropped: Mapping[DropReason, int] | None = None
    error: str = ""
    code: str = ""
    or_timeout: bool = False

    def given(self, reason: str) -> Expected:
        """Give what is expected once the answer's reason is known."""
        if self.or_timeout and reason == Reason.TIMEOUT:
            return degrades(Reason.TIMEOUT)
        return self


@dataclass(frozen=True, slots=True)
class Fault:
    """One row of the catalogue.

    Args:
        name: short, unique, easy to type.
        group: what kind it is.
        what: the fault in a sentence, as FAULTS has it.
        play: sets the stage.
        expected: of every call while the fault lasts.
        event: of those calls.
        context: of those calls.
        calls: how many are made.
        healthy_before: calls made first, which must succeed.
        pause_seconds: between those and the calls that meet the fault.
        healthy_after: whether the very next call must succeed; false where it takes another
            deployment or other credentials.
        connections: that the server must have seen in the end, ``None`` for any number.
        own_network: whether it needs a resolver that can be told what to answer.
        crashes: whether the function itself dies, so that only Lambda can tell.
        hook: what stands in for the real thing, said wherever the row is shown; ``""`` if nothing.
    """

    name: str
    group: Group
    what: str
    play: Play
    expected: Expected
    event: object = field(default_factory=direct)
    context: Context = field(default_factory=Context)
    calls: int = 1
    healthy_before: int = 0
    pause_seconds: float = 0.0
    healthy_after: bool = True
    connections: int | None = None
    own_network: bool = False
    crashes: bool = False
    hook: str = ""


class Details(TypedDict, total=False):
    """What a row may say beyond its name, play and expectation; see :class:`Fault`."""

    event: object
    context: Context
    calls: int
    healthy_before: int
    pause_seconds: float
    healthy_after: bool
    connections: int | None
    own_network: bool
    crashes: bool
    hook: str


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
