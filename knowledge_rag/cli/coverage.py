"""``knowledge-rag coverage``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from knowledge_rag.cli.options import JsonOption
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted


class Format(StrEnum):
    """What to print."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"


def coverage(
    rules: Annotated[
        list[str],
        typer.Option(
            metavar="PATH",
            help="Rules of Prometheus, PrometheusRule resources or CloudFormation templates: "
            "a file, a folder or a pattern. May be given several times.",
        ),
    ],
    docs: Annotated[Path, typer.Option(metavar="DIR", help="The runbooks.")],
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map", metavar="FILE", help="YAML that says `AlertName: file#heading`; it goes first."
        ),
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, max=5, help="Results of a query that may hold the runbook.")
    ] = 5,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of alerts that has to be covered.  [default: 1; 0 with --baseline]",
        ),
    ] = None,
    steps: Annotated[
        StepsCheck,
        typer.Option(
            help="Where the runbook is found and `ask` gives no step of it: warn, fail, or don't look."
        ),
    ] = StepsCheck.WARN,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Gaps that are known: only others fail."),
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option("--write-baseline", help="Write the gaps of this run to --baseline, exit 0."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show for each alert what was asked and found, too."),
    ] = False,
    form: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.TEXT,
    json: JsonOption = False,
) -> None:
    """Check that each alert rule finds its own runbook.

    For each alert, what an agent would ask when it fires goes through the real Lambda, and lines of
    the alert's own runbook have to be among the results. Exits 1 if they are not, 2 if a file of
    rules can't be read, 3 if that could not be found out.
    """
    from knowledge_rag.cli import coverage_output, coverage_work
    from knowledge_rag.cli.exits import ExitCode
    from knowledge_rag.cli.formats import chosen_form

    shown = chosen_form(form.value, json=json)
    wanted = Wanted(top, threshold, steps)
    work = coverage_work.Work(tuple(rules), docs, mapping, wanted, baseline, write_baseline)
    done = coverage_work.run(work)
    coverage_output.write(shown, done, explain=explain)
    if done.broken:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if done.unknown:
        raise typer.Exit(ExitCode.DEGRADED)
    if write_baseline and baseline is not None:
        coverage_work.write(baseline, done)
    elif not done.passed:
        raise typer.Exit(ExitCode.FINDINGS)
