"""Commands that measure speed, compared with other products and with limits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption
from knowledge_rag.cli.reports import print_report

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
    from benchmarks.speed.search import as_table, run_search_bench
    from benchmarks.speed.search_plot import write_search_plot
    from knowledge_rag.evaluation.evaluation_plot import check_plot
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
