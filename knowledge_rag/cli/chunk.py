"""``knowledge-rag chunk``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import print_json, print_note
from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.metadata import PAGE
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.chunking import ChunkingSettings
    from knowledge_rag.local.corpus import CorpusFile


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
