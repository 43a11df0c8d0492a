"""Shows retrieved evidence: cited lines with their numbers, the score, and the policy's order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.prose import code_lines, folded
from knowledge_rag.cli.terminal import out, print_note, print_pieces, print_sentence, width_of
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.findings import caution_sentence, drift_sentences
from knowledge_rag.core.formats import is_markdown
from knowledge_rag.core.metadata import CAUTION, DRIFT
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.headings import heading_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from knowledge_rag.local.since_ingest import SinceIngest

_NOTHING = "Nothing documented: no line of {} answers that."
_DEGRADED = "The knowledge base could not be searched"


def show_outcome(console: Console, body: Mapping[str, Any], knowledge_base: Path) -> None:
    """Show the body of a 200 answer."""
    for number, result in enumerate(body["results"], start=1):
        _show_result(console, number, result)
    if body["status"] == Status.NO_MATCH:
        print_sentence(console, _NOTHING.format(knowledge_base), "yellow")
    elif body["status"] == Status.DEGRADED:
        print_sentence(console, f"{_DEGRADED}: {body['reason']}.", "red")
    if "notice" in body:
        print_sentence(console, str(body["notice"]), "yellow")


def show_changes(since: SinceIngest | None, kb: Path) -> None:
    """Show the changes in a knowledge base's folder since the ingest: cited lines first."""
    if not since:
        return
    for said in since.on_citations():
        print_sentence(out(), said, "yellow")
    print_note("outdated", since.sentence(kb))


def exit_code_of(status: str) -> ExitCode:
    """Return the exit code of a search's status."""
    codes = {"ok": ExitCode.OK, "no_match": ExitCode.FINDINGS, "degraded": ExitCode.DEGRADED}
    return codes[status]


def _show_result(console: Console, number: int, result: Mapping[str, Any]) -> None:
    citation = Citation(**result["citation"])
    metadata = result.get("metadata", {})
    # on one line, whatever it contains: several could pass for a citation that was never returned
    where = metadata.get("section_path") or metadata.get("title") or citation.source_file
    score = f"{result['relevance_score']:.2f}" if "relevance_score" in result else "-"
    where = heading_words(where) or citation.source_file
    print_pieces(console, [(f"{number}. {where}", "bold"), (f"  score {score}", "dim")])
    print_pieces(console, [(f"{_MARGIN}{citation}", "cyan")])
    notes = [caution_sentence(citation, metadata.get(CAUTION, ()))]
    notes += drift_sentences(citation, metadata.get(DRIFT, ()))
    for said in filter(None, notes):
        print_sentence(console, said, "yellow", first=[(_MARGIN, "")], rest=_MARGIN)
    _show_lines(console, citation, result["content"].split("\n"))
    console.print()


_MARGIN = "   "
_WHOLE = re.compile(r" *[$|]")
"""A row of a table, or a command in plain text."""


def _show_lines(console: Console, citation: Citation, lines: Sequence[str]) -> None:
    """Show cited lines with their numbers; lines are wrapped between words, but never inside code."""
    digits = len(str(citation.end_line))
    width = width_of(console)
    room = None if width is None else max(1, width - len(_MARGIN) - digits - len(" │ "))
    is_words = is_markdown(citation.source_file)
    code = code_lines(lines) if room and is_words else frozenset()
    for position, line in enumerate(lines):
        # in other texts, indented lines may be commands
        may_be_command = _WHOLE.match(line) is not None or (not is_words and line[:1].isspace())
        whole = may_be_command or code is None or position in code
        gutter = f"{_MARGIN}{citation.start_line + position:>{digits}} │ "
        for row in folded(neutralise(line), None if whole else room):
            print_pieces(console, [(gutter, "dim"), (row, "")])
            gutter = f"{_MARGIN}{'':>{digits}} │ "


_HEADINGS = ("before", "after", "source", "dates", "lines", "why")
_NUMBERS = 2
"""Right-aligned columns."""


def show_explanation(
    console: Console, explanation: Mapping[str, Any], *, one_document: bool = False
) -> None:
    """Show the ``explanation`` of an answer; of cut results, only those that the policy cut."""
    if "order" not in explanation:
        order = "document's lines" if one_document else "knowledge base"
        console.print(f"policy {explanation['policy']}: the order is that of the {order}")
        return
    asked = "asks for a date" if explanation["date_related"] else "does not ask for a date"
    today = f", today is {explanation['today']}" if explanation["date_related"] else ""
    console.print(f"policy {explanation['policy']}: the question {asked}{today}", style="bold")
    entries: Sequence[Mapping[str, Any]] = explanation["order"]
    shown = sum(entry["shown"] for entry in entries)
    listed = [entry for entry in entries if entry["shown"] or entry["before"] <= shown]
    for line in _table([_HEADINGS, *map(_cells, listed)]):
        console.print(neutralise(line))
    if len(listed) < len(entries):
        console.print(f"and {len(entries) - len(listed)} more below them", style="dim")


def _cells(entry: Mapping[str, Any]) -> tuple[str, ...]:
    citation = Citation(**entry["citation"])
    where = f"{citation.source_file}:{citation.start_line}-{citation.end_line}"
    dates = ", ".join(entry["dates"]) or "-"
    after = str(entry["after"]) if entry["shown"] else "cut"
    return str(entry["before"]), after, entry["source_kind"], dates, where, entry["why"]


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = (
            cell.rjust(width) if column < _NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
