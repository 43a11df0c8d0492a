"""``knowledge-rag bench peers``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.bench_output import show
from knowledge_rag.cli.options import JsonOption


def peers(
    datasets: Annotated[
        list[Path], typer.Argument(metavar="DATASET...", help="Labelled questions, JSON Lines.")
    ],
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The documents.  [default: docs/ beside the datasets]"),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask so many questions only, chosen by the seed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of that choice.")] = 0,
    json: JsonOption = False,
) -> None:
    """Ask labelled questions of this product and of others', with the same embeddings.

    Embeds all documents once for each way of cutting them, which takes minutes.
    """
    from knowledge_rag.cli import evaluating
    from knowledge_rag.cli.terminal import progress_bar
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.evaluation.peers_bench import as_table, run_peers_bench
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    rows = evaluating.read_rows(datasets, limit, seed, with_alert=False)
    documents = evaluating.read_documents(rows, docs, datasets)
    embedder = MiniLm(settings)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress) as opened,
        local_retrieval(opened) as ours,
    ):
        report = run_peers_bench(ours, rows, documents, embedder, progress)
    show(report.to_dict() if json else as_table(report))
