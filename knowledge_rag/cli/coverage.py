"""`knowledge-rag coverage`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption, chosen_form
from knowledge_rag.cli.terminal import progress_bar, tell
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted

if TYPE_CHECKING:
    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_report import Baseline, Coverage
    from knowledge_rag.evaluation.coverage_rules import RuleFiles
    from knowledge_rag.evaluation.coverage_runbooks import Runbooks
    from knowledge_rag.evaluation.evaluation_corpus import Documents


class Format(StrEnum):
    """What to print."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


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
    from knowledge_rag.cli import coverage_output

    shown = chosen_form(form.value, json=json)
    wanted = Wanted(top, threshold, steps)
    work = _Work(tuple(rules), docs, mapping, wanted, baseline, write_baseline)
    done = _checked(work)
    coverage_output.write(shown, done, explain=explain)
    if done.broken:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if done.unknown:
        raise typer.Exit(ExitCode.DEGRADED)
    if write_baseline and baseline is not None:
        _write_baseline(baseline, done)
    elif not done.passed:
        raise typer.Exit(ExitCode.FINDINGS)


_SHOWN = 3
"""Names of a list that a message gives."""


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be checked, and how."""

    rules: tuple[str, ...]
    docs: Path
    mapping: Path | None
    wanted: Wanted
    baseline: Path | None
    writes: bool

    def __post_init__(self) -> None:
        if not self.writes:
            return
        if self.baseline is None:
            raise InvalidRequest("--write-baseline: name the file with --baseline")
        if self.baseline.is_dir() or not self.baseline.absolute().parent.is_dir():
            raise InvalidRequest(
                f"can't write {self.baseline}: it is a folder, or its folder is missing"
            )


def _checked(work: _Work) -> Coverage:
    """Check every alert of the files that can be read, and tell at once which can't."""
    from knowledge_rag.evaluation.coverage_report import check_replaceable, read_baseline, summarise
    from knowledge_rag.evaluation.coverage_runbooks import Runbooks, read_map
    from knowledge_rag.evaluation.evaluation_corpus import Documents

    known: Baseline | None = None
    if work.baseline is not None and not work.writes:
        known = read_baseline(work.baseline)
    elif work.baseline is not None:
        check_replaceable(work.baseline)
    rules = _rules(work)
    mapping = read_map(work.mapping) if work.mapping is not None else {}
    documents = Documents.of(work.docs)
    _tell_oddities(rules, documents, mapping)
    wanted = replace(work.wanted, baseline=known)
    checked = _check(rules, Runbooks(documents, mapping), documents, wanted)
    return summarise(checked, rules, wanted)


def _write_baseline(baseline: Path, done: Coverage) -> None:
    """Write the gaps of a run as known ones."""
    from knowledge_rag.evaluation.coverage_report import write_baseline
    from knowledge_rag.orchestrator.wording import counted

    write_baseline(baseline, done.gaps)
    tell("wrote", f"{counted(len(done.gaps), 'known gap')} to {baseline}")


def _rules(work: _Work) -> RuleFiles:
    from knowledge_rag.evaluation.coverage_rules import NoAlerts, read_rules
    from knowledge_rag.orchestrator.wording import counted

    try:
        rules = read_rules(work.rules)
    except NoAlerts as error:
        for each in error.broken[:-1]:
            tell("error:", each.message)
        raise  # it has the words of the last one
    for each in rules.broken:
        tell("error:", each.message)
    if work.writes and rules.broken:
        files = counted(len(rules.broken), "file")
        raise InvalidRequest(
            f"--write-baseline: the gaps of {files} that can't be read are unknown"
        )
    return rules


def _check(
    rules: RuleFiles, runbooks: Runbooks, documents: Documents, wanted: Wanted
) -> tuple[Checked, ...]:
    from knowledge_rag.evaluation.coverage_check import check_all
    from knowledge_rag.evaluation.evaluation_corpus import ingested
    from knowledge_rag.local.embeddings import MiniLm
    from knowledge_rag.local.local_retrieval import local_retrieval
    from knowledge_rag.local.settings import LocalSettings

    settings = LocalSettings.from_environment()
    embedder = MiniLm(settings)
    besides = (settings.default_knowledge_base,)
    with (
        progress_bar() as progress,
        ingested(documents, settings.cache_dir, embedder, progress, besides=besides) as opened,
        local_retrieval(opened) as retrieval,
    ):
        return check_all(rules.alerts, runbooks, retrieval, wanted, progress=progress)


def _tell_oddities(rules: RuleFiles, documents: Documents, mapping: dict[str, str]) -> None:
    """Report what was left out, and entries of the map that name no alert."""
    for skipped in documents.skipped:
        tell("skipped", str(skipped))
    if rules.skipped:
        tell("skipped", f"{_some(list(rules.skipped))}: no rules in it")
    unused = sorted(mapping.keys() - {alert.name for alert in rules.alerts})
    if unused:
        tell("warning", f"the map names no alert of these rules: {_some(unused)}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
