"""Commands that measure the checks of answers and the finding of dates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.reports import print_report


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
    from benchmarks.dates.finder import as_table, read_sentences, run_dates_bench
    from knowledge_rag.core.files import shipped

    own = sentences or shipped("tests/data/dates/sentences.jsonl")
    report = run_dates_bench(read_sentences(own), rounds=rounds)
    print_report(report.to_dict() if json else as_table(report), passed=report.reached)
