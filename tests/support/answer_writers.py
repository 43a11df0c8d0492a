"""Writers of answers beside the honest one: they write what models were seen to write.

Whoever reads an answer can be tested against it.
"""

from __future__ import annotations

import re
from itertools import cycle
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.orchestrator.wording import NO_MATCH, UNREACHABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.guardrails.ledger import Evidence
    from knowledge_rag.local.bedrock.converse import AnswerWriter

MAX_QUOTED: Final = 8
"""Lines that the plain quotation gives."""

_HEADING: Final = re.compile(r"\s*(?:#|```|~~~|---|\|)")
_REFERENCE: Final = re.compile(r"\[Source: ([^\[\]]+), lines (\d+)-(\d+)\]")


def quoted(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
    """Quote the first lines of the best results, each with its reference."""
    del question
    ledger = Ledger.of(*(outcome.results for outcome in outcomes))
    if not ledger:
        degraded = any(outcome.status is Status.DEGRADED for outcome in outcomes)
        return UNREACHABLE if degraded else NO_MATCH
    steps = [step for entry in ledger.entries for step in _lines(entry)][:MAX_QUOTED]
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    return "\n".join(["The documents say:", *numbered])


def fabricating(write: AnswerWriter) -> AnswerWriter:
    """Add steps that no document has, with references to files and results that were not given."""
    return _with(
        write,
        "Then delete the old volume [Source: runbooks/never-written.md, lines 3-9].\n"
        "Last, restart everything at once [Source 99], as in 2019 [98, 99].",
    )


def misranging(write: AnswerWriter) -> AnswerWriter:
    """Cite lines around the right ones that retrieval did not give, or none that can be."""

    def shifted(found: re.Match[str]) -> str:
        first, last = int(found[2]), int(found[3])
        return f"[Source: {found[1]}, lines {last + 5_000}-{first + 4_000}]"

    def moved(found: re.Match[str]) -> str:
        return f"[Source: {found[1]}, lines {int(found[2]) + 4_000}-{int(found[3]) + 5_000}]"

    def written(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
        reversed_first = _REFERENCE.sub(shifted, write(question, outcomes), count=1)
        return _REFERENCE.sub(
            lambda found: found[0] if int(found[2]) > int(found[3]) else moved(found),
            reversed_first,
        )

    return written


def renotating(write: AnswerWriter) -> AnswerWriter:
    """Refer to the same results in the other notations, a different one each time."""

    def written(question: str, outcomes: Sequence[RetrievalOutcome]) -> str:
        ledger = Ledger.of(*(outcome.results for outcome in outcomes))
        notations = cycle(_NOTATIONS)
        return _REFERENCE.sub(
            lambda found: _renotated(found, ledger, next(notations)), write(question, outcomes)
        )

    return written


def unreferenced(write: AnswerWriter) -> AnswerWriter:
    """Leave out every reference."""
    return lambda question, outcomes: re.sub(
        r"\s*\[Source: [^\]]*\]", "", write(question, outcomes)
    )


def saying(text: str) -> AnswerWriter:
    """Say this, whatever was asked and found."""
    return lambda _question, _outcomes: text


_NOTATIONS: Final = (
    "[Source {n}]",
    "[{n}]",
    "[source: {f}, line {a}]",
    "[Source: {f}, lines {a}\u2013{b}]",  # an en dash
    "\uff3bSource {n}\uff3d",  # full-width brackets
    "[{n}, {n}]",
)


def _renotated(found: re.Match[str], ledger: Ledger, notation: str) -> str:
    entry = ledger.lines(found[1], int(found[2]), int(found[3]))
    if entry is None:
        return found[0]
    return notation.format(n=entry.number, f=found[1], a=found[2], b=found[3])


def _with(write: AnswerWriter, more: str) -> AnswerWriter:
    return lambda question, outcomes: f"{write(question, outcomes)}\n{more}"


def _lines(entry: Evidence) -> Iterator[str]:
    citation = entry.citation
    for number, line in enumerate(entry.content.split("\n"), start=citation.start_line):
        if line.strip() and not _HEADING.match(line):
            # brackets of the document's own might pass for a reference of this answer
            text = line.strip().replace("[", "(").replace("]", ")")
            yield f"{text} {Citation(citation.source_file, number, number)}"
