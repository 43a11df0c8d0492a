"""Shows a recommendation on a terminal: whole procedures in their authors' order, with their lines.

Nothing depends on colour: cautions, conditions, prohibitions and destructive steps are named in words. A model's
words have a bar at their left, so that none can pass for a citation or for the product's own words.
"""

from __future__ import annotations

import os
from itertools import groupby
from typing import TYPE_CHECKING, Final

from knowledge_rag.cli.procedures import (
    ALARMING,
    CAREFUL,
    CITATION,
    HEADING,
    INDENT,
    danger,
    markup_of,
    procedure_lines,
    source_lines,
)
from knowledge_rag.cli.prose import Markup, barred, cut, laid_out
from knowledge_rag.cli.terminal import print_pieces, shows_styles, width_of
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.orchestrator.recommendation import Concern, Strength
from knowledge_rag.orchestrator.showing import missing
from knowledge_rag.orchestrator.wording import BAR, counted, listed, summed_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from knowledge_rag.cli.prose import Line
    from knowledge_rag.orchestrator.recommendation import Recommendation, Warned
    from knowledge_rag.orchestrator.retrieval import Asked, Findings

CHECK: Final = "check that it fits"
NOTHING: Final = "Nothing documented."

_STRENGTHS: Final = {
    Strength.STRONG: "bold green",
    Strength.PARTIAL: "yellow",
    Strength.THIN: "yellow",
}
_WARNING: Final = "Warning: "
_OF_WORDING: Final = frozenset({Concern.UNCITED_STEPS, Concern.UNSUPPORTED, Concern.NEGATION})
"""Warnings about a model's wording, not about the results."""


def show_recommendation(
    console: Console, recommendation: Recommendation, *, numbered: bool = False
) -> list[str]:
    """Print a recommendation, wrapped to the terminal's width, or to COLUMNS; commands are never wrapped.

    Returns the citations in order; their numbers are shown if they are ``numbered``.
    """
    markdown = Markup.STYLED if shows_styles(console) else Markup.MARKED
    is_wrapped = os.environ.get("COLUMNS", "").isdigit()
    shown: list[str] = []
    for line in lines_of(recommendation, width_of(console, anywhere=is_wrapped), markdown):
        for position, (text, style) in enumerate(line):
            if style == CITATION:  # only ours: words of documents and models have other styles
                shown.append(text)
                if numbered:
                    line.insert(position, (f"[{len(shown)}] ", "dim"))
                break
        print_pieces(console, line)
    return shown


def lines_of(
    recommendation: Recommendation, width: int | None, markdown: Markup = Markup.MARKED
) -> Iterator[Line]:
    """Yield the lines that :func:`show_recommendation` prints."""
    page = _Page(recommendation, width, markdown)
    yield from page.summary()
    yield from page.guidance()
    yield from page.similar()
    yield from page.reading()
    yield from page.closing()


def show_evidence(console: Console, findings: Findings) -> None:
    """Print the queries, how each search ended, and the evidence, numbered."""
    for asked in findings.asked:
        print_pieces(
            console, [(f"asked: {' '.join(asked.query.text.split())}{_ended(asked)}", "dim")]
        )
    for asked in findings.completions:
        print_pieces(console, [(f"completed:{_ended(asked)}", "dim")])
    for entry, result in zip(findings.ledger.entries, findings.ledger.results, strict=True):
        score = "" if result.relevance_score is None else f"  score {result.relevance_score:.2f}"
        print_pieces(console, [(f"{entry.number:>3}. {entry.citation}{score}", "dim")])
    console.print()


def _ended(asked: Asked) -> str:
    filters = "".join(f" [{key}={value}]" for key, value in asked.query.filters.items())
    ended = asked.outcome.reason or asked.outcome.status
    found = counted(len(asked.outcome.results), "result") if asked.outcome.results else ended
    return f"{filters}: {found}"


class _Page:
    """One recommendation as lines."""

    def __init__(self, recommendation: Recommendation, width: int | None, markdown: Markup) -> None:
        self._given = recommendation
        self._width = width
        self._markdown = markdown

    def summary(self) -> Iterator[Line]:
        """Yield the result, the strength of the evidence, and the warnings to read first."""
        given = self._given
        if given.status is Status.OK:
            yield from self._found()
        elif given.status is Status.NO_MATCH:
            if not given.meant:
                yield from self._said(NOTHING, CAREFUL)
            yield from self._said(given.reasoning, CAREFUL if given.meant else "")
            if missed := [it for it in given.unknown if it not in given.reasoning]:
                yield from self._said(f"Nothing found mentions {listed(missed, 'or')}.")
        else:
            yield from self._said(given.summary, ALARMING)
            yield from self._said(given.reasoning)
        yield from self._warned(it for it in given.warnings if self._is_first(it))

    def _found(self) -> Iterator[Line]:
        given = self._given
        files = [it.source_file for it in given.procedures] or [
            it.citations[0].citation.source_file for it in given.guidance
        ]
        incidents = [it.incident_id for it in given.similar_incidents]
        ours = summed_up(len(given.guidance), list(dict.fromkeys(files)), incidents)
        yield from self._said(ours, "bold")
        if evidence := given.evidence:
            reasons = "; ".join(evidence.reasons)
            if evidence.strength is Strength.THIN and CHECK not in reasons:
                reasons = "; ".join(filter(None, (reasons, CHECK)))
            text = f"Evidence: {evidence.strength}" + (f" ({reasons})" if reasons else "")
            yield from self._said(text, _STRENGTHS[evidence.strength])
        if given.summary != ours:
            yield from self._of_model(given.summary)

    def guidance(self) -> Iterator[Line]:
        given = self._given
        if given.guidance and not given.procedures:
            yield from self._by_model()
        numbered = groupby(given.guidance, lambda it: it.procedure)
        procedures = [
            (given.section_of(steps[0]), steps) for steps in (list(it) for _, it in numbered)
        ]
        for section, steps in procedures:
            if section is not None and not given.alerts:
                yield from procedure_lines(section, steps, self._width, self._markdown)
        for section in given.left_out:
            yield []
            for line in missing(section):
                yield from self._said(line, CAREFUL)
        for name, status in given.alerts:
            yield from ([], [(f"Alert: {neutralise(name)}", HEADING)])
            if status is not Status.OK:
                text = (
                    f"Nothing documented for {name}."
                    if status is Status.NO_MATCH
                    else f"{name} could not be looked up."
                )
                yield from self._said(text, CAREFUL, INDENT)
            for section, steps in procedures:
                if section is not None and section.alert == name:
                    yield from procedure_lines(section, steps, self._width, self._markdown)

    def _by_model(self) -> Iterator[Line]:
        yield from ([], [("Steps, in the model's words", HEADING)])
        for number, step in enumerate(self._given.guidance, start=1):
            mark = f"{INDENT}{number}. "
            indent = " " * len(mark)
            yield []
            yield from self._of_model(step.action, mark, indent, danger(step))
            for command in step.commands:
                yield from self._of_model(f"~~~~\n{command}\n~~~~", indent, indent)
            yield from source_lines(step.citations, indent, with_heading=True)
            yield from self._warned(
                (it for it in self._given.warnings if it.step == number), indent
            )

    def similar(self) -> Iterator[Line]:
        if self._given.similar_incidents:
            yield from ([], [("Similar incidents", HEADING)])
        rest = INDENT * 2
        for similar in self._given.similar_incidents:
            margin: Line = [(f"{INDENT}- ", "")]
            if similar.incident_id:
                margin = [*margin, (f"{similar.incident_id}: ", "bold")]
            if self._given.guidance and not self._given.procedures:
                yield margin
                yield from self._of_model(similar.resolution, rest, rest)
            else:
                markdown = markup_of(similar.citations[0].citation.source_file, self._markdown)
                yield from laid_out(
                    similar.resolution, self._width, first=margin, rest=rest, markdown=markdown
                )
            yield from source_lines(similar.citations, rest)

    def reading(self) -> Iterator[Line]:
        given = self._given
        if given.reading:
            missed = [name for name, status in given.alerts if status is not Status.OK]
            about = f" to {listed(missed)}" if missed else ""
            closest = f"Closest sections{about}, to read, not to follow"
            yield from ([], [("It could be" if given.meant else closest, HEADING)])
        names = map(heading_words, given.meant or [""] * len(given.reading))
        for number, (name, one) in enumerate(zip(names, given.reading, strict=True), start=1):
            # if one of them can be chosen
            mark = "" if given.guidance else f"{number}. "
            if name:
                yield from self._said(f"{mark}{name}", "bold", INDENT)
            indent = INDENT + (" " * len(mark) if name else mark)
            yield from source_lines([one], indent, with_heading=not name)
        if given.meant:
            at = given.reading[0].citation
            how = f"To get the steps of the first one, add: --at {at.source_file}:{at.end_line}"
            yield from ([], *self._said(how, "dim"))
        if given.status is Status.OK and given.unknown:
            yield from self._said(
                f"Nothing found mentions {listed([*given.unknown], 'or')}.", indent=INDENT
            )

    def closing(self) -> Iterator[Line]:
        """Yield a model's analysis, and the warnings about its wording."""
        given = self._given
        if given.analysis:
            yield from ([], [("Analysis, in the model's own words, from no source", HEADING)])
            yield from self._of_model(given.analysis)
        late = [
            it
            for it in given.warnings
            if not it.step and not self._is_first(it) and not self._is_said(it)
        ]
        if late or (given.guidance and not given.procedures):
            yield []
        yield from self._warned(late)
        if given.guidance and not given.procedures:
            yield from self._said(given.reasoning, "dim")

    def _is_first(self, warned: Warned) -> bool:
        about_wording = not isinstance(warned.kind, Concern) or warned.kind in _OF_WORDING
        is_at_step = warned.step and not self._given.procedures
        return not (is_at_step or about_wording or self._is_said(warned))

    def _is_said(self, warned: Warned) -> bool:
        """Whether a procedure or an alert shows the warning in its own place."""
        if warned.kind is Concern.NOT_SHOWN:
            return bool(self._given.procedures)
        missed = [name for name, status in self._given.alerts if status is not Status.OK]
        return warned.kind is Concern.NOTICE and any(
            warned.message.startswith(f"{name}: ") for name in missed
        )

    def _warned(self, warnings: Iterable[Warned], indent: str = "") -> Iterator[Line]:
        rest = indent + " " * len(_WARNING)
        if not self._given.procedures:  # it may quote a model, whose words begin no row
            rest = rest[: -len(BAR)] + BAR
        for warned in warnings:
            lines = laid_out(
                " ".join(warned.message.split()),
                self._width,
                first=[(indent, ""), (_WARNING, CAREFUL)],
                rest=rest,
                markdown=Markup.NONE,
            )
            yield from cut(lines, self._width, rest)  # a message may quote a model's long word

    def _said(self, text: str, style: str = "", indent: str = "") -> Iterator[Line]:
        line = " ".join(text.split())
        first: Line = [(indent, "")]
        return laid_out(
            line, self._width, first=first, rest=indent, style=style, markdown=Markup.NONE
        )

    def _of_model(
        self, text: str, first: str = "", rest: str = "", label: Line | None = None
    ) -> Iterator[Line]:
        margins = {"first": first, "rest": rest}
        return barred(text, self._width, **margins, label=label or [], markdown=self._markdown)
