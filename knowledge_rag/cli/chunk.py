"""``knowledge-rag chunk``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knowledge_rag.cli.exits import ExitCode
from knowledge_rag.cli.options import JsonOption
from knowledge_rag.cli.terminal import print_json, tell
from knowledge_rag.core.chunking import ChunkingSettings, chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.local.corpus import CorpusFile, find_documents, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator


def chunk(
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="A document, or a folder.")],
    max_tokens: Annotated[
        int, typer.Option(help="Cap of a chunk in tokens of the embedding model.")
    ] = 256,
    json: JsonOption = False,  # noqa: ARG001 - the output is JSON either way
) -> None:
    """Print the chunks of a document or a folder, one JSON object a line.

    Each has source_file (relative to the folder), start_line, end_line, section_header and the
    lines' verbatim content. Exits 1 if a file of the folder could not be read.
    """
    settings = ChunkingSettings(max_tokens)
    failed = False
    for file in _files(path):
        try:
            _print_chunks(file, settings)
        except UnreadableDocument as error:
            if not path.is_dir():
                raise
            failed = True
            tell("skipped", str(error))
    if failed:
        raise typer.Exit(ExitCode.FINDINGS)


def _files(path: Path) -> Iterator[CorpusFile]:
    if path.is_dir():
        yield from find_documents(path)
    elif path.exists():
        yield CorpusFile(path.name, path)
    else:
        raise UnreadableDocument(str(path), "no such file or folder")


def _print_chunks(file: CorpusFile, settings: ChunkingSettings) -> None:
    document, text = read_document(file.source_file, read_bytes(file))
    for piece in chunk_text(document, text, settings):
        print_json({**piece.citation.to_dict(), "content": piece.content})
