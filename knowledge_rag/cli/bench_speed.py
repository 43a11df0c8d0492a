"""``knowledge-rag bench search``, ``embedding``, ``ingest``, ``console``, and ``all`` in one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.bench_output import show
from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, KbOption, MarkdownOption
from knowledge_rag.cli.terminal import out, print_json, progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.evaluation.bench_summary import Bench
    from knowledge_rag.local.embeddings import MiniLm

SizesOption = Annotated[
    list[int] | None,
    typer.Option("--size", min=100, max=1_000_000, help="Chunks; repeatable.  [default: 1,000; 10,000; 100,000]"),
]  # fmt: skip
PlotOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Draw how it grows, *.svg or *.png.")
]
_SIZES = (1_000, 10_000, 100_000)


def search(
    sizes: SizesOption = None,
    questions: Annotated[int, typer.Option(min=10, max=10_000, help="Asked at each size.")] = 100,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Time a hybrid search beside others' and its limit.

    It searches made-up chunks. Exits 1 if it takes over 2.08 times as long as reading every vector once, from 10,000 chunks on.
    """
    from knowledge_rag.evaluation.search_bench import as_table, run_search_bench
    from knowledge_rag.evaluation.search_plot import write_search_plot

    _check_plot(plot)
    report = run_search_bench(sorted(sizes or _SIZES), questions)
    if plot is not None:
        write_search_plot(report, plot)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


def embedding(
    turns: Annotated[int, typer.Option(min=10, max=100_000, help="Of each.")] = 300,
    json: JsonOption = False,
) -> None:
    """Time a question's embedding beside its limit.

    That is the products of its matrices alone. Exits 1 if it takes over 1.3 times as long.
    """
    from knowledge_rag.evaluation.embedding_bench import as_table, run_embedding_bench

    report = run_embedding_bench(_model(), turns)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


def ingest(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="To ingest.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time an ingest, and a second one that changes nothing.

    Exits 1 if under 90 % of the first is the embedding model's, or the second embeds anything.
    """
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation.ingest_bench import as_table, run_ingest_bench

    report = run_ingest_bench(docs or shipped("knowledge-corpus"), _model())
    show(report.to_dict() if json else as_table(report), passed=report.reached)


def console(
    kb: KbOption = None,
    asks: Annotated[int, typer.Option(min=5, max=10_000, help="Questions.")] = 60,
    json: JsonOption = False,
) -> None:
    """Time how soon the console shows the first text of an answer.

    Exits 1 if it takes over 300 ms at the median.
    """
    from knowledge_rag.evaluation.console_bench import as_table, run_console_bench

    report = run_console_bench(kb, asks)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


def everything(
    docs: MarkdownOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Run every benchmark once, with its defaults.

    Takes some minutes. Prints a table of each as it is done and one of all, or all figures as JSON. Exits 1 if an aim
    was missed or a benchmark failed.
    """
    from knowledge_rag.evaluation.bench_summary import all_reached, as_dict, as_table, run_one
    from knowledge_rag.evaluation.search_plot import write_search_plot

    _check_plot(plot)
    benches = _benches(docs)
    done = []
    for number, (name, bench) in enumerate(benches.items()):
        with progress_bar() as progress:
            progress(number, len(benches), name)
            each = run_one(name, bench)
        done.append(each)
        if each.report is not None and not json:
            out().print(bench.as_table(each.report))
        if each.report is not None and plot is not None and name == "search":
            write_search_plot(each.report, plot)
    if json:
        print_json(as_dict(done))
    else:
        out().print(as_table(done))
    if not all_reached(done):
        raise typer.Exit(ExitCode.FINDINGS)


SPEED: Final[dict[str, Callable[..., None]]] = {
    "search": search,
    "embedding": embedding,
    "ingest": ingest,
    "console": console,
    "all": everything,
}
"""The commands by name."""


def _benches(markdown: Path | None) -> dict[str, Bench]:
    return {**_of_documents(markdown), **_of_the_function(), **_of_answers()}


def _of_documents(markdown: Path | None) -> dict[str, Bench]:
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation import (
        chunking_bench,
        embedding_bench,
        ingest_bench,
        search_bench,
    )
    from knowledge_rag.evaluation.bench_summary import Bench

    docs, model = shipped("knowledge-corpus"), _model()
    return {
        "chunking": Bench(
            lambda: chunking_bench.run_chunking_bench(markdown or docs),
            chunking_bench.as_table,
            chunking_bench.figure,
            chunking_bench.AIM,
            "the making of chunks with lines, and one pass of a pattern, are a third of the time",
        ),
        "embedding": Bench(
            lambda: embedding_bench.run_embedding_bench(model),
            embedding_bench.as_table,
            lambda it: f"{it.ratio:.2f} of its limit",
            f"at most {embedding_bench.REACH:.1f}",
        ),
        "ingest": Bench(
            lambda: ingest_bench.run_ingest_bench(docs, model),
            ingest_bench.as_table,
            lambda it: f"{it.in_model:.1%} in the model, {it.again_embedded} embedded again",
            f"at least {ingest_bench.REACH:.0%}, none",
        ),
        "search": Bench(
            lambda: search_bench.run_search_bench(_SIZES),
            search_bench.as_table,
            lambda it: ", ".join(
                f"{row.chunks:,}: {row.ratio:.2f}" for row in it.rows if row.name == search_bench.OURS
            ) + " of the limit",
            f"at most {search_bench.REACH:.2f} from 10,000 on",
            "10,000 vectors fit into a processor's cache, which makes their limit a low one",
        ),
    }  # fmt: skip


def _of_the_function() -> dict[str, Bench]:
    from knowledge_rag.evaluation import coldstart_bench, handler_bench
    from knowledge_rag.evaluation.bench_summary import Bench

    return {
        "handler": Bench(
            handler_bench.run_handler_bench,
            handler_bench.as_table,
            lambda it: f"{it.ratio:.2f} of raw boto3",
            f"at most {handler_bench.REACH:.2f}",
        ),
        "coldstart": Bench(
            coldstart_bench.run_coldstart_bench,
            coldstart_bench.as_table,
            lambda it: f"{next(r.ratio for r in it.rows if r.name in coldstart_bench.DECISIVE):.2f} of boto3 + client",
            f"at most {coldstart_bench.REACH:.2f}",
        ),
    }  # fmt: skip


def _of_answers() -> dict[str, Bench]:
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation import (
        console_bench,
        dates_bench,
        guardrails_bench,
        guardrails_tables,
    )
    from knowledge_rag.evaluation.bench_summary import Bench

    docs = shipped("knowledge-corpus")
    return {
        "guardrails": Bench(
            lambda: guardrails_bench.run_guardrails_bench([docs], []),
            guardrails_tables.as_tables,
            lambda it: f"{it.recall:.1%} found, {it.false_alarms:.2%} false alarms",
            "at least 95 %, at most 1 %",
        ),
        "dates": Bench(
            lambda: dates_bench.run_dates_bench(
                dates_bench.read_sentences(shipped("tests/data/dates/sentences.jsonl"))
            ),
            dates_bench.as_table,
            lambda it: f"{it.rows[0].recall:.0%} found, {it.rows[0].wrong} made up",
            "at least 95 %, none",
        ),
        "console": Bench(
            lambda: console_bench.run_console_bench(None),
            console_bench.as_table,
            lambda it: f"first text after {it.first_text.p50:.0f} ms",
            f"at most {console_bench.AIM_MS:.0f} ms",
        ),
    }  # fmt: skip


def _model() -> MiniLm:
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    return MiniLm(LocalSettings.from_environment())


def _check_plot(plot: Path | None) -> None:
    from knowledge_rag.evaluation.evaluation_plot import check_plot
    from knowledge_rag.local.settings import LocalSettings

    if plot is not None:
        check_plot(plot, LocalSettings.from_environment().cache_dir)
