"""Commands that measure parts of the search, and compare other products, with labelled questions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.reports import print_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import Documents
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
SeedOption = Annotated[int, typer.Option(help="Seed of that choice.")]
_LIMIT_HELP = "Ask only so many questions, chosen by the seed."
LimitOption = Annotated[int | None, typer.Option(min=1, help=_LIMIT_HELP)]


def retrieval(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: Annotated[int | None, typer.Option(min=2, help=_LIMIT_HELP)] = None,
    seed: SeedOption = 0,
    again: Annotated[
        bool,
        typer.Option(
            "--vectors",
            help="Measure the gain of the context for vectors too: embeds all again, takes minutes.",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Measure the gain of each part of the search.

    Asks labelled questions with every part; figures are of the half that no setting was chosen on.
    """
    from benchmarks.retrieval.ablation import as_tables, run_ablation

    with _labelled(datasets, docs, limit, seed) as given:
        index = given.knowledge_base.index
        done = run_ablation(index, given.embedder, given.rows, again=again, progress=given.progress)
    print_report(done.to_dict() if json else as_tables(done))


def peers(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Compare this product with others on labelled questions.

    All use the same embeddings. Embeds all documents once per chunker, which takes minutes.
    """
    from benchmarks.retrieval.peers import as_table, run_peers_bench
    from knowledge_rag.local.local_retrieval import local_retrieval

    with (
        _labelled(datasets, docs, limit, seed) as given,
        local_retrieval(given.knowledge_base) as ours,
    ):
        report = run_peers_bench(ours, given.rows, given.documents, given.embedder, given.progress)
    print_report(report.to_dict() if json else as_table(report))


def skills(
    datasets: DatasetsArgument,
    docs: DocsOption = None,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Ask for the skills of labelled alerts, by their text without and with their names; make all skills twice.

    Exits 1 if an answer has over 500 tokens or a list of skills over 2,000, or if a skill's digest differs when it is made again.
    """
    from tokenizers import Tokenizer

    from benchmarks.retrieval.skills import as_table, run_skills_bench
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.local.model_files import read_tokenizer
    from knowledge_rag.local.settings import LocalSettings

    tokenizer = Tokenizer.from_buffer(read_tokenizer(LocalSettings.from_environment()))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with (
        _labelled(datasets, docs, limit, seed) as given,
        local_retrieval(given.knowledge_base) as ours,
    ):
        report = run_skills_bench(
            ours, given.knowledge_base.path, given.rows, tokenizer, given.progress
        )
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def clients(json: JsonOption = False) -> None:
    """Run other clients of the service against the faults of `knowledge-rag gameday`.

    Each has 35 s. Takes some minutes.
    """
    from benchmarks.clients import as_table, run_clients_bench
    from knowledge_rag.cli.progress import progress_bar

    with progress_bar() as progress:
        report = run_clients_bench(progress)
    print_report(report.to_dict() if json else as_table(report))


def located(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Markdown and text.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Locate passages that other chunkers cut.

    Exits 1 if under 99.5 % are located at exactly their lines, any at wrong ones, a changed passage is located, or
    an answer of ten passages takes over 10 ms (p95) with 2,000 documents in the cache.
    """
    from benchmarks.retrieval.located import as_table, run_located_bench
    from knowledge_rag.core.files import shipped

    report = run_located_bench(docs or shipped("knowledge-corpus"))
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Questions, and the knowledge base of the documents that answer them."""

    rows: tuple[Row, ...]
    documents: Documents
    knowledge_base: KnowledgeBase
    embedder: MiniLm
    progress: Progress


@contextmanager
def _labelled(
    datasets: list[Path], docs: Path | None, limit: int | None, seed: int
) -> Iterator[_Labelled]:
    from knowledge_rag.cli import eval as evaluating
    from knowledge_rag.cli.progress import progress_bar
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    rows = evaluating.read_rows(datasets, limit, seed, with_alert=False)
    documents = evaluating.read_labelled(rows, docs, datasets).documents
    embedder = MiniLm(settings)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress) as opened,
    ):
        yield _Labelled(rows, documents, opened, embedder, progress)
