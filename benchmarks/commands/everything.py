"""``python -m benchmarks all``: every benchmark that needs no labelled data, in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.table import Table

from benchmarks.commands.answers import dates, guardrails
from benchmarks.commands.retrieval import located
from benchmarks.commands.speed import chunking, coldstart, console, embedding, handler, search
from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.measure import ingest
from knowledge_rag.cli.terminal import out, print_note

if TYPE_CHECKING:
    from collections.abc import Callable

PASSED = "no aim missed"
BENCHMARKS = (
    chunking, embedding, ingest, search, handler, coldstart, guardrails, located, dates, console
)  # fmt: skip


def everything() -> None:
    """Run every benchmark once, with its defaults.

    Takes some minutes. Exits 1 if a target was missed or a benchmark failed.
    """
    outcomes = {benchmark.__name__: _outcome(benchmark) for benchmark in BENCHMARKS}
    table = Table("benchmark", "outcome", title="all in one run")
    for each in outcomes.items():
        table.add_row(*each)
    out().print(table)
    if set(outcomes.values()) != {PASSED}:
        raise typer.Exit(ExitCode.FINDINGS)


def _outcome(benchmark: Callable[[], None]) -> str:
    try:
        benchmark()
    except typer.Exit:
        return "an aim missed"
    except Exception as error:  # noqa: BLE001 - the other benchmarks still run
        print_note(f"{benchmark.__name__}:", f"{type(error).__name__}: {error}")
        return "not run"
    return PASSED
