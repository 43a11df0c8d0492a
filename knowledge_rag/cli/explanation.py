"""Shows how results came into their order: the rank before, the rank after, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

_HEADINGS = ("before", "after", "source", "dates", "lines", "why")
_NUMBERS = 2
"""Columns that are set to the right."""


def show_explanation(
    console: Console, explanation: Mapping[str, Any], *, one_document: bool = False
) -> None:
    """Show the ``explanation`` of an answer for a person.

    Of the results that are not shown, only those are listed that would be without the policy.

    Args:
        console: where to.
        explanation: of the answer.
        one_document: whether one was asked for, whose lines no policy rearranges.
    """
    if "order" not in explanation:
        order = "document's lines" if one_document else "knowledge base"
        console.print(f"policy {explanation['policy']}: the order is that of the {order}")
        return
    asked = "asks for a date" if explanation["date_related"] else "does not ask for a date"
    today = f", today is {explanation['today']}" if explanation["date_related"] else ""
    console.print(f"policy {explanation['policy']}: the question {asked}{today}", style="bold")
    entries: Sequence[Mapping[str, Any]] = explanation["order"]
    shown = sum(entry["shown"] for entry in entries)
    listed = [entry for entry in entries if entry["shown"] or entry["before"] <= shown]
    for line in _table([_HEADINGS, *map(_cells, listed)]):
        console.print(neutralise(line))
    if len(listed) < len(entries):
        console.print(f"and {len(entries) - len(listed)} more behind them", style="dim")


def _cells(entry: Mapping[str, Any]) -> tuple[str, ...]:
    citation = Citation(**entry["citation"])
    where = f"{citation.source_file}:{citation.start_line}-{citation.end_line}"
    dates = ", ".join(entry["dates"]) or "-"
    after = str(entry["after"]) if entry["shown"] else "cut"
    return str(entry["before"]), after, entry["source_kind"], dates, where, entry["why"]


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = (
            cell.rjust(width) if column < _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
