"""Says of a reference that was taken out what is wrong with it, and what would be right."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.references import Lines, parse
from knowledge_rag.guardrails.resolve import Why

if TYPE_CHECKING:
    from knowledge_rag.guardrails.findings import Taken
    from knowledge_rag.guardrails.ledger import Ledger

_MOST: Final = 6
"""Line ranges of one file that are named."""
_MOST_FILES: Final = 50
"""Files among which a similar name is looked for."""
_LONGEST: Final = 120
"""Characters of a name that is looked for: the time grows with their square."""


def why_removed(taken: Taken, ledger: Ledger) -> str:
    """Give the reason in one line, with what retrieval did return of it."""
    written = " ".join(taken.text.split())
    return f"{written}: {_REASONS[taken.why](taken, ledger)}"


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


def _unknown_number(_: Taken, ledger: Ledger) -> str:
    if not len(ledger):
        return "retrieval returned no source"
    return f"the sources are numbered 1 to {len(ledger)}"


def _unparsable(_: Taken, __: Ledger) -> str:
    return "can't be read as a reference; [Source: file, lines a-b] and [n] can"


def _unclosed(_: Taken, __: Ledger) -> str:
    return "its bracket is not closed"


_REASONS: Final = {
    Why.UNKNOWN_FILE: _unknown_file,
    Why.LINES_NOT_RETRIEVED: _lines_not_retrieved,
    Why.UNKNOWN_NUMBER: _unknown_number,
    Why.UNPARSABLE: _unparsable,
    Why.UNCLOSED: _unclosed,
}


def _lines_of(taken: Taken) -> list[Lines]:
    reference = parse(taken.text.strip("[]"))
    parts = reference if isinstance(reference, tuple) else ()
    return [part for part in parts if isinstance(part, Lines)]
