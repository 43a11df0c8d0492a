"""What every command shows things with."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Plain(Console):
    """Shows text as it stands: nothing in it is markup, an emoji's name or a number to colour.

    Lines are never wrapped, so that they can be piped.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__(
            file=file,
            soft_wrap=True,
            highlight=False,
            markup=False,
            emoji=False,
            color_system=None if os.environ.get("NO_COLOR") else "auto",
        )

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # which the command line knows how to end with


def out() -> Console:
    """Give the console for results."""
    return _Plain(sys.stdout)


def err() -> Console:
    """Give the console for everything that is no result."""
    return _Plain(sys.stderr)


def tell(kind: str, message: str) -> None:
    """Print one line on standard error: what kind of thing is to be told, then the thing."""
    err().print(Text.assemble((kind, "yellow"), " ", neutralise(" ".join(message.split()))))


def print_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Print one JSON document on one line; non-ASCII is escaped, so any terminal is safe."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar on standard error while the block runs; nothing where that is no terminal."""
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = err()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(done: int, total: int, phase: str) -> None:
            bar.update(task, description=phase, completed=done, total=total)

        yield show
