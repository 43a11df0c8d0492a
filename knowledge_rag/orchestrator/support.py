"""Whether a step says what its cited lines say; the checks are the guardrails' own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.guardrails.support.check import SupportChecker
from knowledge_rag.guardrails.support.report import Verdict, WarningKind, describe
from knowledge_rag.orchestrator.recommendation import Concern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.support.report import SupportReport
    from knowledge_rag.guardrails.verify import Cited

Concerned = tuple[Concern, str]
"""What a warning is about, and its sentence."""


def judge(
    claims: Iterable[str], cited: Sequence[Cited], known: Sequence[str] = ()
) -> tuple[Verdict, list[Concerned]]:
    """Hold what is said against the lines that it cites.

    Args:
        claims: what is said, and each command apart, so that a quotation of either counts as one.
        cited: the evidence.
        known: what may be said though the lines don't: titles and headings that they stand under.

    Returns:
        Unsupported if any claim is, else supported if any claim is; and what to warn of.
    """
    lines = [line for it in cited for line in it.content.split("\n")] + [*known]
    checker = SupportChecker()
    verdicts: set[Verdict] = set()
    concerns: list[Concerned] = []
    for claim in claims:
        report = checker.check(claim, lines)
        verdicts.add(report.verdict)
        concerns += _concerns(report)
    for verdict in (Verdict.UNSUPPORTED, Verdict.SUPPORTED):
        if verdict in verdicts:
            return verdict, concerns
    return Verdict.NOTHING_TO_CHECK, concerns


def _concerns(report: SupportReport) -> Iterator[Concerned]:
    for atom in report.missing:
        yield Concern.UNSUPPORTED, f"{describe(atom, _no_number)}."
    if report.verdict is Verdict.UNSUPPORTED and not report.missing:
        words = ", ".join(report.missing_words[:8])
        yield Concern.UNSUPPORTED, f"The cited lines hold too few of its words; missing: {words}."
    for warning in report.warnings:
        if warning.kind is WarningKind.NEGATION:
            message = f'"{warning.text}": one of the step and its lines denies it.'
            yield Concern.NEGATION, message
        else:
            message = f"{warning.text} fills in what the cited lines leave open."
            yield Concern.FILLED_PLACEHOLDER, message


def _no_number(index: int) -> int:
    return index + 1
