"""Finds the procedures that an answer draws on, and the parts it leaves out of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import NotShown, Why
from knowledge_rag.orchestrator.recommendation import Section
from knowledge_rag.orchestrator.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.orchestrator.planning import Plan
    from knowledge_rag.orchestrator.procedures import Item, Procedure
    from knowledge_rag.orchestrator.recommendation import Step

_WARNING: Final = frozenset({
    Governs.CAUTION, Governs.CONDITION, Governs.PRECONDITION, Governs.PROHIBITED,
})  # fmt: skip
"""Kinds of governing lines that an answer must include with its steps."""


def drawn_on(plan: Plan, steps: Sequence[Step], text: str) -> tuple[Plan, list[Section]]:
    """Return the procedures that an answer cites, and each as a section with the parts that the answer leaves out.

    Args:
        plan: the chosen procedures.
        steps: of the answer.
        text: the whole answer.
    """
    given = [_Given.by(step) for step in steps]
    cited = {line for it in given for line in it.lines}
    answered = words_of([text])
    blocks, sections = [], []
    for block in plan.blocks:
        used = [
            it for it in block.procedures if any((it.source_file, n) in cited for n in it.lines)
        ]
        for it in used:
            missed = _left_out(it, given, answered)
            sections.append(Section.of(it, (*it.not_shown, *missed)))
        blocks.append(replace(block, procedures=tuple(used), why=block.why if used else ""))
    return replace(plan, blocks=tuple(blocks)), sections


class _Given(NamedTuple):
    """The lines that a step cites, as document and line, and its words."""

    lines: frozenset[tuple[str, int]]
    words: set[str]

    @classmethod
    def by(cls, step: Step) -> _Given:
        cited = (it.citation for it in step.citations)
        lines = ((it.source_file, n) for it in cited for n in range(it.start_line, it.end_line + 1))
        return cls(frozenset(lines), words_of([step.action, *step.commands]))


def _left_out(
    procedure: Procedure, given: Sequence[_Given], answered: set[str]
) -> Iterator[NotShown]:
    """Yield the items of a procedure that no step gives, and the warnings of the others that the answer lacks.

    A step gives an item if it cites that one alone, or has half of its words: a citation of a whole section doesn't
    show that all of it was used.
    """
    source_file = procedure.source_file
    places = [
        (item, {(source_file, n) for n in range(item.start, item.end + 1)})
        for item in procedure.items
    ]
    shown: set[Item] = set()
    for step in given:
        cited = [item for item, lines in places if not lines.isdisjoint(step.lines)]
        shown.update(
            item
            for item in cited
            if len(cited) == 1 or _has_half(step.words, words_of(it.text for it in item.parts))
        )
    for item in procedure.items:
        if item not in shown:
            yield NotShown(source_file, item.start, item.end, Why.NOT_GIVEN)
    for it in dict.fromkeys(
        it for item in procedure.items if item in shown for it in item.governing
    ):
        if (
            it.kind in _WARNING
            and not it.sent_from
            and not _has_half(answered, words_of([it.text]))
        ):
            yield NotShown(source_file, it.start, it.end, Why.NOT_GIVEN)


def _has_half(said: set[str], words: set[str]) -> bool:
    return 2 * len(said & words) >= len(words)
