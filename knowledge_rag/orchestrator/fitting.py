"""A recommendation within a budget: whole procedures, the first one first, and the rest by its lines.

A procedure is given whole or not at all: half of one is what hurts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.recommendation import MAX_INCOMPLETE, PART_MISSING
from knowledge_rag.orchestrator.wording import nothing_fits, reasoned, summed_up

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.orchestrator.recommendation import Recommendation, Section


def fitted(
    given: Recommendation, cost: Callable[[Recommendation], float], most: int
) -> Recommendation:
    """Return as much of a recommendation as fits.

    Similar incidents go first, then procedures, from the last one on. A procedure that is left out stays in
    ``procedures`` with its lines as not shown, and the evidence is then at most partial. Without any left the
    recommendation says how much the first one takes, and may still not fit. What a model wrote stays as it is.

    Args:
        given: whole.
        cost: tokens of a recommendation as it is written.
        most: tokens that there are.
    """
    if not given.procedures or cost(given) <= most:
        return given
    takes = 0.0
    for count in range(len(given.procedures), 0, -1):
        shorter = _cut(given, count)
        if (takes := cost(shorter)) <= most:
            return shorter
    return _cut(given, 0, nothing_fits(most, math.ceil(takes)))


def _cut(given: Recommendation, count: int, why: str = "") -> Recommendation:
    """Return the first procedures, and the others by their lines.

    Args:
        given: whole.
        count: procedures to keep.
        why: none is kept.
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
