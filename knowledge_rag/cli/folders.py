"""``knowledge-rag lint`` and ``chunk``, which read a folder and no knowledge base."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import err, out, print_finding, print_json, print_note
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.metadata import PAGE
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.chunking import ChunkingSettings
    from knowledge_rag.extract.lint.patterns import Finding
    from knowledge_rag.local.corpus import CorpusFile

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
        _show_findings(found, len(files))
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


def _show_findings(findings: Sequence[Finding], documents: int) -> None:
    console = out()
    for finding in findings:
        print_finding(console, str(finding))
    number = counted(sum(finding.count for finding in findings), "finding")
    err().print(f"{number} in {counted(documents, 'document')}", style="dim")


def chunk(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A document, or a folder.")],
    max_tokens: Annotated[
        int, typer.Option(help="Cap of a chunk in tokens of the embedding model.")
    ] = 256,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Print the text that line numbers refer to, for example of a web page or PDF.",
        ),
    ] = False,
    json: JsonOption = False,  # noqa: ARG001 - the output is JSON either way
) -> None:
    """Print the chunks of a document or a folder, as JSON Lines.

    Each has source_file (relative to the folder), start_line, end_line, section_header, for PDFs the page, and
    the lines' verbatim content. Exits 1 if a file in the folder could not be read.
    """
    from knowledge_rag.core.chunking import ChunkingSettings

    settings = ChunkingSettings(max_tokens)
    if text:
        _print_text(path)
        return
    failed = False
    for file in _files(path):
        try:
            _print_chunks(file, settings)
        except UnreadableDocument as error:
            if not path.is_dir():
                raise
            failed = True
            print_note("skipped", str(error))
    if failed:
        raise typer.Exit(ExitCode.FINDINGS)


def _files(path: Path) -> Iterator[CorpusFile]:
    from knowledge_rag.local.corpus import CorpusFile, find_documents

    if path.is_dir():
        yield from find_documents(path)
    elif path.exists():
        yield CorpusFile.alone(path)
    else:
        raise UnreadableDocument(str(path), "no such file or folder")


def _print_chunks(file: CorpusFile, settings: ChunkingSettings) -> None:
    from knowledge_rag.extract.documents import cut
    from knowledge_rag.local.corpus_files import read_extracted

    read = read_extracted(file)
    for note in read.notes:
        print_note("warning", f"{file.source_file}: {note}")
    for piece in cut(read, settings):
        page = {} if piece.page is None else {PAGE: piece.page}
        print_json({**piece.citation.to_dict(), **page, "content": piece.content})


def _print_text(path: Path) -> None:
    from knowledge_rag.local.corpus_files import read_extracted

    if path.is_dir():
        raise InvalidRequest(f"--text is for one document, and {path} is a folder")
    (file,) = _files(path)
    whole = read_extracted(file).text
    # exact for programs; text for people must not steer the terminal
    sys.stdout.write(neutralise(whole) if sys.stdout.isatty() else whole)
