"""Turns one document of an ingestion job into batches of chunks in the intermediate bucket."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidCitation, UnreadableDocument
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.core.metadata import stored_text, to_metadata
from knowledge_rag.drift.stamp import check_text, stamped
from knowledge_rag.extract.dates import dated
from knowledge_rag.extract.documents import cut, extract
from knowledge_rag.extract.lint.check import cautioned, lint_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.drift.findings import Finding as Drifted
    from knowledge_rag.extract.documents import Extracted
    from knowledge_rag.extract.lint.patterns import Finding
    from lambdas.chunk_documents.job import Content, InputFile, Storage
    from lambdas.chunk_documents.settings import Settings

CHUNKS_PER_BATCH: Final = 500
"""Keeps a batch object near half a megabyte at the default cap."""
DEFAULT_CONTENT_TYPE: Final = "TEXT"
EXTRACTED: Final = "extracted"
"""Folder of the intermediate bucket for the text of pages and PDFs, each under the sha256 of its document, which
a citation names, so that its lines can be looked up."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """The outcome of one document.

    Args:
        source_file: its path relative to the corpus root.
        batch_keys: keys of its batches of chunks.
        chunks: number of chunks.
        oversized_lines: lines that alone exceed the maximum size of a chunk.
        difference: where the parser's text differs from the original, ``None`` if it doesn't.
        findings: findings of lint.
        drift: problems in its commands.
        notes: sentences about omitted parts.
    """

    source_file: str
    batch_keys: tuple[str, ...]
    chunks: int
    oversized_lines: tuple[int, ...]
    difference: str | None
    findings: tuple[Finding, ...]
    drift: tuple[Drifted, ...]
    notes: tuple[str, ...]


def transform(file: InputFile, bucket: str, storage: Storage, settings: Settings) -> Transformed:
    """Chunk one document and write its batches.

    Line numbers refer to the original, because citations do; the parser's text is only compared with it. Those
    of a page or a PDF refer to the text extracted from the original, which is stored beside the chunks.

    Raises:
        UnreadableDocument: no chunks can be made of it; the message has the reason.
    """
    if not file.uri:
        raise UnreadableDocument(str(file.location)[:200], "its original is not in S3")
    key, data = storage.original(file.uri)
    contents = [item for batch in file.batch_keys for item in storage.batch(bucket, batch)]
    source_file = key.removeprefix(settings.corpus_prefix)
    try:
        read = extract(source_file, data, storage.beside(file.uri, key))
    except InvalidCitation as error:
        raise UnreadableDocument(key, str(error)) from error
    findings = lint_text(source_file, read.text)
    chunks = cautioned(cut(read, settings.chunking), findings)
    chunks = dated(chunks, read.text, settings.date_order)
    drift = check_text(source_file, read.shape or read.text)
    chunks = stamped(chunks, drift)
    if is_extracted(source_file):
        storage.write_text(bucket, f"{EXTRACTED}/{read.document.sha256}.txt", read.text)
    batches = {_output_key(file, number): part for number, part in enumerate(_parts(chunks))}
    try:
        for batch, part in batches.items():
            storage.write_batch(bucket, batch, [_content(chunk, contents) for chunk in part])
    except UnicodeEncodeError as error:
        reason = "the parser's output contains half a character, a lone surrogate"
        raise UnreadableDocument(key, reason) from error
    return Transformed(
        source_file,
        tuple(batches),
        len(chunks),
        tuple(chunk.start_line for chunk in chunks if chunk.oversized),
        _difference(read, "".join(str(item.get("contentBody", "")) for item in contents)),
        findings,
        tuple(drift),
        read.notes,
    )


def _parts(chunks: list[Chunk]) -> Iterator[list[Chunk]]:
    for start in range(0, len(chunks), CHUNKS_PER_BATCH):
        yield chunks[start : start + CHUNKS_PER_BATCH]


def _output_key(file: InputFile, number: int) -> str:
    """Return a batch's key beside the parser's own, named after its document, so that a rerun overwrites it."""
    folder = file.batch_keys[0].rpartition("/")[0] if file.batch_keys else ""
    name = f"{hashlib.sha256(file.uri.encode()).hexdigest()[:32]}-{number:05d}.json"
    return "/".join(part for part in (folder, "chunks", name) if part)


def _content(chunk: Chunk, parsed: list[dict[str, Any]]) -> Content:
    """Return a chunk in Bedrock's format; our metadata overrides the parser's."""
    first = parsed[0] if parsed else {}
    given = first.get("contentMetadata")
    return {
        "contentBody": stored_text(chunk),
        "contentType": str(first.get("contentType") or DEFAULT_CONTENT_TYPE),
        "contentMetadata": (given if isinstance(given, dict) else {}) | to_metadata(chunk),
    }


def _difference(read: Extracted, parsed: str) -> str | None:
    """Describe where the parser's text differs, apart from blanks at the ends of lines and of the text; ``None`` if nowhere."""
    if is_extracted(read.document.source_file):
        return None  # other extractors return other text, and citations refer to ours
    original = read.text
    ours, theirs = _comparable(original), _comparable(parsed)
    if ours == theirs:
        return None
    lines = enumerate(zip_longest(ours, theirs), start=1)
    first = next(number for number, (our, their) in lines if our != their)
    return f"from line {first} on, {len(original)} characters against {len(parsed)}"


def _comparable(text: str) -> list[str]:
    return [line.rstrip(" \t\r") for line in text.removeprefix("\ufeff").rstrip().split("\n")]
