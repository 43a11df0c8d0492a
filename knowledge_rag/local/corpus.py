"""Finds the documents of a folder and reads their bytes."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.errors import InvalidCitation, UnreadableDocument
from knowledge_rag.core.files import read_regular
from knowledge_rag.core.formats import SUFFIXES, is_document
from knowledge_rag.extract import sidecar
from knowledge_rag.local.errors import UnusableCorpus
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""A larger file is a dump, not a document; it is skipped and reported."""

HIDDEN: Final = "a name in the path begins with a dot"
OUTSIDE: Final = "a link that leaves the folder, or is broken"


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One document file, its path below the corpus root, and its metadata file if there is one."""

    source_file: str
    path: Path
    beside: Path | None = None

    @classmethod
    def alone(cls, path: Path) -> CorpusFile:
        """Return a document given by its own path, with its metadata file."""
        beside = path.with_name(path.name + sidecar.SUFFIX)
        return cls(path.name, path, beside if beside.is_file() else None)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Files and folders that look like documents and are not ingested, all for the same reason."""

    reason: str
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return f"{counted(len(self.paths), 'path')}, such as {self.paths[0]}: {self.reason}"

    def to_dict(self) -> dict[str, str | int]:
        """Return the JSON form."""
        return {"count": len(self.paths), "example": self.paths[0], "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder's documents, sorted by path, and the files left out, by reason."""

    documents: list[CorpusFile]
    left_out: tuple[LeftOut, ...]


def find_documents(root: Path) -> list[CorpusFile]:
    """List the documents below a folder; see :func:`list_folder`."""
    return list_folder(root).documents


def list_folder(root: Path) -> Folder:
    """List the documents below a folder, and similar files that are left out.

    Hidden files and folders are left out. Symbolic links are followed as long as they stay inside
    the folder, and no folder is visited twice.

    Raises:
        UnusableCorpus: the folder is missing, not a folder, can't be listed, or has no documents.
    """
    if not root.exists():
        raise UnusableCorpus(f"no such folder: {root}")
    if not root.is_dir():
        raise UnusableCorpus(f"not a folder: {root}")
    top = root.resolve()
    documents: list[CorpusFile] = []
    others: dict[str, list[Path]] = {HIDDEN: [], OUTSIDE: []}
    try:
        for folder, names in _folders(top, others):
            for path in (folder / name for name in names if is_document(name)):
                if path.name.startswith("."):
                    others[HIDDEN].append(path)
                elif not _is_inside(path, top):
                    others[OUTSIDE].append(path)
                else:
                    documents.append(_corpus_file(path, top, names))
    except OSError as error:
        raise UnusableCorpus(f"can't list {error.filename}: {error.strerror}") from error
    left_out = tuple(
        LeftOut(reason, tuple(sorted(path.relative_to(top).as_posix() for path in paths)))
        for reason, paths in others.items()
        if paths
    )
    if not documents:
        kinds = ", ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
        but = "".join(f"; left out {one}" for one in left_out)
        raise UnusableCorpus(f"no documents ({kinds}) in {root}{but}")
    return Folder(sorted(documents, key=lambda file: file.source_file), left_out)


def _folders(root: Path, others: dict[str, list[Path]]) -> Iterator[tuple[Path, set[str]]]:
    """Yield each folder once, and the names of its files; add skipped ones to ``others``."""
    visited: set[Path] = set()
    for name, folders, names in os.walk(root, onerror=_raise, followlinks=True):
        folder = Path(name)
        real = folder.resolve()
        is_outside = not real.is_relative_to(root)
        if is_outside:
            others[OUTSIDE].append(folder)
        if is_outside or real in visited:
            folders.clear()
            continue
        visited.add(real)
        for hidden in (folder / name for name in folders if name.startswith(".")):
            others[HIDDEN] += _looking_like_documents(hidden)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield folder, set(names)


def _corpus_file(path: Path, root: Path, names: set[str]) -> CorpusFile:
    beside = path.with_name(path.name + sidecar.SUFFIX)
    known = beside.name in names and _is_inside(beside, root)
    return CorpusFile(path.relative_to(root).as_posix(), path, beside if known else None)


def _looking_like_documents(folder: Path) -> Iterator[Path]:
    if not folder.is_symlink():  # a link may lead anywhere
        for inner, _, names in os.walk(folder):
            yield from (Path(inner, name) for name in names if is_document(name))


def _is_inside(path: Path, root: Path) -> bool:
    if path.is_symlink():
        return path.exists() and path.resolve().is_relative_to(root)
    return True  # pipes too: unreadable files are reported, not ignored


def _raise(error: OSError) -> None:
    raise error


def read_bytes(file: CorpusFile) -> bytes:
    """Read a document.

    Raises:
        UnreadableDocument: it can't be opened, is too large, or its name can't be cited.
    """
    try:
        check_source_file(file.source_file)
        data = read_regular(file.path, MAX_FILE_BYTES + 1)
    except InvalidCitation as error:
        raise UnreadableDocument(ascii(file.source_file), "its name can't be cited") from error
    except OSError as error:
        raise UnreadableDocument(file.source_file, error.strerror or str(error)) from error
    if len(data) > MAX_FILE_BYTES:
        most = f"{MAX_FILE_BYTES / 1024 / 1024:.3g} MiB"
        raise UnreadableDocument(file.source_file, f"larger than {most}")
    return data


def read_beside(file: CorpusFile) -> bytes | None:
    """Read a document's metadata file; ``None`` if there is none, ``b""`` if it can't be read."""
    if file.beside is None:
        return None
    try:
        return read_regular(file.beside, sidecar.MAX_BYTES + 1)
    except OSError:
        return b""


SETTLED_SECONDS: Final = 2.0
"""A file written less than this ago may be written again in the same tick of its file system's clock: its
time proves nothing yet."""


def stamp(file: CorpusFile) -> str:
    """Return sizes and times of a document and its metadata file, equal as long as neither is written.

    ``""`` if one can't be examined, or was written a moment ago.
    """
    try:
        found = written(file)
        last = max(path.stat().st_mtime for path in (file.path, file.beside) if path)
    except OSError:
        return ""
    return found if time.time() - last >= SETTLED_SECONDS else ""


def written(file: CorpusFile) -> str:
    """Return sizes and times of a document and its metadata file; raises OSError."""
    known = (path.stat() for path in (file.path, file.beside) if path)
    return ", ".join(f"{it.st_size} {it.st_mtime_ns} {it.st_ino}" for it in known)


def changes(root: Path, *, pause: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Yield whenever documents of a folder were written, added or deleted, and none have changed for a while.

    Changes count from this call on. It checks every 2 seconds; in a large folder, it waits ten times as long as
    a check takes.

    While the folder can't be listed, nothing counts as changed. ``pause`` waits for a number of seconds.
    """
    return _changes(root, _state(root), pause)


def _changes(
    root: Path, known: list[tuple[str, str]] | None, pause: Callable[[float], None]
) -> Iterator[None]:
    seen = known
    while True:
        started = time.perf_counter()
        now = _state(root)
        if now is not None and now == seen != known:
            known = now
            yield
        seen = now
        pause(max(SETTLED_SECONDS, 10 * (time.perf_counter() - started)))


def _state(root: Path) -> list[tuple[str, str]] | None:
    try:
        return [(file.source_file, written(file)) for file in find_documents(root)]
    except (OSError, UnusableCorpus):
        return None
