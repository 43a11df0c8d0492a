"""Steps of a numbered list whose earlier steps are missing from a recommendation.

Who is told to skip a record has to be told to stop the consumers first, and retrieval may have
returned one without the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.advisors.sections import Purpose, purpose_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge_rag.guardrails.verify import Cited

_NUMBERED: Final = re.compile(r"[ \t]{0,3}(\d{1,3})[.)][ \t]")
_IN_TURN: Final = (Purpose.RESOLUTION, Purpose.ROLLBACK)
"""What is done one step after the other; checks and diagnoses may be picked from."""

Place = tuple[str, int]
"""A file and a line."""


def earlier_missing(
    cited: Sequence[Cited], others: Sequence[Cited], path_of: Callable[[Cited], Sequence[str]]
) -> str | None:
    """Say which step before this one is missing.

    Args:
        cited: what the step cites.
        others: what all steps cite.
        path_of: gives the headings above a citation, outermost first.

    Returns:
        One sentence; ``None`` if the step is the first of its list or of none, or not one of a
        procedure, or the one before it is cited, too.
    """
    numbered = [(it, found) for it in cited if (found := _NUMBERED.match(it.content))]
    if not numbered:
        return None
    first, found = min(numbered, key=lambda it: it[0].citation.start_line)
    number, at = int(found[1]), first.citation
    if number <= 1 or purpose_of(path_of(first)) not in _IN_TURN:
        return None
    before = {place for it in others for place in _numbered(it, number - 1)}
    if any(name == at.source_file and line < at.start_line for name, line in before):
        return None
    return (
        f"It is step {number} of a list in {at.source_file}, and step {number - 1} is not given:"
        f" read what stands before line {at.start_line}."
    )


def _numbered(cited: Cited, number: int) -> list[Place]:
    lines = cited.content.split("\n")
    return [
        (cited.citation.source_file, line)
        for line, text in enumerate(lines, start=cited.citation.start_line)
        if (found := _NUMBERED.match(text)) and int(found[1]) == number
    ]
