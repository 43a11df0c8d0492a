"""Finds and reads the documents of a folder."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.errors import InvalidCitation, UnreadableDocument
from knowledge_rag.extract import sidecar
from knowledge_rag.extract.documents import SUFFIXES, extract
from knowledge_rag.local.errors import UnusableCorpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.documents import Extracted

MAX_FILE_BYTES: Final = 20 * 1024 * 1024
"""A larger file is a dump, not a document; it is skipped and reported."""


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One document file.

    Args:
        source_file: its path below the corpus root, ``/``-separated.
        path: where it lies.
        beside: the file that says more of it, if there is one.
    """

    source_file: str
    path: Path
    beside: Path | None = None

    @classmethod
    def alone(cls, path: Path) -> CorpusFile:
        """Give a document that is named by itself, and what lies beside it."""
        beside = path.with_name(path.name + sidecar.SUFFIX)
        return cls(path.name, path, beside if beside.is_file() else None)


def find_documents(root: Path) -> list[CorpusFile]:
    """List the documents below a folder, sorted by path.

    Hidden files and folders are left out. Symbolic links are followed as long as they stay inside
    the folder, and no folder is visited twice.

    Raises:
        UnusableCorpus: the folder is missing, is no folder, can't be listed, or holds no document.
    """
    if not root.exists():
        raise UnusableCorpus(f"no such folder: {root}")
    if not root.is_dir():
        raise UnusableCorpus(f"not a folder: {root}")
    try:
        found = sorted(_walk(root.resolve()), key=lambda file: file.source_file)
    except OSError as error:
        raise UnusableCorpus(f"can't list {error.filename}: {error.strerror}") from error
    if not found:
        kinds = ", ".join(f"*{suffix}" for suffix in sorted(SUFFIXES))
        raise UnusableCorpus(f"no documents ({kinds}) in {root}")
    return found


def read_bytes(file: CorpusFile, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Read a document.

    Raises:
        UnreadableDocument: it can't be opened, or is too large; or no citation could name it.
    """
    try:
        check_source_file(file.source_file)
        data = read_regular(file.path, max_bytes + 1)
    except InvalidCitation as error:
        raise UnreadableDocument(ascii(file.source_file), "its name can't be cited") from error
    except OSError as error:
        raise UnreadableDocument(file.source_file, error.strerror or str(error)) from error
    if len(data) > max_bytes:
        raise UnreadableDocument(file.source_file, f"larger than {max_bytes / 1024 / 1024:.3g} MiB")
    return data


def read_beside(file: CorpusFile) -> bytes | None:
    """Read what is said of a document beside it: a little more than is allowed of it at most.

    Returns:
        ``None`` where there is no such file; nothing of one that can't be read, which is told later.
    """
    if file.beside is None:
        return None
    try:
        return read_regular(file.beside, sidecar.MAX_BYTES + 1)
    except OSError:
        return b""


def read_extracted(file: CorpusFile, max_bytes: int = MAX_FILE_BYTES) -> Extracted:
    """Read a document of any kind, and the text that its lines are counted in.

    Raises:
        UnreadableDocument: it can't be opened, is too large, or holds no text; or no citation could
            name it.
    """
    return extract(file.source_file, read_bytes(file, max_bytes), read_beside(file))


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read the beginning of a regular file; never wait for the other end of a pipe.

    Raises:
        OSError: it can't be opened, or is something else than a file.
    """
    refused = OSError(errno.EINVAL, "not a regular file", str(path))
    if not path.is_dir() and path.exists() and not path.is_file():
        raise refused
    # without waiting, since it may have become a pipe just now
    with open(path, "rb", opener=_without_waiting) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise refused
        return opened.read(max_bytes)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _walk(root: Path) -> Iterator[CorpusFile]:
    visited: set[Path] = set()
    for folder, folders, names in os.walk(root, onerror=_raise, followlinks=True):
        real = Path(folder).resolve()
        if real in visited or not real.is_relative_to(root):
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = set(names)
        for name in names:
            path = Path(folder, name)
            if _is_document(path, root):
                beside = Path(folder, name + sidecar.SUFFIX)
                known = beside.name in here and _is_inside(beside, root)
                yield CorpusFile(path.relative_to(root).as_posix(), path, beside if known else None)


def _is_document(path: Path, root: Path) -> bool:
    if path.name.startswith(".") or path.suffix.lower() not in SUFFIXES:
        return False
    return _is_inside(path, root)


def _is_inside(path: Path, root: Path) -> bool:
    if path.is_symlink():
        return path.exists() and path.resolve().is_relative_to(root)
    return True  # a pipe too: what can't be read is reported, not passed over


def _raise(error: OSError) -> None:
    raise error
