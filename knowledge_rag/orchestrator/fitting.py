"""A recommendation within a budget: whole procedures, the first one first, and the rest by its lines.

A procedure is given whole or not at all: half of one is what hurts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.wording import summed_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.orchestrator.recommendation import Recommendation, Section


def fitted(given: Recommendation, fits: Callable[[Recommendation], bool]) -> Recommendation:
    """Return as much of a recommendation as fits.

    Similar incidents go first, then procedures, from the last one on. A procedure that is left out stays in
    ``procedures`` with its lines as not shown. Without any left the recommendation may still not fit. What a model
    wrote stays as it is.
    """
    return next(filter(fits, _shorter(given)), None) or [*_shorter(given)][-1]


def _shorter(given: Recommendation) -> Iterator[Recommendation]:
    yield given
    if given.guidance and not given.procedures:
        return
    for count in range(len(given.procedures), -1, -1) if given.procedures else ():
        yield _cut(given, count)


def _cut(given: Recommendation, count: int) -> Recommendation:
    """Return the first procedures, and the others by their lines."""
    kept = tuple(step for step in given.guidance if step.procedure <= count)
    sections = (*given.procedures[:count], *map(_left_out, given.procedures[count:]))
    files = list(dict.fromkeys(it.source_file for it in sections))
    return replace(
        given,
        summary=summed_up(len(kept), files, []),
        guidance=kept,
        similar_incidents=(),
        procedures=sections,
        warnings=tuple(it for it in given.warnings if it.step is None or it.step <= len(kept)),
    )


def _left_out(section: Section) -> Section:
    heading = section.path[-1] if section.path else ""
    lines = NotShown(section.source_file, section.start, section.end, Why.BUDGET, heading)
    return replace(section, not_shown=(lines,), complete=False)
