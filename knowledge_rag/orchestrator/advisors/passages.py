"""Retrieved lines put together again: chunks of one document that follow each other.

A runbook's step and its command may lie in two chunks. Where both were retrieved they are read as
one, and each line remembers which entry of the ledger holds it, so that it can be cited.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import SECTION_PATH, SECTION_SEPARATOR, TITLE
from knowledge_rag.orchestrator.advisors.folded import still_open
from knowledge_rag.orchestrator.advisors.sections import purpose_of
from knowledge_rag.orchestrator.answer_text import Line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.outcome import RetrievalResult
    from knowledge_rag.orchestrator.advisors.sections import Purpose
    from knowledge_rag.orchestrator.findings import Findings

_BLANK_BETWEEN: Final = 1
"""Lines between two chunks of one section that are taken for the blank one that parts blocks: a
chunk ends before it, and every line that is not blank lies in a chunk of its own or with others."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Consecutive lines of one section of one document.

    Args:
        source_file: the document.
        purpose: of the section.
        path: headings above the lines, outermost first.
        lines: with their numbers in the document, blank ones between chunks included.
        entries: from each line's number to the number of the ledger's entry that holds it.
        within: elements of HTML that the lines right above leave open, as far as was retrieved.
    """

    source_file: str
    purpose: Purpose
    path: tuple[str, ...]
    lines: tuple[Line, ...]
    entries: dict[int, int]
    within: tuple[str, ...] = ()


def passages_of(findings: Findings) -> list[Passage]:
    """Give the passages of all results, in the order of their documents' names and lines."""
    results = sorted(
        enumerate(findings.ledger.results, start=1),
        key=lambda it: (it[1].citation.source_file, it[1].citation.start_line),
    )
    runs: list[list[tuple[int, RetrievalResult]]] = []
    for number, result in results:
        if runs and _follows(runs[-1][-1][1], result):
            runs[-1].append((number, result))
        else:
            runs.append([(number, result)])
    return _with_what_is_open([_passage(run) for run in runs])


def _with_what_is_open(passages: Sequence[Passage]) -> list[Passage]:
    """Tell passages right below another of their document what that one leaves open."""
    told: list[Passage] = []
    for passage in passages:
        before = told[-1] if told else None
        if (
            before is not None
            and before.source_file == passage.source_file
            and passage.lines[0].number - before.lines[-1].number - 1 <= _BLANK_BETWEEN
        ):
            within = still_open(before.lines, before.within)
            told.append(replace(passage, within=within) if within else passage)
        else:
            told.append(passage)
    return told


def path_of(result: RetrievalResult) -> tuple[str, ...]:
    """Give the headings above a result's lines, outermost first."""
    path = result.metadata.get(SECTION_PATH)
    if isinstance(path, str) and path:
        return tuple(path.split(SECTION_SEPARATOR))
    return (result.citation.section_header,) if result.citation.section_header else ()


def _follows(before: RetrievalResult, after: RetrievalResult) -> bool:
    first, second = before.citation, after.citation
    gap = second.start_line - first.end_line - 1
    return (
        first.source_file == second.source_file
        and path_of(before) == path_of(after)
        and 0 <= gap <= _BLANK_BETWEEN
    )


def _passage(run: list[tuple[int, RetrievalResult]]) -> Passage:
    lines: list[Line] = []
    entries: dict[int, int] = {}
    for number, result in run:
        if lines and result.citation.start_line > lines[-1].number + 1:
            lines.append(Line(0, "", lines[-1].number + 1))
        for line in _lines(result):
            lines.append(line)
            entries[line.number] = number
    first = run[0][1]
    path, title = path_of(first), first.metadata.get(TITLE)
    purpose = purpose_of(path, title if isinstance(title, str) else "")
    return Passage(first.citation.source_file, purpose, path, tuple(lines), entries)


def _lines(result: RetrievalResult) -> Iterator[Line]:
    texts = result.content.split("\n")
    for number, text in enumerate(texts, start=result.citation.start_line):
        yield Line(0, text.removesuffix("\r"), number)
