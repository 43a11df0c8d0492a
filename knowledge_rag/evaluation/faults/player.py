"""Plays one fault and says what came of it."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.evaluation.faults.events import Context, direct
from knowledge_rag.evaluation.faults.model import UNPROVEN
from knowledge_rag.evaluation.faults.promises import Broken, broken_by, take_apart
from knowledge_rag.evaluation.faults.stage import HEALTHY_ANSWER, Stage
from knowledge_rag.evaluation.faults.targets import ask_function, ask_other, other_client
from lambdas.retrieve_knowledge import service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.promises import Told
    from knowledge_rag.evaluation.faults.targets import Heard, Passages, Target

AT_ONCE_SECONDS: Final = 1.0
"""A healthy call after a fault takes some milliseconds; on a busy machine, this at most."""


_NOTHING_TO_SHOW: Final = (Reason.UNVERIFIABLE_RESULTS, Reason.GUARDRAIL)
"""Reasons for which there were results, none of which may be shown."""


@dataclass(frozen=True, slots=True)
class Played:
    """What came of one row.

    Args:
        name: of the fault.
        seconds: that the slowest call took which met the fault.
        answer: what the caller got: ``timeout``, ``ok, 2 results``, ``400``, an exception's name...
        status: of the retrieval, ``""`` where there is none.
        reason: of a degraded one.
        http: status code, 0 where there was no answer.
        metrics: one EMF record a call that met the fault, without its envelope.
        crashed: whether the function died, which Lambda counts.
        broken: promises that were not kept.
        misled: how a reader would be misled by the answer, ``""`` if not.
        hook: what stood in for the real thing.
    """

    name: str
    seconds: float
    answer: str
    status: str = ""
    reason: str = ""
    http: int = 0
    metrics: tuple[dict[str, Any], ...] = ()
    crashed: bool = False
    broken: tuple[Broken, ...] = ()
    misled: str = ""
    hook: str = ""

    @property
    def late(self) -> bool:
        """Whether it broke a promise about time."""
        return any(one.timing for one in self.broken)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Played:
        """Take it from JSON."""
        broken = tuple(Broken(**one) for one in values["broken"])
        return cls(**values | {"broken": broken, "metrics": tuple(values["metrics"])})


def play(fault: Fault, target: Target, *, own_network: bool = False) -> Played:
    """Play one fault in this process, whose environment and service it takes over.

    Args:
        fault: to be played.
        target: to whom.
        own_network: whether this process has stepped into :mod:`own_network`.

    Raises:
        NotPlayable: this machine lacks what it takes.
    """
    service.reset()
    lasting = not target.promises  # others may retry as they like: what if it is no passing fault?
    with (
        tempfile.TemporaryDirectory() as folder,
        Stage(Path(folder), own_network=own_network, lasting=lasting) as at,
    ):
        fault.play(at)
        at.enter()
        try:
            if target.promises:
                _start_up(at)
                return _to_function(fault, at)
            return _to_other(fault, target)
        finally:
            service.reset()


def _start_up(stage: Stage) -> None:
    # As Lambda's init does it, before any query and outside its budget.
    if not stage.command:
        with suppress(InvalidSettings):
            service.service().client.prepare()


def _to_function(fault: Fault, stage: Stage) -> Played:
    broken: list[Broken] = []
    for _ in range(fault.healthy_before):
        broken += _healthy(fault, stage, "a healthy call before")
    time.sleep(fault.pause_seconds)
    heard = [ask_function(fault, stage) for _ in range(fault.calls)]
    for one in heard:
        broken += broken_by(fault, one, fault.expected)
    stage.mend()
    stage.enter()
    if fault.healthy_after:
        broken += _healthy(fault, stage, "the next call is healthy")
    broken += _connections(fault, stage)
    return _summary(fault, stage, heard, broken)


def _healthy(fault: Fault, stage: Stage, promise: str) -> Iterator[Broken]:
    plain = replace(fault, event=direct(), context=Context(), expected=HEALTHY_ANSWER)
    heard = ask_function(plain, stage)
    if heard.seconds > AT_ONCE_SECONDS:
        at_once, seen = f"within {AT_ONCE_SECONDS} s", f"after {heard.seconds:.2f} s"
        yield Broken(promise, at_once, seen, timing=True)
    for broken in broken_by(plain, heard, HEALTHY_ANSWER):
        yield replace(broken, promise=f"{promise}: {broken.promise}")


def _connections(fault: Fault, stage: Stage) -> Iterator[Broken]:
    seen = stage.server.connections if stage.server else 0
    if fault.connections not in (None, seen):
        yield Broken("connections made", str(fault.connections), str(seen))


def _summary(fault: Fault, stage: Stage, heard: list[Heard], broken: list[Broken]) -> Played:
    slowest = max(heard, key=lambda one: one.seconds)
    if slowest.raised:
        return Played(
            fault.name,
            slowest.seconds,
            "the function dies" if fault.crashes else slowest.raised[:60],
            crashed=fault.crashes,
            broken=tuple(broken),
        )
    calls = [take_apart(fault, one) for one in heard]
    body = calls[0].body
    return Played(
        fault.name,
        slowest.seconds,
        _in_words(calls[0]),
        str(body.get("status", "")),
        str(body.get("reason", "")),
        calls[0].http,
        tuple(_values(record) for call in calls for record in call.metrics),
        broken=tuple(broken),
        hook=_hook(fault, stage),
    )


def _hook(fault: Fault, stage: Stage) -> str:
    replaced = fault.own_network and not stage.own_network
    return "socket.getaddrinfo replaced: no namespaces here" if replaced else fault.hook


def _in_words(told: Told) -> str:
    if "error" in told.body:
        return f"{told.http}: {told.body['error']}"
    if told.body.get("status") == Status.DEGRADED:
        return f"degraded: {told.body.get('reason')}"
    count = len(told.body.get("results", ()))
    return f"{told.body.get('status')}, {count} result{'s' * (count != 1)}"


def _values(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "_aws"}


def _to_other(fault: Fault, target: Target) -> Played:
    client = other_client(target)
    for _ in range(fault.healthy_before):
        ask_other(client)
    time.sleep(fault.pause_seconds)
    calls = [ask_other(client) for _ in range(fault.calls)]
    slowest = max(calls, key=lambda call: call.seconds)
    answer = slowest.raised or _found(len(slowest.texts))
    return Played(fault.name, slowest.seconds, answer, misled=_misled(fault, slowest))


def _found(count: int) -> str:
    return f"{count} passage{'s' * (count != 1)}" if count else "success, nothing found"


def _misled(fault: Fault, passages: Passages) -> str:
    """Say how a reader would take a client's answer for something that it is not."""
    expected, count = fault.expected, len(passages.texts)
    if passages.raised:
        return ""  # an exception is honest
    if expected.reason in _NOTHING_TO_SHOW:
        return f"{count} shown that may not be" if count else ""
    if expected.status is Status.DEGRADED:
        return "" if count else "an outage reads as nothing documented"
    unproven = sum(n for reason, n in (expected.dropped or {}).items() if reason in UNPROVEN)
    wrong = min(count - len(expected.evidence), unproven)
    return f"{wrong} unprovable shown as found" if wrong > 0 else ""
