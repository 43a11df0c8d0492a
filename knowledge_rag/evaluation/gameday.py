"""Game day: every known fault against the real function, in one run.

Each row of the catalogue is played by real sockets to the real handler with unmodified botocore.
What came of it is held against what is promised, and the metrics that it emitted against the alarms.
Other clients can be met with the same faults, to see what they make of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.net.deadline import RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.evaluation.faults.catalogue import CATALOGUE, named
from knowledge_rag.evaluation.faults.crew import NotPlayed, play_all
from knowledge_rag.evaluation.faults.promises import Broken
from knowledge_rag.evaluation.faults.targets import Target
from knowledge_rag.evaluation.gameday_alarms import QUERIES_A_MINUTE, Fired, fired_by, wanted_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.player import Played

Progress = Callable[[int, int, str], None]
"""Told how many rows are over, of how many, and against whom they are played."""


@dataclass(frozen=True, slots=True)
class Row:
    """One fault, what came of it, and what it would set off.

    Args:
        fault: that was played.
        played: what came of it; ``None`` where it could not be played.
        not_played: why not, else ``""``.
        fired: the alarms.
        broken: promises that were not kept.
    """

    fault: Fault
    played: Played | None
    not_played: str = ""
    fired: Fired = field(default_factory=Fired)
    broken: tuple[Broken, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        played = self.played.to_dict() if self.played else {"name": self.fault.name}
        return played | {
            "group": self.fault.group.value,
            "what": self.fault.what,
            "not_played": self.not_played,
            "alarms_at_once": sorted(self.fired.at_once),
            "alarms": sorted(self.fired.lasting),
            "broken": [
                {"promise": one.promise, "expected": one.expected, "seen": one.seen}
                for one in self.broken
            ],
        }


@dataclass(frozen=True, slots=True)
class GameDay:
    """All rows played to one target.

    Args:
        target: to whom.
        rows: in the catalogue's order.
        seconds: that the whole took.
    """

    target: Target
    rows: tuple[Row, ...]
    seconds: float

    @property
    def kept(self) -> bool:
        """Whether every promise was kept; a row that could not be played keeps none."""
        return not any(row.broken or row.not_played for row in self.rows)

    @property
    def worst_seconds(self) -> float:
        """Seconds of the slowest call that met a fault."""
        return max((row.played.seconds for row in self.rows if row.played), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "target": self.target.value,
            "kept": self.kept,
            "budget_seconds": RETRIEVAL_BUDGET_SECONDS,
            "worst_seconds": round(self.worst_seconds, 3),
            "seconds": round(self.seconds, 1),
            "queries_a_minute": QUERIES_A_MINUTE,
            "rows": [row.to_dict() for row in self.rows],
        }


def chosen(names: Sequence[str], targets: Sequence[Target]) -> tuple[Fault, ...]:
    """Give the rows to play, in the catalogue's order.

    Args:
        names: of rows; none for all.
        targets: to whom; other clients than the function can only be met on the wire.

    Raises:
        InvalidRequest: there is no row of a name.
    """
    wanted = {named(name).name for name in names}
    wire_only = any(target is not Target.FUNCTION for target in targets)
    return tuple(
        fault
        for fault in CATALOGUE
        if (not wanted or fault.name in wanted) and (fault.group.on_the_wire or not wire_only)
    )


def run_gameday(faults: Sequence[Fault], target: Target, progress: Progress) -> GameDay:
    """Play rows to one target.

    Args:
        faults: to be played.
        target: to whom.
        progress: is told how far it is.
    """
    count, lock = _Count(), threading.Lock()

    def over(_name: str) -> None:
        with lock:
            count.done += 1
            progress(count.done, len(faults), target.value)

    progress(0, len(faults), target.value)
    started = time.monotonic()
    results = play_all(faults, target, over)
    rows = tuple(_row(fault, result, target) for fault, result in zip(faults, results, strict=True))
    return GameDay(target, rows, time.monotonic() - started)


@dataclass(slots=True)
class _Count:
    done: int = 0


def _row(fault: Fault, result: Played | NotPlayed, target: Target) -> Row:
    if isinstance(result, NotPlayed):
        return Row(fault, None, result.why)
    if target is not Target.FUNCTION:
        return Row(fault, result)
    fired = fired_by(result)
    return Row(fault, result, "", fired, (*result.broken, *_silent(result, fault, fired)))


def _silent(played: Played, fault: Fault, fired: Fired) -> list[Broken]:
    wanted = wanted_for(fault, played.reason)
    return [
        Broken(f"the alarms that fire {when}", _keys(expected), _keys(seen))
        for when, expected, seen in (
            ("on the first call", wanted.at_once, fired.at_once),
            ("if it lasts", wanted.lasting, fired.lasting),
        )
        if expected != seen
    ]


def _keys(keys: frozenset[str]) -> str:
    return ", ".join(sorted(keys)) or "none"
