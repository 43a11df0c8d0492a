"""A recommendation as Markdown, for whoever shows or streams it: procedures in their authors' order.

This is text for people. Nobody reads it back: what counts is the recommendation. Each reference is a piece of its
own, so that a reader never has to look for brackets in a document's words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.pieces import Piece
from knowledge_rag.guardrails.verify import Cited
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import Why

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.orchestrator.procedures import Part
    from knowledge_rag.orchestrator.recommendation import (
        CitedLines,
        Guard,
        Recommendation,
        Section,
        Step,
    )

LABELS = {
    Governs.CAUTION: "Caution",
    Governs.CONDITION: "Condition",
    Governs.PRECONDITION: "First",
    Governs.PROHIBITED: "Do not",
    Governs.OBSOLETE: "Obsolete, do not",
    Governs.NOTE: "",
}
"""What stands in front of lines that govern a step."""

_REASONS = {
    Why.NOT_RETRIEVED: "not retrieved",
    Why.LIMIT: "too long to show",
    Why.ELSEWHERE: "in a section that was not retrieved",
    Why.NOT_GIVEN: "left out by the model",
    Why.PROHIBITED: "what must not be done",
    Why.OBSOLETE: "not used any more",
}


def headed(section: Section) -> str:
    """Return the heading of a procedure: its sections, outermost first.

    >>> from knowledge_rag.orchestrator.headings import Kind
    >>> from knowledge_rag.orchestrator.recommendation import Section
    >>> headed(Section("runbooks/rds.md", ("RDS", "Failover"), Kind.RESOLUTION, 3, 9))
    'runbooks/rds.md: RDS > Failover'
    """
    path = " > ".join(section.path)
    return f"{section.source_file}: {path}" if path else section.source_file


def missing(section: Section) -> Iterator[str]:
    """Yield a line for each part of a procedure that is not shown."""
    for it in section.not_shown:
        lines = f"{it.start}-{it.end}" if it.end > it.start else f"{it.start}"
        what = f" ({it.heading})" if it.heading else ""
        yield f"not shown: {it.source_file}:{lines}{what}, {_REASONS[it.why]}"


def is_heading(guard: Guard, step: Step) -> bool:
    """Whether a guard is the heading that the step stands under, which is shown above it anyway."""
    said = guard.text.lstrip("# \t").partition("\n")[0].strip(" *:#")
    return guard.kind is Governs.NOTE and any(said == it.strip(" *:#") for it in step.path)


def pieces_of(recommendation: Recommendation, ledger: Ledger) -> list[Piece]:
    """Return the text of a recommendation, cut into words and references.

    Args:
        recommendation: made of procedures.
        ledger: of its request.
    """
    pieces = [Piece("## Guidance\n")] if recommendation.guidance else []
    shown = 0
    before: Step | None = None
    for step in recommendation.guidance:
        section = recommendation.section_of(step)
        if section is not None and step.procedure != shown:
            if shown:
                pieces += _not_shown(recommendation.procedures[shown - 1])
            shown = step.procedure
            alert = f"{section.alert}: " if section.alert else ""
            pieces.append(Piece(f"\n### {_escaped(alert + headed(section))}\n"))
            before = None
        pieces += _step(step, before, ledger)
        before = step
    if shown:
        pieces += _not_shown(recommendation.procedures[shown - 1])
    if recommendation.similar_incidents:
        pieces.append(Piece("\n## Similar incidents\n"))
    for similar in recommendation.similar_incidents:
        name = f"{similar.incident_id}: " if similar.incident_id else ""
        pieces.append(Piece("\n" + _indented(f"{name}{similar.resolution}", "- ", "  ") + " "))
        pieces += _references(similar.citations, ledger)
        pieces.append(Piece("\n"))
    return pieces


def _step(step: Step, before: Step | None, ledger: Ledger) -> Iterator[Piece]:
    known = {(it.text, it.kind) for it in before.guards} if before else set()
    guards = [
        it for it in step.guards if not is_heading(it, step) and (it.text, it.kind) not in known
    ]
    for guard in guards:
        if not guard.after:
            yield from _guard(guard, ledger)
    mark = step.number.replace(")", ".") if re.fullmatch(r"\d+[.)]", step.number) else "-"
    lead = f"{step.number} " if step.number and mark == "-" else ""
    danger = f"**[{', '.join(step.destructive)}]** " if step.destructive else ""
    indent = " " * (len(mark) + 1)
    text = "\n\n".join(_shown(part) for part in step.parts) if step.parts else step.action
    yield Piece("\n" + _indented(f"{lead}{danger}{text}", f"{mark} ", indent))
    yield Piece(f"\n\n{indent}" if step.parts and step.parts[-1].is_code else " ")
    guarded = {one for guard in step.guards for one in guard.citations}
    yield from _references(
        [it for it in step.citations if it not in guarded] or step.citations, ledger
    )
    yield Piece("\n")
    for guard in guards:
        if guard.after:
            yield from _guard(guard, ledger)


def _guard(guard: Guard, ledger: Ledger) -> Iterator[Piece]:
    label = LABELS[guard.kind]
    words = "\n".join(line.strip() for line in guard.text.split("\n") if line.strip())
    shown = f"**{label}:** {words}" if label else words
    yield Piece("\n" + _indented(shown, "> ", "> ") + " ")
    yield from _references(guard.citations, ledger)
    yield Piece("\n")


def _not_shown(section: Section) -> list[Piece]:
    return [Piece(f"\n*{_escaped(line)}*\n") for line in missing(section)]


def _references(cited: Sequence[CitedLines], ledger: Ledger) -> Iterator[Piece]:
    for place, one in enumerate(cited):
        lines = one.citation
        found = ledger.lines(lines.source_file, lines.start_line, lines.end_line)
        if found is None:  # what is not in the ledger can't be cited
            continue
        text = str(lines)
        if place:
            yield Piece(" ")
        yield Piece(text, (Cited(0, len(text), found.number, lines, found.content),))


def _shown(part: Part) -> str:
    if not part.is_code:
        return part.text
    fence = "```"
    while fence in part.text:
        fence += "`"
    return f"{fence}{part.language}\n{part.text}\n{fence}"


def _indented(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([first + lines[0], *(others + line if line else "" for line in lines[1:])])


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", " ".join(text.split()))
