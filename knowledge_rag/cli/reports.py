"""Reports with tables, on standard output."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer
from rich.cells import cell_len
from rich.console import Group
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.terminal import err, out, print_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import RenderableType
    from rich.progress import Task, TaskID

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


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a progress bar on standard error while the block runs; nothing if it isn't a terminal."""
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(compact=True),
    )
    console = err()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        tasks: dict[str, TaskID] = {}

        def show(done: int, total: int, phase: str) -> None:
            # a bar for each phase: embedding restarts with each batch, and reading continues in parallel
            if phase not in tasks:
                tasks[phase] = bar.add_task(phase)
            bar.update(tasks[phase], completed=done, total=total)

        yield show


class _Rate(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="progress.data.speed")
