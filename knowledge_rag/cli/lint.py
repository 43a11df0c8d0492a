"""``knowledge-rag lint``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import err, out, print_finding, print_json, print_note
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.extract.lint.patterns import Finding

SHOWN_AFTER_INGEST: Final = 20


def lint(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with documents.")],
    json: JsonOption = False,
) -> None:
    """Look for secrets, hidden Unicode and text aimed at a model.

    Reads the same files as ingest and prints `path:line:column kind: message: excerpt` for each
    finding, with secrets masked. Exits 1 on findings or unreadable files.
    """
    from knowledge_rag.extract.lint.check import lint_text
    from knowledge_rag.local.corpus import find_documents
    from knowledge_rag.local.corpus_files import read_extracted

    found: list[Finding] = []
    skipped: list[UnreadableDocument] = []
    notes: list[str] = []
    files = find_documents(folder)
    for file in files:
        try:
            read = read_extracted(file)
        except UnreadableDocument as error:
            skipped.append(error)
        else:
            found += lint_text(file.source_file, read.text)
            notes += [f"{file.source_file}: {note}" for note in read.notes]
    if json:
        reasons = [{"document": unread.name, "reason": unread.reason} for unread in skipped]
        findings = [finding.to_dict() for finding in found]
        print_json({"documents": len(files), "findings": findings, "skipped": reasons})
    else:
        _show(found, len(files))
    for unread in skipped:
        print_note("skipped", str(unread))
    for note in notes:
        print_note("warning", note)
    if found or skipped:
        raise typer.Exit(ExitCode.FINDINGS)


def show_first(findings: Sequence[Finding], folder: Path) -> None:
    """Print the first findings of an ingest on standard error, and the command for the others."""
    for finding in findings[:SHOWN_AFTER_INGEST]:
        print_note("lint", str(finding))
    more = sum(finding.count for finding in findings[SHOWN_AFTER_INGEST:])
    if more:
        print_note("lint", f"and {more} more: knowledge-rag lint {shlex.quote(str(folder))}")


def _show(findings: Sequence[Finding], documents: int) -> None:
    console = out()
    for finding in findings:
        print_finding(console, str(finding))
    number = counted(sum(finding.count for finding in findings), "finding")
    err().print(f"{number} in {counted(documents, 'document')}", style="dim")
