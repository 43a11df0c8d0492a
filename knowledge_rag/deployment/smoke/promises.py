"""Judges what the questions gave, promise by promise."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Status
from knowledge_rag.deployment.smoke.corpus import Fit
from knowledge_rag.deployment.smoke.questions import Topic
from knowledge_rag.deployment.smoke.report import Promise, Verdict
from knowledge_rag.evaluation.timing import percentiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.deployment.smoke.answers import Answer
    from knowledge_rag.deployment.smoke.corpus import Checked

CITATIONS: Final = "citations"
LATENCY: Final = "latency"
RELEVANCE: Final = "relevance"

BUDGET_MS: Final = 2000
"""Of one query, at the 95th percentile."""

ENOUGH_FOUND: Final = 0.8
"""Share of questions among whose results the named document has to be."""

_SHOWN: Final = 5


def judge_way(name: str, answers: Sequence[Answer]) -> Promise:
    """Judge whether a way to the knowledge base answers."""
    failures = [answer for answer in answers if answer.status is None]
    told = _counted(answers)
    for failure in failures:
        if not failure.passing:
            return Promise(name, Verdict.BROKEN, f"{failure.failure} ({told})")
    if failures:
        return Promise(name, Verdict.DEGRADED, f"{failures[0].failure} ({told})", "Try again.")
    reasons = Counter(each.reason for each in answers if each.status is Status.DEGRADED)
    if reasons:
        why = ", ".join(f"{reason} {count} times" for reason, count in reasons.most_common())
        action = "Look at the dashboard, and at the alarms' page of the handbook."
        return Promise(name, Verdict.DEGRADED, f"{told}: {why}", action)
    return Promise(name, Verdict.KEPT, told)


def _counted(answers: Sequence[Answer]) -> str:
    counts = Counter(each.status.value if each.status else "no answer" for each in answers)
    return ", ".join(f"{count} {status}" for status, count in counts.most_common())


def judge_citations(checked: Sequence[Checked]) -> Promise:
    """Judge whether every citation's content is the lines that it names."""
    counts = Counter(each.fit for each in checked)
    if not checked:
        return Promise(CITATIONS, Verdict.UNKNOWN, "no result came back to look at")
    wrong = [each for each in checked if each.fit in (Fit.WRONG, Fit.CHANGED, Fit.GONE)]
    if wrong:
        shown = "; ".join(f"{each.citation} {_WORDS[each.fit]}" for each in wrong[:_SHOWN])
        detail = f"{len(wrong)} of {len(checked)} do not match the corpus bucket: {shown}"
        return Promise(CITATIONS, Verdict.BROKEN, detail, _repair(counts))
    if counts[Fit.UNKNOWN]:
        why = next(each.detail for each in checked if each.fit is Fit.UNKNOWN)
        detail = f"{counts[Fit.UNKNOWN]} of {len(checked)} could not be checked: {why}"
        return Promise(CITATIONS, Verdict.UNKNOWN, detail)
    detail = f"{len(checked)} of {len(checked)} equal the cited lines byte for byte"
    return Promise(CITATIONS, Verdict.KEPT, detail)


_WORDS: Final = {
    Fit.CHANGED: "is of another version of the file",
    Fit.GONE: "names a file that is gone",
    Fit.WRONG: "does not equal those lines",
}


def _repair(counts: Counter[Fit]) -> str:
    if counts[Fit.WRONG]:
        return (
            "Trust no citation until this is explained: keep the report, and tell the maintainers."
        )
    return "Ingest again: the bucket changed after the last ingestion."


def latency_figures(answers: Sequence[Answer]) -> dict[str, float]:
    """Give the times of answers in milliseconds, as seen from here; ``{}`` for fewer than two.

    The first one may start the function, so it is told apart. What was not searched is left out:
    giving up early must not look fast.
    """
    times = [each.seconds for each in answers if each.status in (Status.OK, Status.NO_MATCH)]
    if len(times) < 2:
        return {}
    found = percentiles(times[1:])
    named = {"first_ms": times[0] * 1000, "p50_ms": found.p50, "p95_ms": found.p95}
    return {name: round(value, 1) for name, value in named.items()}


def judge_latency(answers: Sequence[Answer]) -> Promise:
    """Judge the time that searched queries took."""
    ms = latency_figures(answers)
    if not ms:
        return Promise(LATENCY, Verdict.UNKNOWN, "too few questions were searched")
    kept = ms["p95_ms"] <= BUDGET_MS
    return Promise(
        LATENCY,
        Verdict.KEPT if kept else Verdict.BROKEN,
        f"p50 {ms['p50_ms']:.0f} ms, p95 {ms['p95_ms']:.0f} ms of {BUDGET_MS}, as seen from here"
        f" (first {ms['first_ms']:.0f} ms)",
        "" if kept else "Compare the dashboard's latency: the way from here is in these times.",
    )


def judge_relevance(answers: Sequence[Answer]) -> Promise | None:
    """Judge whether the named documents are found; ``None`` where no question names one."""
    labelled = [
        each
        for each in answers
        if each.question.source_file
        and each.question.topic is Topic.ON
        and each.status in (Status.OK, Status.NO_MATCH)
    ]
    if not labelled:
        return None
    missed = [
        each.question
        for each in labelled
        if each.question.source_file not in {found.citation.source_file for found in each.results}
    ]
    hits = len(labelled) - len(missed)
    detail = f"{hits} of {len(labelled)} questions found the document that answers them"
    if hits >= ENOUGH_FOUND * len(labelled):
        return Promise(RELEVANCE, Verdict.KEPT, detail)
    names = ", ".join(question.id for question in missed[:_SHOWN])
    return Promise(
        RELEVANCE, Verdict.BROKEN, f"{detail}; missed: {names}", "Look at the search type."
    )
