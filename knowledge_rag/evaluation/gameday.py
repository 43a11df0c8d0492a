"""Game day: every known fault against the real function, in one run.

Each row of the catalogue reaches the real handler over real sockets with unmodified botocore, and the emitted
metrics reach the alarms.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_rag.core import telemetry
from knowledge_rag.core.net.deadline import RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.faults.run import CATALOGUE, Broken, named, run_all
from knowledge_rag.evaluation.gameday_alarms import QUERIES_A_MINUTE, Fired, fired_by, wanted_for
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from knowledge_rag.evaluation.faults.run import FaultResult
    from knowledge_rag.evaluation.faults.scenario import Fault
    from knowledge_rag.local.ingest import Progress


@dataclass(frozen=True, slots=True)
class Row:
    """One fault, its outcome, the alarms that it would fire, and the broken promises."""

    fault: Fault
    result: FaultResult
    fired: Fired = field(default_factory=Fired)
    broken: tuple[Broken, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        fields = asdict(self.result)
        not_run = fields.pop("not_run")
        return ({"name": self.fault.name} if not_run else fields) | {
            "group": self.fault.group.value,
            "what": self.fault.what,
            "hook": self.fault.hook,
            "not_played": not_run,
            "alarms_at_once": sorted(self.fired.at_once),
            "alarms": sorted(self.fired.lasting),
            "broken": [
                {"promise": one.promise, "expected": one.expected, "seen": one.seen}
                for one in self.broken
            ],
        }


@dataclass(frozen=True, slots=True)
class GameDay:
    """The rows of a run, and its duration in seconds."""

    rows: tuple[Row, ...]
    seconds: float

    @property
    def kept(self) -> bool:
        """Whether every promise was kept; a fault that could not be run keeps none."""
        return not any(row.broken or row.result.not_run for row in self.rows)

    @property
    def worst_seconds(self) -> float:
        """Seconds of the slowest call during a fault."""
        return max((row.result.seconds for row in self.rows), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "kept": self.kept,
            "budget_seconds": RETRIEVAL_BUDGET_SECONDS,
            "worst_seconds": round(self.worst_seconds, 3),
            "seconds": round(self.seconds, 1),
            "queries_a_minute": QUERIES_A_MINUTE,
            "rows": [row.to_dict() for row in self.rows],
        }


def chosen(names: Sequence[str]) -> tuple[Fault, ...]:
    """Return the named faults, or all, in the catalogue's order.

    Raises:
        InvalidRequest: a name isn't in the catalogue.
    """
    wanted = {named(name).name for name in names}
    return tuple(fault for fault in CATALOGUE if not wanted or fault.name in wanted)


def run_gameday(faults: Sequence[Fault], progress: Progress) -> GameDay:
    """Run faults against the function.

    A fault that is answered late is run again on its own, and the second run counts: a stalling machine is not the
    function's fault, but being late twice is.
    """
    started = time.monotonic()
    first = run_all(faults, lambda done: progress(done, len(faults), "faults"))
    rows = tuple(
        _row(fault, run_all([fault], lambda _: None)[0] if result.late else result)
        for fault, result in zip(faults, first, strict=True)
    )
    return GameDay(rows, time.monotonic() - started)


def _row(fault: Fault, result: FaultResult) -> Row:
    if result.not_run:
        return Row(fault, result)
    fired = fired_by(result)
    return Row(fault, result, fired, (*result.broken, *_wrong_alarms(fault, fired)))


def _wrong_alarms(fault: Fault, fired: Fired) -> Iterator[Broken]:
    wanted = wanted_for(fault)
    for when, expected, seen in (
        ("on the first call", wanted.at_once, fired.at_once),
        ("if it lasts", wanted.lasting, fired.lasting),
    ):
        if expected != seen:
            yield Broken(f"the alarms that fire {when}", _keys(expected), _keys(seen))


def _keys(keys: frozenset[str]) -> str:
    return ", ".join(sorted(keys)) or "none"


_FAILURES: Final = {
    telemetry.RETRIEVAL_ERRORS: "errors",
    telemetry.RETRIEVAL_PERMANENT_ERRORS: "permanent",
    telemetry.RETRIEVAL_TIMEOUTS: "timeouts",
    telemetry.RETRIEVAL_GUARDRAIL_INTERVENED: "guardrail",
    telemetry.RETRIEVAL_DROPPED_RESULTS: "dropped",
    telemetry.RETRIEVAL_ZERO_RESULTS: "zero",
}
"""Metrics to show if they are not 0; count and latency come with every answer."""

_LEGEND: Final = (
    "metrics: counted in addition to the query itself, of KnowledgeRetrieval...",
    f"alarms: if the fault lasted, at {QUERIES_A_MINUTE} queries a minute; ! on the very first one",
)
_WIDTHS: Final = {"fault": 22, "s": 4}
_SHARES: Final = {"answer": 28, "metrics": 17, "alarms": 24}
"""Widths of the rest of the line: everything usual fits in 100 columns."""


def as_table(day: GameDay) -> RenderableType:
    """Lay out a game day of the function for a terminal."""
    parts: list[RenderableType] = []
    for name, rows in groupby(day.rows, key=lambda row: row.fault.group):
        table = _grid(f"{name}", "fault", "s", "answer", "metrics", "alarms")
        for row in rows:
            is_bad = row.broken or row.result.not_run
            table.add_row(*_cells(row), style="bold red" if is_bad else None)
        parts += [table, Text()]
    return Group(*parts, *map(Text, (*_LEGEND, *problems(day), "", summary(day))))


def as_list(faults: Sequence[Fault]) -> RenderableType:
    """List faults with their descriptions."""
    table = _grid("", "fault", "what goes wrong")
    for fault in faults:
        table.add_row(fault.name, fault.what)
    return table


def problems(day: GameDay) -> Iterator[str]:
    """Yield a line for each broken promise, and each fault that could not be run."""
    for row in day.rows:
        if row.result.not_run:
            yield f"{row.fault.name}: not run: {row.result.not_run}"
        for one in row.broken:
            seen = neutralise(one.seen)
            yield f"{row.fault.name}: {one.promise}: expected {one.expected}, seen {seen}"


def summary(day: GameDay) -> str:
    """Return the result of a game day in one line."""
    broken = sum(bool(row.broken) for row in day.rows)
    not_run = sum(bool(row.result.not_run) for row in day.rows)
    kept = f"{broken} broke a promise" if broken else "every promise kept"
    missing = f", {not_run} not run" if not_run else ""
    return (
        f"{counted(len(day.rows), 'fault')}; {kept}{missing}; "
        f"slowest call {day.worst_seconds:.2f} s; {day.seconds:.0f} s in all"
    )


def _cells(row: Row) -> tuple[str, ...]:
    name, result = row.fault.name, row.result
    if result.not_run:
        return name, "", f"not run: {result.not_run}", "", ""
    answer = neutralise(result.answer) + (f" ({row.fault.hook})" if row.fault.hook else "")
    return name, f"{result.seconds:.2f}", answer, _metrics(result), _alarms(row)


def _metrics(result: FaultResult) -> str:
    record = result.metrics[0] if result.metrics else {}
    found = [(word, record.get(name, [0])[0]) for name, word in _FAILURES.items()]
    return ", ".join(word if n == 1 else f"{word} {n:.0f}" for word, n in found if n)


def _alarms(row: Row) -> str:
    at_once = row.fired.at_once
    keys = sorted(row.fired.lasting, key=lambda key: (key not in at_once, key))
    return " ".join(f"{key}!" if key in at_once else key for key in keys)


def _grid(title: str, *headings: str) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.expand = set(_SHARES) <= set(headings)
    for heading in headings:
        table.add_column(
            heading,
            justify="right" if heading == "s" else "left",
            width=_WIDTHS.get(heading),
            ratio=_SHARES.get(heading) if table.expand else None,
            no_wrap=heading in _WIDTHS,
            overflow="fold",
        )
    return table
