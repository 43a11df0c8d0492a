"""Every benchmark as a command: speed, retrieval, the checks of answers, drift; and all of them in one run."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.measure import ingest
from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.cli.reports import print_report
from knowledge_rag.cli.terminal import out, print_note
from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.evaluation.evaluation_corpus import Documents
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.local.knowledge_base import KnowledgeBase

MarkdownOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Markdown to chunk.  [default: the sample runbooks]"),
]
SizesOption = Annotated[
    list[int] | None,
    typer.Option("--size", min=100, max=1_000_000, help="Chunks; repeatable.  [default: 1,000; 10,000; 100,000]"),
]  # fmt: skip
SIZES = (1_000, 10_000, 100_000)


def chunking(
    docs: MarkdownOption = None,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; the best counts.")] = 3,
    json: JsonOption = False,
) -> None:
    """Chunk Markdown, with peers: speed, exactness, lines.

    Exits 1 if whole sections are not cut 8 times as fast as by langchain's header splitter, 20 times
    as fast as by llama-index, and as fast as by langchain's recursive splitter.
    """
    from benchmarks.speed.chunking import as_table, run_chunking_bench
    from knowledge_rag.core.files import shipped

    report = run_chunking_bench(docs or shipped("knowledge-corpus"), rounds=rounds)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached is not False)


def search(
    sizes: SizesOption = None,
    questions: Annotated[int, typer.Option(min=10, max=10_000, help="Asked at each size.")] = 100,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw how it grows, *.svg or *.png.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time a hybrid search, other products' searches, and the limit.

    It searches made-up chunks. Exits 1 if it takes over 2.08 times as long as reading every vector once, from 10,000 chunks on.
    """
    from benchmarks.speed.search import as_table, run_search_bench, write_search_plot
    from knowledge_rag.evaluation.evaluation_report import check_plot
    from knowledge_rag.local.settings import LocalSettings

    if plot is not None:
        check_plot(plot, LocalSettings.from_environment().cache_dir)
    report = run_search_bench(sorted(sizes or SIZES), questions)
    if plot is not None:
        write_search_plot(report, plot)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def embedding(
    turns: Annotated[int, typer.Option(min=10, max=100_000, help="Of each.")] = 300,
    json: JsonOption = False,
) -> None:
    """Time a question's embedding and its limit.

    The limit is the time of its matrix products alone. Exits 1 if the embedding takes over 1.3 times as long.
    """
    from benchmarks.speed.embedding import as_table, run_embedding_bench
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    report = run_embedding_bench(MiniLm(LocalSettings.from_environment()), turns)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def handler(
    calls: Annotated[int, typer.Option(min=10, max=100_000, help="Calls of each kind.")] = 1000,
    json: JsonOption = False,
) -> None:
    """Time a call of the function, compared with a raw boto3 call.

    Both call the same local server. Exits 1 if its median is over 1.05 of boto3's.
    """
    from benchmarks.speed.handler import as_table, run_handler_bench

    report = run_handler_bench(calls)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def coldstart(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds; the best counts.")] = 7,
    json: JsonOption = False,
) -> None:
    """Time the function's start, compared with that of a boto3 client.

    Each start is a fresh process. Exits 1 if it takes over 1.15 of boto3's processor time.
    """
    from benchmarks.speed.coldstart import as_table, run_coldstart_bench

    report = run_coldstart_bench(rounds)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def load(
    calls: Annotated[int, typer.Option(min=100, max=10_000_000, help="Calls in all.")] = 20_000,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads that share it.")] = 8,
    json: JsonOption = False,
) -> None:
    """Put load on the function and look for mixed-up answers.

    One call in ten has a fault. Exits 1 if an answer was wrong or another question's, or a log line was broken.
    """
    from benchmarks.speed.load import LoadSettings, as_table, run_load_bench

    report = run_load_bench(LoadSettings(calls, threads))
    print_report(report.to_dict() if json else as_table(report), passed=report.sound)


def console(
    kb: KbOption = None,
    asks: Annotated[int, typer.Option(min=5, max=10_000, help="Questions.")] = 60,
    json: JsonOption = False,
) -> None:
    """Time how soon the console shows the first text of an answer.

    Exits 1 if it takes over 300 ms at the median.
    """
    from benchmarks.speed.console import as_table, run_console_bench

    report = run_console_bench(kb, asks)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def page(
    kb: KbOption = None,
    loads: Annotated[int, typer.Option(min=1, max=100, help="Loads of the start page.")] = 5,
    json: JsonOption = False,
) -> None:
    """Measure the size and speed of the console's page in Chromium.

    Exits 1 if it is larger than 120 KB, its largest part is painted after a second, 10,000 documents are listed over
    300 ms after their data, or a letter of a search there takes over 50 ms.
    """
    from benchmarks.speed.page import as_table, run_page_bench

    report = run_page_bench(kb, loads)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


def guardrails(
    docs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR", help="Guidance to change; repeatable.  [default: the sample runbooks]"
        ),
    ] = None,
    claims: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Labelled claims, JSON Lines with evidence; repeatable."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Measure how well the support checks detect changed guidance.

    Each claim is guidance, unchanged or changed in one place. Exits 1 if they report under 95 % of the changed claims, or over 1 % of the true ones.
    """
    from benchmarks.guardrails.report import as_tables
    from benchmarks.guardrails.support import run_guardrails_bench
    from knowledge_rag.core.files import shipped

    report = run_guardrails_bench(docs or [shipped("knowledge-corpus")], claims or [])
    print_report(report.to_dict() if json else as_tables(report), passed=report.reached)


def train_claims(
    claims: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Labelled claims, JSON Lines.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the weights.")] = Path(
        "knowledge_rag/guardrails/support/weights.py"
    ),
    json: JsonOption = False,
) -> None:
    """Train the score of the support checks; measure each feature by cross-validation.

    The same claims give the same file, bit for bit.
    """
    from benchmarks.guardrails.training import ablation_table, ablations, dev_sets, source_of, whole

    sets = dev_sets(claims)
    rows = ablations(sets)
    out.write_text(source_of(whole(sets)), encoding="utf-8")
    print_report({"ablation": rows} if json else ablation_table(rows))


def dates(
    sentences: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled sentences, JSON Lines.  [default: our own]"),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; the best counts.")] = 3,
    json: JsonOption = False,
) -> None:
    """Find dates, with peers; time the source policy.

    The sentences are labelled with their dates. Exits 1 if a false date is found, under 95 % are found, or the policy takes 2 ms.
    """
    from benchmarks.dates import as_table, read_sentences, run_dates_bench
    from knowledge_rag.core.files import shipped

    own = sentences or shipped("tests/data/dates/sentences.jsonl")
    report = run_dates_bench(read_sentences(own), rounds=rounds)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


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
    from knowledge_rag.cli.reports import progress_bar

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
    from knowledge_rag.cli import measure
    from knowledge_rag.cli.reports import progress_bar
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    rows = measure.read_rows(datasets, limit, seed, with_alert=False)
    documents = measure.read_labelled(rows, docs, datasets).documents
    embedder = MiniLm(settings)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress) as opened,
    ):
        yield _Labelled(rows, documents, opened, embedder, progress)


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
