"""Command that measures what `knowledge-rag drift` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import print_report


def drift(
    docs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders with Markdown.")],
    json: JsonOption = False,
) -> None:
    """Change commands and rename resources of real documents, and count what drift finds.

    Exits 1 if under 95 % of a kind is found on the half that chose nothing, or over 1 % of names
    that other repositories define.
    """
    from benchmarks.drift.mutants import as_table, run

    report = run(docs)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)
