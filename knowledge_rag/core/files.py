"""Files on this machine: read without blocking on a pipe, written whole or not at all, locked, or shipped."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from knowledge_rag.core.errors import KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_regular(path: Path, max_bytes: int) -> bytes:
    """Read the beginning of a regular file; never block on a pipe.

    Raises:
        OSError: it can't be opened, or is not a regular file.
    """
    refused = OSError(errno.EINVAL, "not a regular file", str(path))
    if not path.is_dir() and path.exists() and not path.is_file():
        raise refused
    # without blocking, since it may have become a pipe just now
    with open(path, "rb", opener=_without_waiting) as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise refused
        return opened.read(max_bytes)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


@contextmanager
def written_atomically(path: Path, mode: int | None = None) -> Iterator[IO[bytes]]:
    """Open a temporary file that, with missing folders, replaces the target when the block succeeds.

    Without a ``mode`` it gets the permissions of any new file.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    new = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        new.chmod(0o666 & ~_umask() if mode is None else mode)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise


def lock(opened: IO[Any]) -> None:
    """Wait for an open file's lock, and hold it until the file is closed; other systems than Unix have none.

    Raises:
        OSError: the file can't be locked.
    """
    with suppress(ImportError):
        import fcntl  # noqa: PLC0415 - Unix only

        fcntl.flock(opened, fcntl.LOCK_EX)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def shipped(name: str) -> Path:
    """Return the path of a file or folder of the wheel or the checkout, e.g. ``"knowledge-corpus"``.

    Raises:
        KnowledgeRagError: it is in neither, so the installation is incomplete.
    """
    package, checkout = Path(__file__).parents[1:3]
    for root in (package / "_resources", checkout):
        if (root / name).exists():
            return root / name
    raise KnowledgeRagError(
        f"{name} is missing from this installation: reinstall it from its wheel or checkout"
    )
