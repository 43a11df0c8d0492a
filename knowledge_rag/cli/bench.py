"""``knowledge-rag bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.bench_output import show
from knowledge_rag.cli.options import JsonOption, KbOption, MarkdownOption, Search

bench = typer.Typer(no_args_is_help=True)


@bench.callback()
def _group() -> None:
    """Measure speed and quality, beside others' where there are any."""


@bench.command()
def chunking(
    docs: MarkdownOption = None,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; the best counts.")] = 3,
    json: JsonOption = False,
) -> None:
    """Chunk Markdown, with peers: speed, exactness, lines.

    Exits 1 if whole sections are not cut 8 times as fast as by langchain's header splitter, 20 times
    as fast as by llama-index, and as fast as by langchain's recursive splitter.
    """
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation.chunking_bench import as_table, run_chunking_bench

    report = run_chunking_bench(docs or shipped("knowledge-corpus"), rounds=rounds)
    show(report.to_dict() if json else as_table(report), passed=report.reached is not False)


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
    show(report.to_dict() if json else as_table(report), passed=report.shipped_on_all.passes)


@bench.command()
def handler(
    calls: Annotated[int, typer.Option(min=10, max=100_000, help="Calls of each kind.")] = 1000,
    json: JsonOption = False,
) -> None:
    """Time a call of the function beside a raw boto3 call.

    Both ask the same local server. Exits 1 if its median is over 1.05 of boto3's.
    """
    from knowledge_rag.evaluation.handler_bench import as_table, run_handler_bench

    report = run_handler_bench(calls)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


@bench.command()
def coldstart(
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds; the best counts.")] = 7,
    json: JsonOption = False,
) -> None:
    """Time the function's start beside that of a boto3 client.

    Each start is a fresh process. Exits 1 if it takes over 1.15 of boto3's processor time.
    """
    from knowledge_rag.evaluation.coldstart_bench import as_table, run_coldstart_bench

    report = run_coldstart_bench(rounds)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


@bench.command()
def load(
    calls: Annotated[int, typer.Option(min=100, max=10_000_000, help="Calls in all.")] = 20_000,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads that share it.")] = 8,
    json: JsonOption = False,
) -> None:
    """Put load on the function and look for mixed-up answers.

    One call in ten meets a fault. Exits 1 if an answer was wrong or another question's, or a log line was broken.
    """
    from knowledge_rag.evaluation.load_bench import LoadSettings, as_table, run_load_bench

    report = run_load_bench(LoadSettings(calls, threads))
    show(report.to_dict() if json else as_table(report), passed=report.sound)


@bench.command()
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
    """Measure how well the checks of support tell changed guidance.

    Each claim is guidance, as it stands or changed in one place. Exits 1 if they find under 95 % of what was changed, or over 1 % of what is true.
    """
    from knowledge_rag.core.resources import shipped
    from knowledge_rag.evaluation.guardrails_bench import run_guardrails_bench
    from knowledge_rag.evaluation.guardrails_tables import as_tables

    report = run_guardrails_bench(docs or [shipped("knowledge-corpus")], claims or [])
    show(report.to_dict() if json else as_tables(report), passed=report.reached)


@bench.command()
def dates(
    sentences: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Labelled sentences, JSON Lines.  [default: our own]"),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=50, help="Rounds; the best counts.")] = 3,
    json: JsonOption = False,
) -> None:
    """Find dates, with peers; time the source policy.

    The sentences are labelled with their dates. Exits 1 if a date is made up, under 95 % are found, or the policy takes 2 ms.
    """
    from knowledge_rag.evaluation.dates_bench import as_table, read_sentences, run_dates_bench

    own = sentences or _own_data("dates/sentences.jsonl", "--sentences")
    report = run_dates_bench(read_sentences(own), rounds=rounds)
    show(report.to_dict() if json else as_table(report), passed=report.reached)


def _own_questions(name: str) -> Path:
    return _own_data(f"questions/{name}", "--on and --off")


def _own_data(name: str, option: str) -> Path:
    from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
    from knowledge_rag.core.resources import shipped

    try:
        return shipped(f"tests/data/{name}")
    except KnowledgeRagError as error:
        raise InvalidRequest(
            f"this project's own data come with a checkout only: name yours by {option}"
        ) from error
