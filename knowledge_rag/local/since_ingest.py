"""Compares a folder's documents with the knowledge base made from them.

An ingest stores its folder's path, relative to the knowledge base. If the folder is available, sizes and
times of files show which have changed; only cited files among them are read.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sqlite3
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import KnowledgeRagError, UnreadableDocument
from knowledge_rag.guardrails.staleness import State, compare, describe, to_dict
from knowledge_rag.local.corpus import find_documents, read_bytes, written
from knowledge_rag.local.store import FOLDER, noted, open_for_reading
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.guardrails.staleness import CitedLines, Staleness
    from knowledge_rag.local.corpus import CorpusFile

_NAMED: Final = 3
"""Maximum documents that a sentence names."""


@dataclass(frozen=True, slots=True)
class SinceIngest:
    """Documents of a folder that have changed since the ingest, by path.

    ``changed`` ones have other bytes, ``new`` ones aren't in the knowledge base, ``gone`` ones no longer in the folder.
    ``cited`` are the cited lines that are no longer the same, and what happened to them.
    """

    folder: Path
    changed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    cited: tuple[Staleness, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything has changed."""
        return bool(self.changed or self.new or self.gone)

    def sentence(self, kb: Path) -> str:
        """Return a sentence with the changes and the command that updates the knowledge base."""
        parts = [
            f"{counted(len(names), 'document')} {what} ({', '.join(names[:_NAMED])}{', ...' * (len(names) > _NAMED)})"
            for names, what in ((self.changed, "changed"), (self.new, "new"), (self.gone, "gone"))
            if names
        ]
        command = shlex.join(["knowledge-rag", "ingest", str(self.folder), "--kb", str(kb)])
        return f"{'; '.join(parts)} since the ingest: run `{command}`"

    def on_citations(self) -> list[str]:
        """Return a sentence for each citation whose lines have changed."""
        return [f"{describe(one)} since the ingest." for one in self.cited]

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "folder": str(self.folder),
            "changed": list(self.changed),
            "new": list(self.new),
            "gone": list(self.gone),
            "citations": [to_dict(one) for one in self.cited],
        }


def since_ingest(kb: Path, cited: Iterable[CitedLines] = ()) -> SinceIngest | None:
    """Compare a knowledge base with its folder; ``None`` if the folder isn't available.

    A folder that lacks most of its documents is a different one: a knowledge base is copied without its folder.

    A document that was written and has the same bytes again counts as unchanged.
    """
    folder = folder_of(kb)
    if folder is None:
        return None
    with suppress(KnowledgeRagError, sqlite3.Error, OSError):
        stamps, hashes = _ingested(kb)
        if 2 * sum((folder / name).is_file() for name in hashes) < len(hashes):
            return None  # another folder of that name, or not ours: nothing is known about it
        now = {file.source_file: file for file in find_documents(folder)}
        changed = {
            name
            for name, file in now.items()
            if name in hashes
            and stamps.get(name) != written(file)
            and _sha256(file) != hashes[name]
        }
        gone = hashes.keys() - now.keys()
        compared = _compared(folder, cited, changed | gone)
        new = now.keys() - hashes.keys()
        return SinceIngest(
            folder, tuple(sorted(changed)), tuple(sorted(new)), tuple(sorted(gone)), compared
        )
    return None


def noted_folder(folder: Path, kb: Path) -> str:
    """Return the folder's path in the form in which a knowledge base stores it."""
    return Path(os.path.relpath(folder.resolve(), kb.resolve().parent)).as_posix()


def folder_of(kb: Path) -> Path | None:
    """Return the folder that a knowledge base was made from; ``None`` if it isn't available."""
    note = noted(kb, FOLDER)
    folder = Path(os.path.normpath(kb.resolve().parent / note)) if note else None
    return folder if folder and folder.is_dir() else None


def _ingested(kb: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return stamps and hashes of the documents in a knowledge base."""
    with closing(open_for_reading(kb)) as connection:
        hashes = dict(connection.execute("SELECT source_file, sha256 FROM documents"))
        return dict(connection.execute("SELECT source_file, stamp FROM files")), hashes


def _sha256(file: CorpusFile) -> str:
    try:
        return hashlib.sha256(read_bytes(file)).hexdigest()
    except UnreadableDocument:
        return ""


def _compared(folder: Path, cited: Iterable[CitedLines], other: set[str]) -> tuple[Staleness, ...]:
    lost = [one for one in cited if one.citation.source_file in other]
    if not lost:
        return ()
    # readers of documents take longer to import than a question takes to answer
    from knowledge_rag.local.corpus_files import CorpusFiles  # noqa: PLC0415

    corpus = CorpusFiles(folder)
    found = (compare(one, corpus.now(one.citation.source_file)) for one in lost)
    return tuple(one for one in found if one.state is not State.SAME)
