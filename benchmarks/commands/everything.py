"""``python -m benchmarks all``: every benchmark in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from benchmarks.commands.speed import SIZES, MarkdownOption, PlotOption, check_plot, model
from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import out, print_json, progress_bar

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.summary import Bench


def everything(
    docs: MarkdownOption = None,
    plot: PlotOption = None,
    json: JsonOption = False,
) -> None:
    """Run every benchmark once, with its defaults.

    Takes some minutes. Prints a table of each as it is done and one of all, or all figures as JSON. Exits 1 if an aim
    was missed or a benchmark failed.
    """
    from benchmarks.speed.search_plot import write_search_plot
    from benchmarks.summary import all_reached, as_dict, as_table, run_one

    check_plot(plot)
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


def _benches(markdown: Path | None) -> dict[str, Bench]:
    return {**_of_documents(markdown), **_of_the_function(), **_of_answers()}


def _of_documents(markdown: Path | None) -> dict[str, Bench]:
    from benchmarks.speed import chunking, embedding, search
    from benchmarks.summary import Bench
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation import ingest_bench

    docs, minilm = shipped("knowledge-corpus"), model()
    return {
        "chunking": Bench(
            lambda: chunking.run_chunking_bench(markdown or docs),
            chunking.as_table,
            chunking.figure,
            chunking.AIM,
            "the making of chunks with lines, and one pass of a pattern, are a third of the time",
        ),
        "embedding": Bench(
            lambda: embedding.run_embedding_bench(minilm),
            embedding.as_table,
            lambda it: f"{it.ratio:.2f} of its limit",
            f"at most {embedding.REACH:.1f}",
        ),
        "ingest": Bench(
            lambda: ingest_bench.run_ingest_bench(docs, minilm),
            ingest_bench.as_table,
            lambda it: f"{it.in_model:.1%} in the model, {it.again_embedded} embedded again",
            f"at least {ingest_bench.REACH:.0%}, none",
        ),
        "search": Bench(
            lambda: search.run_search_bench(SIZES),
            search.as_table,
            lambda it: ", ".join(
                f"{row.chunks:,}: {row.ratio:.2f}" for row in it.rows if row.name == search.OURS
            ) + " of the limit",
            f"at most {search.REACH:.2f} from 10,000 on",
            "10,000 vectors fit into a processor's cache, which makes their limit a low one",
        ),
    }  # fmt: skip


def _of_the_function() -> dict[str, Bench]:
    from benchmarks.speed import coldstart, handler
    from benchmarks.summary import Bench

    return {
        "handler": Bench(
            handler.run_handler_bench,
            handler.as_table,
            lambda it: f"{it.ratio:.2f} of raw boto3",
            f"at most {handler.REACH:.2f}",
        ),
        "coldstart": Bench(
            coldstart.run_coldstart_bench,
            coldstart.as_table,
            lambda it: f"{next(r.ratio for r in it.rows if r.name in coldstart.DECISIVE):.2f} of boto3 + client",
            f"at most {coldstart.REACH:.2f}",
        ),
    }  # fmt: skip


def _of_answers() -> dict[str, Bench]:
    from benchmarks.dates import finder
    from benchmarks.guardrails import support, tables
    from benchmarks.retrieval import located
    from benchmarks.speed import console
    from benchmarks.summary import Bench
    from knowledge_rag.core.resources import shipped

    docs = shipped("knowledge-corpus")
    return {
        "guardrails": Bench(
            lambda: support.run_guardrails_bench([docs], []),
            tables.as_tables,
            lambda it: f"{it.recall:.1%} found, {it.false_alarms:.2%} false alarms",
            "at least 95 %, at most 1 %",
        ),
        "located": Bench(
            lambda: located.run_located_bench(docs),
            located.as_table,
            located.figure,
            f"at least {located.AIM:.1%}, none, at most {located.AIM_MS:g} ms",
        ),
        "dates": Bench(
            lambda: finder.run_dates_bench(
                finder.read_sentences(shipped("tests/data/dates/sentences.jsonl"))
            ),
            finder.as_table,
            lambda it: f"{it.rows[0].recall:.0%} found, {it.rows[0].wrong} made up",
            "at least 95 %, none",
        ),
        "console": Bench(
            lambda: console.run_console_bench(None),
            console.as_table,
            lambda it: f"first text after {it.first_text.p50:.0f} ms",
            f"at most {console.AIM_MS:.0f} ms",
        ),
    }  # fmt: skip
