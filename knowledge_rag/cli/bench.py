"""``knowledge-rag bench``: measurements on people's own questions and documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption, KbOption, Search
from knowledge_rag.cli.reports import print_report

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure on your own questions and documents."""


@bench.command()
def floor(
    kb: KbOption = None,
    on: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Questions that it answers, JSON Lines with id and query."
        ),
    ] = None,
    off: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions that it doesn't answer.")
    ] = None,
    search: Annotated[Search, typer.Option(help="Whose scores.")] = Search.HYBRID,
    json: JsonOption = False,
) -> None:
    """Measure how well off-topic questions are rejected.

    By default uses the sample knowledge base and this project's labelled questions. Exits 1 if the
    threshold in use rejects under 90 % of off-topic or loses over 5 % of on-topic questions.
    """
    from knowledge_rag.cli.knowledge_bases import opened, sample_knowledge_base
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.floor import as_table, load_questions, measure_floor

    on_topic = load_questions(on or shipped("tests/data/questions/on_topic.jsonl"))
    off_topic = load_questions(off or shipped("tests/data/questions/off_topic.jsonl"))
    with opened(kb or sample_knowledge_base()[0]) as knowledge_base:
        report = measure_floor(knowledge_base, on_topic, off_topic, search.search_type)
    print_report(
        report.to_dict() if json else as_table(report), passed=report.shipped_on_all.passes
    )


@bench.command()
def ingest(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to ingest.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time an ingest, and a second one that changes nothing.

    Exits 1 if the embedding model takes under 90 % of the first, or the second embeds anything.
    """
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.ingest_bench import as_table, run_ingest_bench
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.settings import LocalSettings

    model = MiniLm(LocalSettings.from_environment())
    report = run_ingest_bench(docs or shipped("knowledge-corpus"), model)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)


@bench.command()
def drift(
    docs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to copy.  [default: the sample runbooks]"),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Time the checks of drift on increasing numbers of documents.

    Exits 1 if under 1,000 documents are checked per minute, or memory grows with their number.
    """
    from knowledge_rag.core.files import shipped
    from knowledge_rag.evaluation.drift_bench import as_table, run_drift_bench

    report = run_drift_bench(docs or shipped("knowledge-corpus"))
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)
