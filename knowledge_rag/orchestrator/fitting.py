"""Fits answers into a token limit: whole procedures, the first one first, and the rest by its lines; whole passages.

A procedure is included whole or not at all: half of one does harm.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from knowledge_rag.core.tokens import token_bound
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.recommendation import MAX_INCOMPLETE, PART_MISSING
from knowledge_rag.orchestrator.wording import counted, nothing_fits, reasoned, summed_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.orchestrator.consultation import Consultation
    from knowledge_rag.orchestrator.recommendation import Recommendation, Section

_Result = TypeVar("_Result")

_OF_NOTICE: Final = 25
"""Tokens of the sentence about passages that are left out."""

MIN_TOKENS: Final = 100
"""Smallest limit: room to say what was found and where it is."""


def within(
    consultation: Consultation,
    written: Callable[[Consultation], str],
    most: int,
    beside: int = 0,
) -> Consultation:
    """Return a consultation whose text takes at most ``most`` tokens, as far as :func:`fitted` can.

    Args:
        consultation: whole.
        written: returns its text.
        most: the token limit.
        beside: tokens that are sent in addition to the text.
    """

    def cost(given: Recommendation) -> float:
        return token_bound(written(replace(consultation, recommendation=given))) + beside

    return replace(consultation, recommendation=fitted(consultation.recommendation, cost, most))


def fitted(
    given: Recommendation, cost: Callable[[Recommendation], float], most: int
) -> Recommendation:
    """Return as much of a recommendation as fits.

    Similar incidents are removed first, then procedures, from the last one on. A removed procedure stays in
    ``procedures`` with its lines as not shown, and the evidence is then at most partial. If none is left, the
    recommendation says how much the first one takes, and may still not fit. A model's text stays as it is.

    Args:
        given: whole.
        cost: tokens of a recommendation in its final form.
        most: the token limit.
    """
    if not given.procedures or cost(given) <= most:
        return given
    takes = 0.0
    for count in range(len(given.procedures), 0, -1):
        shorter = _cut(given, count)
        if (takes := cost(shorter)) <= most:
            return shorter
    return _cut(given, 0, nothing_fits(most, math.ceil(takes)))


def first_that_fit(
    results: Sequence[_Result], cost: Callable[[Sequence[_Result]], float], most: int
) -> tuple[Sequence[_Result], str]:
    """Return the first results that fit, each whole, and a sentence about the others; the first one is always included.

    Args:
        results: of a search, in order.
        cost: tokens of results in their final form; more of them cost more.
        most: the token limit.
    """
    if cost(results) <= most:
        return results, ""
    room = most - _OF_NOTICE
    count = bisect_right(range(1, len(results)), room, key=lambda it: math.ceil(cost(results[:it])))
    kept = results[: max(1, count)]
    if len(kept) == len(results):
        return kept, ""
    left = counted(len(results) - len(kept), "further passage")
    return kept, f"{left} left out: only {most} tokens are allowed."


def _cut(given: Recommendation, count: int, why: str = "") -> Recommendation:
    """Return the first procedures, and the others by their lines.

    Args:
        given: whole.
        count: procedures to keep.
        why: the reason, if none is kept.
    """
    kept = tuple(step for step in given.guidance if step.procedure <= count)
    sections = (*given.procedures[:count], *map(_left_out, given.procedures[count:]))
    files = list(dict.fromkeys(it.source_file for it in sections))
    shorter = replace(
        given,
        summary=summed_up(len(kept), files, []),
        guidance=kept,
        similar_incidents=(),
        procedures=sections,
        warnings=tuple(it for it in given.warnings if it.step is None or it.step <= len(kept)),
    )
    if count == len(given.procedures) or given.evidence is None:
        return shorter
    evidence = given.evidence.lacking(why or PART_MISSING)
    shown = list(dict.fromkeys(it.source_file for it in sections[:count]))
    return replace(
        shorter,
        evidence=evidence,
        confidence=min(given.confidence, MAX_INCOMPLETE),
        reasoning=f"{why[:1].upper()}{why[1:]}."
        if why
        else reasoned(len(kept), shown, evidence.reasons),
    )


def _left_out(section: Section) -> Section:
    heading = section.path[-1] if section.path else ""
    lines = NotShown(section.source_file, section.start, section.end, Why.BUDGET, heading)
    return replace(section, not_shown=(lines,), complete=False)
