"""``knowledge-rag bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json

bench = typer.Typer(help="Measure speed against peers, all in one run.", no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure speed against peers, all in one run."""


@bench.command()
def chunking(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Markdown to chunk.  [default: the sample runbooks]"),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; the best counts.")] = 3,
    json: JsonOption = False,
) -> None:
    """Chunk Markdown with this product and with its peers: speed, exactness, lines."""
    from knowledge_rag.evaluation.chunking_bench import as_table, run_chunking_bench
    from knowledge_rag.local.resources import shipped

    report = run_chunking_bench(docs or shipped("knowledge-corpus"), rounds=rounds)
    if json:
        print_json(report.to_dict())
    else:
        out().print(as_table(report), markup=False)
