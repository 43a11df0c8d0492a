"""Shows a recommendation to a person: steps with the lines that say so, and what to beware of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.recommendation import CitedLines, Recommendation

_STYLES = {Status.OK: "bold", Status.NO_MATCH: "yellow", Status.DEGRADED: "red"}
_INDENT = "   "
_CONFIDENCE = "Confidence {:.2f} (how much evidence there is, not how likely it helps)"


def show_recommendation(console: Console, recommendation: Recommendation) -> None:
    """Show steps, similar incidents, warnings, and what the confidence rests on."""
    _print(console, recommendation.summary, _STYLES[recommendation.status])
    for number, step in enumerate(recommendation.guidance, start=1):
        console.print()
        _print_hanging(console, f"{number}. ", step.action)
        for command in step.commands:
            for line in command.split("\n"):
                _print(console, f"{_INDENT}  {line}", "green")
        _print_sources(console, step.citations)
    if recommendation.similar_incidents:
        _print(console, "\nSimilar incidents", "bold")
    for similar in recommendation.similar_incidents:
        name = f"{similar.incident_id}: " if similar.incident_id else ""
        _print_hanging(console, " - ", f"{name}{similar.resolution}")
        _print_sources(console, similar.citations)
    if recommendation.analysis:
        _print(console, "\nAnalysis (the advisor's own words, from no source)", "bold")
        _print(console, recommendation.analysis)
    console.print()
    for warned in recommendation.warnings:
        where = f"step {warned.step}: " if warned.step else ""
        _print(console, f"warning: {where}{' '.join(warned.message.split())}", "yellow")
    told = " ".join(recommendation.reasoning.split())
    if recommendation.status is Status.OK:
        told = f"{_CONFIDENCE.format(recommendation.confidence)}: {told}"
    _print(console, told, "dim")


def show_evidence(console: Console, findings: Findings) -> None:
    """Show what was asked, how each search ended, and the evidence, numbered."""
    for asked in findings.asked:
        ended = asked.outcome.reason or asked.outcome.status
        filters = "".join(f" [{key}={value}]" for key, value in asked.query.filters.items())
        found = counted(len(asked.outcome.results), "result") if asked.outcome.results else ended
        _print(console, f"asked: {' '.join(asked.query.text.split())}{filters}: {found}", "dim")
    for entry, result in zip(findings.ledger.entries, findings.ledger.results, strict=True):
        score = "" if result.relevance_score is None else f"  score {result.relevance_score:.2f}"
        _print(console, f"{entry.number:>3}. {entry.citation}{score}", "dim")
    console.print()


def _print_hanging(console: Console, mark: str, text: str) -> None:
    first, *others = text.split("\n")
    _print(console, f"{mark}{first}")
    for line in others:
        _print(console, f"{' ' * len(mark)}{line}")


def _print_sources(console: Console, cited: Sequence[CitedLines]) -> None:
    for one in cited:
        lines = one.citation
        last = f"-{lines.end_line}" if lines.end_line > lines.start_line else ""
        heading = heading_words(lines.section_header)
        section = f"  ({heading})" if heading else ""
        where = f"{_INDENT}{lines.source_file}:{lines.start_line}{last}"
        console.print(Text.assemble((neutralise(where), "cyan"), (neutralise(section), "dim")))


def _print(console: Console, text: str, style: str = "") -> None:
    console.print(Text(neutralise(text), style=style))
