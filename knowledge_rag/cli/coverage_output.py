"""Prints what ``knowledge-rag coverage`` found, as text, JSON or SARIF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.cli.options import Format
from knowledge_rag.cli.terminal import out, print_json, print_note
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.sarif import Region, SarifResult, SarifRule, sarif_log
from knowledge_rag.core.version import VERSION
from knowledge_rag.evaluation.coverage_runbooks import Gap
from knowledge_rag.evaluation.coverage_wanted import StepsCheck
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge_rag.evaluation.coverage_check import Checked
    from knowledge_rag.evaluation.coverage_report import Coverage

UNREADABLE: Final = "rules-unreadable"
"""The rule of a file of which nothing was checked."""


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
        print_note("mended", f"{alert} in {file}: take it out of the baseline")


def as_sarif(done: Coverage) -> dict[str, Any]:
    """Return the new findings as SARIF, at the names of their alerts, and the files not checked."""
    optional = Gap.NO_STEPS if done.wanted.steps is not StepsCheck.REQUIRE else None
    rules = [
        SarifRule(gap.value, gap.description, "warning" if gap is optional else "error")
        for gap in Gap
    ]
    rules.append(
        SarifRule(UNREADABLE, "A file of rules can't be read: nothing of it was checked.", "error")
    )
    results = [
        SarifResult(each.finding.value, neutralise(each.message), _region(each))
        for each in done.new
        if each.finding is not None
    ]
    for file in done.broken:
        line = file.line or 1
        place = Region(_as_text(file.file), line, line, 1, 1)
        results.append(SarifResult(UNREADABLE, neutralise(file.message), place))
    return sarif_log(VERSION, rules, results)


def show(console: Console, done: Coverage) -> None:
    """Show the gaps, each in a line that editors open, then one line that sums them up."""
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
        message = f"alert {each.alert.name} is covered, but its steps could not be looked for: {each.steps_unknown}"
        _line(console, each, "degraded", "yellow", message, "degraded")
    console.print(Text(_summary(done), style="green" if done.passed else "red"))


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
    console.print(
        Text.assemble(
            (f"{_on_one_line(each.alert.file)}:{place.line}:{place.column}: ", "bold"),
            (level, style),
            f": {_on_one_line(message)} ",
            (f"[{rule}]", "dim"),
        )
    )


def _on_one_line(text: str) -> str:
    """Return a stranger's text so that it can't look like a line of ours."""
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


def _region(each: Checked) -> Region:
    place = each.alert.place
    path = _as_text(each.alert.file)
    return Region(path, place.line, place.end_line, place.column, place.end_column)


def _as_text(path: str) -> str:
    return path.encode(errors="replace").decode()  # bytes of a name that are no text
