"""Command that measures what `knowledge-rag drift` finds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.reports import print_report
from knowledge_rag.core.errors import InvalidRequest


def drift(
    docs: Annotated[list[Path], typer.Argument(metavar="DIR", help="Folders with Markdown.")],
    code: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Code of each DIR, in their order: change the figures of its alerts instead.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Change commands and rename resources of real documents, and count what drift finds.

    Exits 1 if under 95 % of a kind is found on the reported half, or over 1 % of names
    that other repositories define. With --code, there are no halves.
    """
    if code:
        from benchmarks.drift import agreement

        if len(code) != len(docs):
            raise InvalidRequest("--code: give one for each DIR")
        of_figures = agreement.run(zip(docs, code, strict=True))
        shown = of_figures.to_dict() if json else agreement.as_table(of_figures)
        print_report(shown, passed=of_figures.reached)
        return
    from benchmarks.drift.mutants import as_table, run

    report = run(docs)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)
