"""Shows what ``knowledge-rag verify`` found: to people, as JSON, as SARIF."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from knowledge_rag.cli.prose import barred, cut, laid_out
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import DropReason
from knowledge_rag.core.sarif import Region, SarifResult, SarifRule, sarif_log
from knowledge_rag.guardrails.review_json import TextPositions, review_json
from knowledge_rag.guardrails.rules import Level, Rule
from knowledge_rag.guardrails.staleness_report import to_dict
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from knowledge_rag.cli.verification import Verification
    from knowledge_rag.guardrails.rules import Finding

_STYLES = {Level.ERROR: "red", Level.WARNING: "yellow"}
_APART: Final = "    "
"""Stands left of what goes on on another row."""
_LOSSES: Final = {
    DropReason.NOT_TEXT: "no text",
    DropReason.NO_CITATION: "no file and lines",
    DropReason.NOT_PROVEN: "the text is not what its hash or its number of lines says",
}
"""Why a passage is no evidence; a second copy of one loses nothing."""


def as_json(done: Verification) -> dict[str, Any]:
    """Give the review, what is known of the evidence, and the state of the documents."""
    return {
        "verified": not done.review.errors,
        **review_json(done.review),
        "evidence": {
            "passages": done.passages,
            "proven": done.passages - done.unproven,
            "dropped": {reason.value: count for reason, count in done.dropped.items()},
            "degraded": [reason.value for reason in done.reasons],
        },
        "staleness": [to_dict(one) for one in done.staleness],
    }


def as_sarif(done: Verification) -> dict[str, Any]:
    """Give the findings as SARIF, at their places in the answer."""
    positions = TextPositions(done.review.answer)
    rules = [SarifRule(rule.value, rule.description, rule.level.value) for rule in Rule]
    results = [
        SarifResult(one.rule.value, one.message, _region(done.name, one, positions))
        for one in done.review.findings
    ]
    return sarif_log(version("knowledge-rag"), rules, results)


def losses(done: Verification) -> Iterator[str]:
    """Say which evidence counts for nothing, or it would look as if retrieval had not returned it."""
    for name, one in zip(done.sources, done.evidence, strict=True):
        lost = {reason: count for reason, count in one.dropped.items() if reason in _LOSSES}
        total = len(one.passages) + sum(one.dropped.values())
        if lost:
            why = "; ".join(f"{_LOSSES[reason]} ({count})" for reason, count in lost.items())
            passages = f"{sum(lost.values())} of {counted(total, 'passage')}"
            yield f"{name}: {passages} can't be cited: {why}"


def show(console: Console, done: Verification) -> None:
    """Show the answer that may be shown behind bars, then what is wrong, then one line that sums it up."""
    width = console.width if console.is_terminal else None
    shown = neutralise(done.review.verified.text.rstrip("\n"))
    for row in barred(shown, width):
        console.file.write("".join(text for text, _ in row) + "\n")
    console.print()
    positions = TextPositions(done.review.answer)
    name = " ".join(done.name.split())
    for one in done.review.findings:
        line, column = positions.line_and_column(one.start)
        where = f"{name}:{line}:{column}: "
        message = " ".join([*one.message.split(), f"[{one.rule}]"])
        level = one.rule.level
        first = [(neutralise(where), "bold"), (f"{level.value}: ", _STYLES[level])]
        # a message quotes the answer: what goes on below stands apart from the product's own lines
        lines = laid_out(message, width, first=first, rest=_APART, markdown=False)
        for row in cut(lines, width, _APART):
            console.print(Text.assemble(*row), soft_wrap=True)
    if done.review.findings:
        console.print()
    console.print(Text(_summary(done), style="red" if done.review.errors else "green"))


def _summary(done: Verification) -> str:
    verified, claims = done.review.verified, done.review.backing.claims
    removed = len(verified.removed)
    references = verified.metrics.references + removed
    parts = [
        f"{verified.metrics.references} of {counted(references, 'reference')} resolved",
        f"{sum(one.supported for one in claims)} of {counted(len(claims), 'cited claim')} backed",
        counted(len(done.review.errors), "error"),
        counted(len(done.review.findings) - len(done.review.errors), "warning"),
    ]
    return ("Not verified: " if done.review.errors else "Verified: ") + ", ".join(parts) + "."


def _region(name: str, finding: Finding, positions: TextPositions) -> Region:
    start_line, start_column = positions.line_and_column(finding.start)
    end_line, end_column = positions.line_and_column(finding.end)
    path = name.encode(errors="replace").decode()  # bytes of a name that are no text
    return Region(path, start_line, end_line, start_column, end_column)
