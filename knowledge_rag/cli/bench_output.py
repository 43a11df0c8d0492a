"""Prints what a benchmark gave, and exits as its aim says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.terminal import out, print_json

if TYPE_CHECKING:
    from rich.table import Column

_FRAME: Final = 3
"""Columns of a terminal that a table's column takes for its line and the blanks around it."""


def show(report: dict[str, Any] | Table | Group, *, passed: bool = True) -> None:
    """Print JSON or a table; exit 1 where an aim was missed."""
    if isinstance(report, dict):
        print_json(report)
    else:
        console = out()
        for part in report.renderables if isinstance(report, Group) else [report]:
            if isinstance(part, Table):
                make_room_for_names(part, console.width)
        console.print(report)
    if not passed:
        raise typer.Exit(ExitCode.FINDINGS)


def make_room_for_names(table: Table, width: int) -> None:
    """Let the headings of figures break between words before the names beside them break anywhere.

    Args:
        table: with one column of names; any other is left as it is.
        width: of the terminal, in columns.
    """
    names = [column for column in table.columns if column.justify == "left"]
    if len(names) != 1:
        return
    figures = [column for column in table.columns if column is not names[0]]
    taken = sum(map(_longest_word, figures)) + _FRAME * len(table.columns) + 1
    longest = max(map(cell_len, _texts(names[0])))
    names[0].width = max(_longest_word(names[0]), min(longest, width - taken))


def _longest_word(column: Column) -> int:
    return max((cell_len(word) for text in _texts(column) for word in text.split()), default=1)


def _texts(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]
