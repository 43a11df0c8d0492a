"""Whole answers to labelled alerts, laid out for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.answers_alerts import (
    ALL,
    LINKED,
    NAMED,
    NEAR_MISS_RUNS,
    RUNS,
    UNNAMED,
)
from knowledge_rag.evaluation.answers_report import goals_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.evaluation.answers_alerts import AlertsReport

_RUNS: Final = {
    NAMED: "alerts with their names",
    UNNAMED: "alerts without their names",
    LINKED: "alerts with their names and a link",
}
_COMPLETENESS: Final = (
    "first: the first step is from the author's place; lost: no step; lines, code: action lines shown, "
    "mean over {measured} alerts that have some; whole: at least 90 % of them; "
    "own: shown lines that are from the author's place"
)


def as_tables(report: AlertsReport) -> Group:
    """Lay a report out: completeness by run, near misses, confidence, the targets."""
    parts: list[Table | Text] = []
    for table in _tables(report):
        parts += [table, Text()]
    parts += [goals_table(report.goals)]
    if report.missed:
        parts += [Text(), Text(f"missed: {', '.join(report.missed)}", style="red")]
    return Group(*parts)


def _tables(report: AlertsReport) -> Iterator[Table]:
    for run in RUNS:
        yield _completeness(report, run)
    if report.near:
        yield _near_misses(report)
    yield _confidence(report)
    if report.reliability:
        yield _reliability(report)


def _completeness(report: AlertsReport, run: str) -> Table:
    figures = ("of", "first", "lost", "lines", "code", "whole", "own")
    table = _table(_RUNS[run], "dataset", *figures)
    found = report.completeness(run)
    table.caption = _COMPLETENESS.format(measured=found[ALL].measured)
    for name, of_it in found.items():
        shares = [of_it.first, of_it.lost, of_it.lines, of_it.code, of_it.whole, of_it.precision]
        table.add_row(neutralise(name), str(of_it.alerts), *map(_share, shares))
    return table


def _near_misses(report: AlertsReport) -> Table:
    table = _table("near misses: asked without their project", "project", "run", "asked", "steps", "share")  # fmt: skip
    for run in NEAR_MISS_RUNS:
        for project, found in report.near_misses(run).items():
            share = found.given / found.asked if found.asked else None
            table.add_row(
                neutralise(project), run, str(found.asked), str(found.given), _share(share)
            )
    return table


def _confidence(report: AlertsReport) -> Table:
    table = _table("confidence: AUROC, right against wrong first step", "run", "AUROC")
    for run in NEAR_MISS_RUNS:
        found = report.auroc(run)
        table.add_row(run, "-" if found is None else f"{found:.3f}")
    return table


def _reliability(report: AlertsReport) -> Table:
    table = _table(
        "strength of the evidence", "strength", "run", "answers", "right", "right and whole", "near misses"
    )  # fmt: skip
    for found in report.reliability:
        table.add_row(
            neutralise(found.strength),
            found.run,
            str(found.answers),
            _share(found.right),
            _share(found.whole),
            str(found.near_misses),
        )
    return table


def _table(title: str, name: str, *figures: str) -> Table:
    table = Table(title=title)
    table.add_column(name, overflow="fold")
    for heading in figures:
        table.add_column(heading, justify="right")
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
