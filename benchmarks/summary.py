"""Every benchmark in one run: a line each, beside what it aims at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rich.table import Table
from rich.text import Text

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType


class Report(Protocol):
    """What a benchmark gave."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        ...


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark.

    Args:
        run: gives its report.
        as_table: lays one out.
        figure: says in a few words what it came to.
        aim: what is aimed at, in a few words; ``""`` for nothing.
        limit: what stands in the way where it is missed, in a few words; ``""`` for nothing known.
    """

    run: Callable[[], Any]
    as_table: Callable[[Any], RenderableType]
    figure: Callable[[Any], str]
    aim: str = ""
    limit: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """A benchmark that was run.

    Args:
        name: of its command.
        bench: what was run.
        report: what it gave; ``None`` where it could not be run.
        problem: why it could not.
    """

    name: str
    bench: Bench
    report: Any = None
    problem: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether its aim was reached; ``None`` where it has none, or was not run."""
        found: bool | None = getattr(self.report, "reached", None)
        return found


def run_one(name: str, bench: Bench) -> Done:
    """Run a benchmark; one that fails costs no other one."""
    try:
        return Done(name, bench, bench.run())
    except Exception as error:  # noqa: BLE001 - told in its line; minutes of the others stay
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return Done(name, bench, problem=" ".join(problem.split()))


def as_dict(done: Sequence[Done]) -> dict[str, Any]:
    """Return the JSON form: by name each report, or its problem."""
    return {
        each.name: {"problem": each.problem} if each.report is None else each.report.to_dict()
        for each in done
    }


def as_table(done: Sequence[Done]) -> Table:
    """Lay the sum of all out for a terminal."""
    table = Table(title="all in one run; each has a command of its own with all its figures")
    for heading in ("bench", "came to", "aim", ""):
        table.add_column(heading)
    for each in done:
        if each.report is None:
            problem = Text(neutralise(each.problem), "yellow")
            table.add_row(each.name, problem, each.bench.aim, Text("not run", "yellow"))
        else:
            figure = each.bench.figure(each.report)
            table.add_row(each.name, figure, each.bench.aim, _verdict(each))
    return table


def _verdict(done: Done) -> Text:
    if done.reached is None:
        return Text("")
    if done.reached:
        return Text("reached", "green")
    return Text.assemble(("missed", "red"), f": {done.bench.limit}" if done.bench.limit else "")


def all_reached(done: Sequence[Done]) -> bool:
    """Whether every benchmark was run and none missed its aim."""
    return all(each.report is not None and each.reached is not False for each in done)
