"""Resolves references to evidence, or to the reason for removing them.

It also defines the findings of a scan, and words the reason for each removed reference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.references import Lines, Unparsable, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.references import Numbers, Reference


class Why(StrEnum):
    """Why a reference is removed."""

    UNKNOWN_FILE = "unknown_file"
    """No result of this request is from that file; names are compared exactly."""
    LINES_NOT_RETRIEVED = "lines_not_retrieved"
    """No single result has all these lines."""
    UNKNOWN_NUMBER = "unknown_number"
    """The ledger has no entry with that number."""
    UNPARSABLE = "unparsable"
    """It resembles a reference and can't be parsed."""
    UNCLOSED = "unclosed"
    """It begins like a reference, but its bracket is never closed, or only after another one."""


def resolve(reference: Reference | Unparsable, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    """Resolve every part of a reference against the evidence of the request.

    Returns:
        The evidence for its parts, in order and without duplicates; or the reason why a part has none:
        a reference is good as a whole or not at all.
    """
    if isinstance(reference, Unparsable):
        return Why.UNPARSABLE
    found: tuple[Evidence, ...] = ()
    for part in reference:
        evidence = _lines(part, ledger) if isinstance(part, Lines) else _numbers(part, ledger)
        if isinstance(evidence, Why):
            return evidence
        found = tuple(dict.fromkeys((*found, *evidence))) if found else evidence
    return found


def _numbers(part: Numbers, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    if not 1 <= part.first <= part.last <= len(ledger):
        return Why.UNKNOWN_NUMBER
    return ledger.entries[part.first - 1 : part.last]


def _lines(part: Lines, ledger: Ledger) -> tuple[Evidence, ...] | Why:
    known = [name for name in part.names if ledger.knows(name)]
    for name in known:
        if evidence := ledger.lines(name, part.first, part.last):
            return (evidence,)
    return Why.LINES_NOT_RETRIEVED if known else Why.UNKNOWN_FILE


@dataclass(frozen=True, slots=True)
class Kept:
    """A remaining reference: its span in the outgoing answer, and the evidence that it refers to."""

    start: int
    end: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """A removed reference: its span and text as written, and the mark in its place, "" for none."""

    start: int
    end: int
    text: str
    why: Why
    mark: str


@dataclass(slots=True)
class Findings:
    """The findings of a scan so far; all spans except those in ``taken`` are in the outgoing answer.

    Args:
        kept: remaining references, in order.
        taken: removed references, in the order of the decisions.
        unchecked: spans of brackets that read like references where none can be.
        code: spans of code, in order: whole lines of blocks, and spans in a line.
        too_long: spans of blocks that were too long to parse, in order.
        pages: the span of each text with links, and the page that each reader sees of it.
    """

    kept: list[Kept] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    unchecked: list[tuple[int, int]] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    too_long: list[tuple[int, int]] = field(default_factory=list)
    pages: list[tuple[int, int, Sequence[Sequence[str]]]] = field(default_factory=list)


def add_span(spans: list[tuple[int, int]], start: int, end: int) -> None:
    """Append a span; one that begins where the last one ends extends it."""
    if spans and spans[-1][1] == start:
        start = spans.pop()[0]
    if end > start:
        spans.append((start, end))


_MOST: Final = 6
"""Maximum line ranges of one file to name."""
_MOST_FILES: Final = 50
"""Maximum files to compare for a similar name."""
_LONGEST: Final = 120
"""Maximum characters of a name to compare: the time grows with their square."""


def why_removed(taken: Taken, ledger: Ledger) -> str:
    """Return the reason in one line, with the lines, files or numbers that retrieval did return."""
    written = " ".join(taken.text.split())
    return f"{written}: {_reason(taken, ledger)}"


def _reason(taken: Taken, ledger: Ledger) -> str:
    match taken.why:
        case Why.UNKNOWN_FILE:
            return _unknown_file(taken, ledger)
        case Why.LINES_NOT_RETRIEVED:
            return _lines_not_retrieved(taken, ledger)
        case Why.UNKNOWN_NUMBER if not len(ledger):
            return "retrieval returned no source"
        case Why.UNKNOWN_NUMBER:
            return f"the sources are numbered 1 to {len(ledger)}"
        case Why.UNPARSABLE:
            return "can't be read as a reference; [Source: file, lines a-b] and [n] can"
        case Why.UNCLOSED:
            return "its bracket is not closed"


def _unknown_file(taken: Taken, ledger: Ledger) -> str:
    files = list(dict.fromkeys(entry.citation.source_file for entry in ledger.entries))
    names = [part.names[-1] for part in _lines_of(taken)]
    unknown = [name for name in names if name not in files] or ["this file"]
    similar = get_close_matches(unknown[0][:_LONGEST], files[:_MOST_FILES], n=1, cutoff=0.5)
    hint = f"; it did return {similar[0]}" if similar else ""
    return f"retrieval returned no line of {unknown[0]}{hint}"


def _lines_not_retrieved(taken: Taken, ledger: Ledger) -> str:
    for part in _lines_of(taken):
        for name in part.names:
            if ledger.knows(name) and ledger.lines(name, part.first, part.last) is None:
                return f"of {name}, retrieval returned {_ranges(name, ledger)}"
    return "retrieval returned other lines"


def _ranges(name: str, ledger: Ledger) -> str:
    citations = (one.citation for one in ledger.entries if one.citation.source_file == name)
    ranges = [
        f"{start}-{end}" for start, end in sorted((c.start_line, c.end_line) for c in citations)
    ]
    more = f" and {len(ranges) - _MOST} more" if len(ranges) > _MOST else ""
    return f"lines {', '.join(ranges[:_MOST])}{more}"


def _lines_of(taken: Taken) -> list[Lines]:
    reference = parse(taken.text.strip("[]"))
    parts = reference if isinstance(reference, tuple) else ()
    return [part for part in parts if isinstance(part, Lines)]
