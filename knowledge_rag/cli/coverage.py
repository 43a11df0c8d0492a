"""`knowledge-rag coverage`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.inputs import known_findings, replace_baseline
from knowledge_rag.cli.options import Format, FormatOption, JsonOption, chosen_format
from knowledge_rag.cli.reports import progress_bar
from knowledge_rag.cli.terminal import out, print_json, print_note, print_sentence
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.coverage_wanted import StepsCheck, Wanted
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from knowledge_rag.core.sarif import Region
    from knowledge_rag.evaluation.coverage_check import Checked, Coverage
    from knowledge_rag.evaluation.coverage_rules import RuleFiles
    from knowledge_rag.evaluation.evaluation_corpus import Documents
    from knowledge_rag.extract.yaml_nodes import Place

UNREADABLE: Final = "rules-unreadable"
"""The rule of a file that couldn't be checked."""


def coverage(
    rules: Annotated[
        list[str],
        typer.Option(
            metavar="PATH",
            help="Prometheus rules, PrometheusRule resources or CloudFormation templates: "
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
            min=0, max=1, help="Minimum share of covered alerts.  [default: 1; 0 with --baseline]"
        ),
    ] = None,
    steps: Annotated[
        StepsCheck,
        typer.Option(
            help="If the runbook is found but `ask` shows none of its steps: warn, fail, or don't check."
        ),
    ] = StepsCheck.WARN,
    baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known gaps; only new ones fail.")
    ] = None,
    write_baseline: Annotated[
        bool,
        typer.Option("--write-baseline", help="Write the gaps of this run to --baseline, exit 0."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also show the queries and results of each alert.")
    ] = False,
    form: FormatOption = Format.TEXT,
    json: JsonOption = False,
) -> None:
    """Check that each alert rule finds its own runbook.

    For each alert, an agent's queries go through the real Lambda, and lines of the alert's own runbook must be
    among the results. Exits 1 if they are not, 2 if a rule file can't be read, 3 if the knowledge base is
    unavailable.
    """
    from knowledge_rag.evaluation.coverage_check import FORM, as_baseline

    shown = chosen_format(form, json=json)
    wanted = Wanted(top, threshold, steps)
    wanted = replace(wanted, baseline=known_findings(baseline, FORM, writes=write_baseline))
    done = _checked(_read_rules(rules, writes=write_baseline), docs, mapping, wanted)
    write(shown, done, explain=explain)
    if done.broken:
        raise typer.Exit(ExitCode.BAD_INPUT)
    if done.unknown:
        raise typer.Exit(ExitCode.DEGRADED)
    if write_baseline and baseline is not None:
        replace_baseline(baseline, as_baseline(done.gaps))
        print_note("wrote", f"{counted(len(done.gaps), 'known gap')} to {baseline}")
    elif not done.passed:
        raise typer.Exit(ExitCode.FINDINGS)


def _checked(rules: RuleFiles, docs: Path, mapping: Path | None, wanted: Wanted) -> Coverage:
    from knowledge_rag.evaluation.coverage_check import check_all, summarise
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
        raise  # its message is the last one's
    for each in rules.broken:
        print_note("error:", each.message)
    if writes and rules.broken:
        files = counted(len(rules.broken), "file")
        raise InvalidRequest(
            f"--write-baseline: the gaps of {files} that can't be read are unknown"
        )
    return rules


def _report_oddities(rules: RuleFiles, documents: Documents, mapping: dict[str, str]) -> None:
    """Report skipped files, and map entries without an alert."""
    for skipped in documents.skipped:
        print_note("skipped", str(skipped))
    if rules.skipped:
        print_note("skipped", f"{_some(list(rules.skipped))}: no rules in it")
    unused = sorted(mapping.keys() - {alert.name for alert in rules.alerts})
    if unused:
        print_note("warning", f"the map has alerts that are not in these rules: {_some(unused)}")


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def write(form: Format, done: Coverage, *, explain: bool = False) -> None:
    """Print the outcome."""
    if form == Format.JSON:
        print_json(done.to_dict())
    elif form == Format.SARIF:
        print_json(as_sarif(done))
    else:
        if explain:
            show_evidence(out(), done)
        show(out(), done)
    for alert, file in done.mended:
        print_note("mended", f"{alert} in {file}: remove it from the baseline")


def as_sarif(done: Coverage) -> dict[str, Any]:
    """Return the new findings as SARIF, at the names of their alerts, and the unchecked files."""
    from knowledge_rag.core.sarif import SarifResult, SarifRule, sarif_log
    from knowledge_rag.core.version import VERSION
    from knowledge_rag.evaluation.coverage_runbooks import Gap
    from knowledge_rag.extract.yaml_nodes import Place

    optional = Gap.NO_STEPS if done.wanted.steps is not StepsCheck.REQUIRE else None
    rules = [
        SarifRule(gap.value, gap.description, "warning" if gap is optional else "error")
        for gap in Gap
    ]
    rules.append(
        SarifRule(UNREADABLE, "A rule file can't be read, so it was not checked.", "error")
    )
    results = [
        SarifResult(
            each.finding.value, neutralise(each.message), _region(each.alert.file, each.alert.place)
        )
        for each in done.new
        if each.finding is not None
    ]
    for file in done.broken:
        place = _region(file.file, Place(file.line or 1, 1, file.line or 1, 1))
        results.append(SarifResult(UNREADABLE, neutralise(file.message), place))
    return sarif_log(VERSION, rules, results)


def show(console: Console, done: Coverage) -> None:
    """Show the gaps, each in a line that editors open, then a summary line."""
    for level, style, found in (
        ("error", "red", done.gaps),
        ("warning", "yellow", done.warnings),
        ("known", "dim", done.known),
    ):
        for each in found:
            _line(console, each, level, style, each.message, str(each.finding))
    for each in done.unknown:
        message = f"alert {each.alert.name} could not be checked: {each.reason}"
        _line(console, each, "degraded", "yellow", message, "degraded")
    for each in done.steps_unknown:
        message = f"alert {each.alert.name} is covered, but its steps could not be checked: {each.steps_unknown}"
        _line(console, each, "degraded", "yellow", message, "degraded")
    print_sentence(console, _summary(done), "green" if done.passed else "red")


def show_evidence(console: Console, done: Coverage) -> None:
    """Show each alert's queries and results."""
    for each in done.checked:
        console.print(Text(_on_one_line(f"{each.alert.where}: {each.alert.name}"), style="bold"))
        for query in each.queries:
            console.print(Text(f"  asked: {_on_one_line(query)}"))
        for citation in (*each.instead, *([each.hit.citation] if each.hit else [])):
            lines = f"lines {citation.start_line}-{citation.end_line}"
            console.print(Text(f"  found: {_on_one_line(citation.source_file)}, {lines}"))
        if each.hit is not None and each.runbook is not None:
            rank, by = each.hit.rank, each.runbook.by.value
            console.print(f"  its runbook by {by}: result {rank} of the last query")
        if each.steps is not None:
            console.print(f"  its runbook gives {counted(each.steps.own, 'step')}")
    console.print()


def _line(console: Console, each: Checked, level: str, style: str, message: str, rule: str) -> None:
    place = each.alert.place
    where = f"{_on_one_line(each.alert.file)}:{place.line}:{place.column}: "
    first = [(where, "bold"), (level, style), (": ", "")]
    print_sentence(console, f"{message} [{rule}]", first=first, rest="    ")


def _on_one_line(text: str) -> str:
    """Return someone else's text so that it can't look like a line of ours."""
    return neutralise(" ".join(text.split()))


def _summary(done: Coverage) -> str:
    parts = [f"{done.covered} of {counted(len(done.checked), 'alert')} covered"]
    parts += [f"{done.without_steps} of them without steps"] if done.without_steps else []
    parts += [f"{len(done.gaps)} new"] if done.wanted.baseline is not None else []
    parts += [f"{len(done.known)} known"] if done.known else []
    parts += [f"{len(done.unknown)} could not be checked"] if done.unknown else []
    parts += [f"{counted(len(done.broken), 'file')} not checked"] if done.broken else []
    if done.share < done.wanted.share:
        parts.append(f"wanted: {done.wanted.share * 100:g}%")
    return ("Covered: " if done.passed else "Not covered: ") + ", ".join(parts) + "."


def _region(file: str, place: Place) -> Region:
    from knowledge_rag.core.sarif import Region

    path = file.encode(errors="replace").decode()  # bytes of a name that are not text
    return Region(path, place.line, place.end_line, place.column, place.end_column)
