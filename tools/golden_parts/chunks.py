"""Records ids of the sample corpus's chunks, and a digest for each set of other people's documents."""

from __future__ import annotations

import tarfile
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.metadata import stored_text, to_metadata
from knowledge_rag.extract.documents import cut
from knowledge_rag.local.corpus import find_documents
from knowledge_rag.local.corpus_files import read_extracted
from tests.support.local import CORPUS, PROJECT
from tests.support.shared_data import SHARED_DATA
from tools.golden_parts.base import Recorded, Skipped, digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from knowledge_rag.core.chunks import Chunk
    from tools.golden_parts.base import Run

FOLDERS = {
    "polarity": PROJECT / "tests/data/polarity/docs",
    "school": PROJECT / "tests/data/school/site",
}
"""Other documents of the project: web pages and plain text."""
SHARED_FOLDERS = ("markdown/rare", "oncall/acme-media/docs", "retrieval/docs")


def record(_run: Run) -> Recorded:
    """Record the chunks of each file in the sample corpus, and a digest per file of the other folders."""
    values: dict[str, Any] = {
        file.source_file: _listed(cut(read_extracted(file))) for file in find_documents(CORPUS)
    }
    for name, folder in FOLDERS.items():
        values |= {
            f"{name}/{file.source_file}": _digest(cut(read_extracted(file)))
            for file in find_documents(folder)
        }
    return Recorded(values)


def record_documents(_run: Run) -> Recorded:
    """Record a digest for each set of the shared documents."""
    trees = SHARED_DATA / "markdown" / "trees.tar.xz"
    if not trees.exists():
        raise Skipped(f"{trees.parent} is missing")
    recorded = Recorded()
    for name, digests in _trees(trees).items():
        recorded.values[name] = {"files": len(digests), "digest": digest(digests)}
    for name in SHARED_FOLDERS:
        if not (folder := SHARED_DATA / name).exists():
            recorded.skipped[name] = f"{folder} is missing"
            continue
        digests = _folder(folder)
        recorded.values[name] = {"files": len(digests), "digest": digest(digests)}
    return recorded


def _trees(path: Path) -> dict[str, dict[str, str]]:
    """Return the digests of an archive's documents, by top folder and name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    with tarfile.open(path) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.name.endswith(".md") else None
            if content is not None:
                document, text = read_document(member.name, content.read())
                tree, _, name = member.name.partition("/")
                found[tree][name] = _digest(chunk_text(document, text))
    return found


def _folder(folder: Path) -> dict[str, str]:
    digests = {}
    for file in find_documents(folder):
        try:
            digests[file.source_file] = _digest(cut(read_extracted(file)))
        except UnreadableDocument as error:
            digests[file.source_file] = error.reason
    return digests


def _listed(chunks: Iterable[Chunk]) -> list[str]:
    return [
        f"{each.start_line}-{each.end_line} {each.chunk_id} {_digest([each])}" for each in chunks
    ]


def _digest(chunks: Iterable[Chunk]) -> str:
    return digest([(each.chunk_id, stored_text(each), to_metadata(each)) for each in chunks])
