"""Reports with tables, on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import typer
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.terminal import out, print_json

if TYPE_CHECKING:
    from rich.console import RenderableType

_FRAME: Final = 3
"""Columns of a table's column for its line and the blanks around it."""


def print_report(report: dict[str, Any] | RenderableType, *, passed: bool = True) -> None:
    """Print JSON or text; exit 1 if a target was missed."""
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
    """Let the headings of figures break between words before the names beside them break anywhere."""
    names = [column for column in table.columns if column.justify == "left"]
    if len(names) != 1:
        return
    texts = {id(it): [str(it.header), *map(str, it.cells)] for it in table.columns}
    longest_words = {
        it: max((cell_len(word) for text in cells for word in text.split()), default=1)
        for it, cells in texts.items()
    }
    own = id(names[0])
    least = longest_words.pop(own)
    taken = sum(longest_words.values()) + _FRAME * len(table.columns) + 1
    names[0].width = max(least, min(max(map(cell_len, texts[own])), width - taken))
