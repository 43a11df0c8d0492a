"""`knowledge-rag coverage`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import Format, FormatOption, JsonOption, chosen_format
from knowledge_rag.cli.terminal import print_note, progress_bar
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.evaluation.coverage_report import Baseline, Coverage
    from knowledge_rag.evaluation.coverage_rules import RuleFiles
    from knowledge_rag.evaluation.evaluation_corpus import Documents


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
            "--map", metavar="FILE", help="YAML of `AlertName: file#heading`; takes precedence."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=5, help="Results of a query that count.")] = 5,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of alerts that must be covered.  [default: 1; 0 with --baseline]",
        ),
    ] = None,
    steps: Annotated[
        StepsCheck,
        typer.Option(
            help="If the runbook is found but `ask` shows none of its steps: warn, fail, or don't check."
        ),
    ] = StepsCheck.WARN,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known gaps; only new ones fail."),
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option("--write-baseline", help="Write the gaps of this run to --baseline, exit 0."),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Also show the queries and results of each alert."),
    ] = False,
    form: FormatOption = Format.TEXT,
    json: JsonOption = False,
) -> None:
    """Check that each alert rule finds its own runbook.

    For each alert, what an agent would ask when it fires goes through the real Lambda, and lines of
    the alert's own runbook have to be among the results. Exits 1 if they are not, 2 if a file of
    rules can't be read, 3 if the knowledge base is unavailable.
    """
    from knowledge_rag.cli import coverage_output
    from knowledge_rag.evaluation import coverage_report

    shown = chosen_format(form, json=json)
    wanted = Wanted(top, threshold, steps)
    wanted = replace(wanted, baseline=_known_gaps(baseline, writes=write_baseline))
    done = _checked(_read_rules(rules, writes=write_baseline), docs, mapping, wanted)
    coverage_output.write(shown, done, explain=explain)
    if done.broken:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if done.unknown:
        raise typer.Exit(ExitCode.DEGRADED)
    if write_baseline and baseline is not None:
        coverage_report.write_baseline(baseline, done.gaps)
        print_note("wrote", f"{counted(len(done.gaps), 'known gap')} to {baseline}")
    elif not done.passed:
        raise typer.Exit(ExitCode.FINDINGS)


def _known_gaps(baseline: Path | None, *, writes: bool) -> Baseline | None:
    """Read the baseline; with ``writes`` check only that it can be written there."""
    from knowledge_rag.evaluation.coverage_report import check_replaceable, read_baseline

    if baseline is None:
        if writes:
            raise InvalidRequest("--write-baseline: name the file with --baseline")
        return None
    if not writes:
        return read_baseline(baseline)
    if baseline.is_dir() or not baseline.absolute().parent.is_dir():
        raise InvalidRequest(f"can't write {baseline}: it is a folder, or its folder is missing")
    check_replaceable(baseline)
    return None


def _checked(rules: RuleFiles, docs: Path, mapping: Path | None, wanted: Wanted) -> Coverage:
    from knowledge_rag.evaluation.coverage_check import check_all
    from knowledge_rag.evaluation.coverage_report import summarise
    from knowledge_rag.evaluation.coverage_runbooks import Runbooks, read_map
    from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.local.settings import LocalSettings

    named = read_map(mapping) if mapping is not None else {}
    documents = Documents.of(docs)
    _report_oddities(rules, documents, named)
    settings = LocalSettings.from_environment()
    embedder, besides = MiniLm(settings), (settings.default_knowledge_base,)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress, besides=besides) as opened,
        local_retrieval(opened) as retrieval,
    ):
        runbooks = Runbooks(documents, named)
        checked = check_all(rules.alerts, runbooks, retrieval, wanted, progress=progress)
    return summarise(checked, rules, wanted)


def _read_rules(paths: Sequence[str], *, writes: bool) -> RuleFiles:
    from knowledge_rag.evaluation.coverage_rules import NoAlerts, read_rules

    try:
        rules = read_rules(tuple(paths))
    except NoAlerts as error:
        for each in error.broken[:-1]:
            print_note("error:", each.message)
        raise  # it has the words of the last one
    for each in rules.broken:
        print_note("error:", each.message)
    if writes and rules.broken:
        files = counted(len(rules.broken), "file")
        raise InvalidRequest(
            f"--write-baseline: the gaps of {files} that can't be read are unknown"
        )
    return rules


def _report_oddities(rules: RuleFiles, documents: Documents, mapping: dict[str, str]) -> None:
    """Report skipped files, and entries of the map that name no alert."""
    for skipped in documents.skipped:
        print_note("skipped", str(skipped))
    if rules.skipped:
        print_note("skipped", f"{_some(list(rules.skipped))}: no rules in it")
    unused = sorted(mapping.keys() - {alert.name for alert in rules.alerts})
    if unused:
        print_note("warning", f"the map names no alert of these rules: {_some(unused)}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
