"""Commands that ask labelled questions, of parts of the search and of other products."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import print_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.local.knowledge_base import KnowledgeBase

DatasetsArgument = Annotated[
    list[Path], typer.Argument(metavar="DATASET...", help="Labelled questions, JSON Lines.")
]
DocsOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The documents.  [default: docs/ beside the datasets]"),
]
SeedOption = Annotated[int, typer.Option(help="Of that choice.")]
_LIMIT_HELP = "Ask so many questions only, chosen by the seed."


def retrieval(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: Annotated[int | None, typer.Option(min=2, help=_LIMIT_HELP)] = None,
    seed: SeedOption = 0,
    again: Annotated[
        bool,
        typer.Option(
            "--vectors",
            help="Say what the context brings to vectors, too: embeds all again, takes minutes.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure what each part of the search brings.

    Asks labelled questions in every way; counted is the half that no setting was chosen on.
    """
    from benchmarks.retrieval.ablation import run_ablation
    from benchmarks.retrieval.ablation_table import as_tables

    with _labelled(datasets, docs, limit, seed) as given:
        index = given.knowledge_base.index
        done = run_ablation(index, given.embedder, given.rows, again=again, progress=given.progress)
    print_report(done.to_dict() if json else as_tables(done))


def alerts(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help=_LIMIT_HELP)] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare answers to labelled alerts with what the alerts' authors wrote.

    Asks each with its name, without it, and with a link to the right file; then without its own project.
    Exits 1 if a citation is not exact.
    """
    from benchmarks.answers.alerts import as_tables, run_alerts

    with _labelled(datasets, docs, limit, seed, alerts_only=True) as given:
        report = run_alerts(
            given.knowledge_base, given.embedder, given.rows, given.reader, given.progress
        )
    print_report(report.to_dict() if json else as_tables(report), passed=not report.missed)


def peers(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help=_LIMIT_HELP)] = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Ask labelled questions of this product and of others'.

    All use the same embeddings. Embeds all documents once for each way of cutting them, which takes minutes.
    """
    from benchmarks.retrieval.peers import as_table, run_peers_bench
    from knowledge_rag.local.local_retrieval import local_retrieval

    with (
        _labelled(datasets, docs, limit, seed) as given,
        local_retrieval(given.knowledge_base) as ours,
    ):
        report = run_peers_bench(
            ours, given.rows, given.reader.documents, given.embedder, given.progress
        )
    print_report(report.to_dict() if json else as_table(report))


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Questions, and the knowledge base of the documents that answer them."""

    rows: tuple[Row, ...]
    reader: CitationCheck
    knowledge_base: KnowledgeBase
    embedder: MiniLm
    progress: Progress


@contextmanager
def _labelled(
    datasets: list[Path],
    docs: Path | None,
    limit: int | None,
    seed: int,
    *,
    alerts_only: bool = False,
) -> Iterator[_Labelled]:
    from knowledge_rag.cli.eval import read_labelled
    from knowledge_rag.cli.terminal import progress_bar
    from knowledge_rag.core.errors import InvalidRequest
    from knowledge_rag.evaluation.datasets import load_datasets, sample
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    questions = [row for row in load_datasets(datasets) if row.alert or not alerts_only]
    if not questions:
        raise InvalidRequest("no question here names an alert")
    rows = sample(questions, limit, seed)
    reader = read_labelled(rows, docs, datasets)
    embedder = MiniLm(settings)
    with (
        progress_bar() as progress,
        ingested(reader.documents, settings.cache_dir, embedder, progress) as opened,
    ):
        yield _Labelled(rows, reader, opened, embedder, progress)
