"""``knowledge-rag bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, KbOption, Search
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
        out().print(as_table(report))


@bench.command()
def floor(
    kb: KbOption = None,
    on: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Questions it answers, JSON Lines with id and query."),
    ] = None,
    off: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Questions that it does not answer.")
    ] = None,
    search: Annotated[Search, typer.Option(help="Whose scores.")] = Search.HYBRID,
    json: JsonOption = False,
) -> None:
    """Measure how well "nothing documented" is told from an answer.

    By default on the sample knowledge base and this project's labelled questions. Exits 1 if the
    floor in use rejects under 90 % of off-topic or loses over 5 % of on-topic questions.
    """
    from knowledge_rag.cli.knowledge_bases import opened, sample_knowledge_base
    from knowledge_rag.core.retrieval import SearchType
    from knowledge_rag.evaluation.floor import as_table, load_questions, measure_floor

    on_topic = load_questions(on or _own_questions("on_topic.jsonl"))
    off_topic = load_questions(off or _own_questions("off_topic.jsonl"))
    with opened(kb or sample_knowledge_base()[0]) as knowledge_base:
        method = SearchType(search.value.upper())
        report = measure_floor(knowledge_base, on_topic, off_topic, method)
    if json:
        print_json(report.to_dict())
    else:
        out().print(as_table(report))
    if not report.shipped_on_all.passes:
        raise typer.Exit(ExitCode.FINDINGS)


def _own_questions(name: str) -> Path:
    from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
    from knowledge_rag.local.resources import shipped

    try:
        return shipped(f"tests/data/questions/{name}")
    except KnowledgeRagError as error:
        raise InvalidRequest(
            "this project's own questions come with a checkout only: name yours by --on and --off"
        ) from error
