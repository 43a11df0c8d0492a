"""Lays the figures of the support checks out for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table

from benchmarks.guardrails.report import MAX_FALSE_ALARMS, MIN_RECALL
from benchmarks.guardrails.verify_timing import MAX_VERIFY_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.guardrails.report import CheckRow, GuardrailsReport


def as_tables(report: GuardrailsReport) -> Group:
    """Return a table of the ways claims were made, one of the checks, and one of each file of claims."""
    timing, verifying = report.timing, report.verify_timing
    tables = [
        _families(report),
        _checks("each check alone, on the same half", report.checks),
        *(_checks(name, rows) for name, rows in report.claims.items()),
    ]
    return Group(
        *tables,
        f"recall {report.recall:.1%} (at least {MIN_RECALL:.0%}), false alarms"
        f" {report.false_alarms:.2%} (at most {MAX_FALSE_ALARMS:.0%}); negation, edits of"
        " meaning and claims that cite a whole chunk are not counted",
        f"1,000 words of claims: {timing.own_lines_ms:.1f} ms against their own lines,"
        f" {timing.chunks_ms:.1f} ms against chunks of {timing.evidence_words:,} words",
        f"verify, 1,000 words with {verifying.references} references: {verifying.short_ms:.2f} ms,"
        f" in an answer of 10,000 words {verifying.long_ms:.2f} ms"
        f" (aim: at most {MAX_VERIFY_MS:g} ms)",
    )


def _families(report: GuardrailsReport) -> Table:
    title = f"guidance of {report.documents} documents, the half that chose nothing"
    table = _table(
        title, "claims", "say what their lines say", "cases", "alarms", "negation warned"
    )
    for row in report.families:
        says = "yes" if row.supported else "no"
        table.add_row(row.family, says, str(row.cases), f"{row.alarms:.1%}", f"{row.warned:.1%}")
    return table


def _checks(title: str, rows: Sequence[CheckRow]) -> Table:
    table = _table(title, "check", "caught", "of", "false", "of", "precision", "recall")
    for row in rows:
        table.add_row(
            row.check,
            str(row.caught),
            str(row.unsupported),
            str(row.false),
            str(row.supported),
            _percent(row.precision),
            _percent(row.recall),
        )
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
