"""What is in a bundle: its hash, its size, and whether it can run where it goes."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.bundles.errors import BundlingError

if TYPE_CHECKING:
    from collections.abc import Iterable

_ELF: Final = b"\x7fELF"
_LIBRARIES: Final = {".so", ".pyd", ".dylib", ".dll"}
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755


def files_of(folder: Path) -> list[Path]:
    """List every file below a folder, relative to it, in the order of their names."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(found, key=Path.as_posix)


def digest(parts: Iterable[bytes]) -> str:
    """Hash parts of any length: two lists that differ anywhere have different digests."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def content_hash(folder: Path) -> str:
    """Hash names, modes and bytes of a folder's files: the same on every machine.

    Byte code counts by its name alone. It follows from the source beside it, but interpreters of one
    version need not write it alike to the byte.
    """
    parts: list[bytes] = []
    for path in files_of(folder):
        whole = folder / path
        parts += [path.as_posix().encode(), f"{whole.stat().st_mode & 0o777:o}".encode()]
        parts.append(b"" if path.suffix == ".pyc" else whole.read_bytes())
    return digest(parts)


def set_modes(folder: Path) -> None:
    """Make everything readable by Lambda's user and the same whatever this machine's umask."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(_FOLDER_MODE if path.is_dir() else _FILE_MODE)


def zipped_size(folder: Path) -> int:
    """Size of a folder as a zip, bytes, compressed as CDK does it (deflate, level 9)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files_of(folder):
            archive.write(folder / path, path.as_posix())
    return buffer.tell()


def check_libraries(folder: Path, elf_machine: int) -> None:
    """Check that every native library is for one kind of processor.

    Args:
        folder: of a bundle.
        elf_machine: ``e_machine`` of the processor.

    Raises:
        BundlingError: a library is for another one; it would fail at import, in AWS only.
    """
    for path in files_of(folder):
        with (folder / path).open("rb") as file:
            header = file.read(20)
        is_elf = header.startswith(_ELF)
        if (is_elf or path.suffix in _LIBRARIES) and _machine(header) != elf_machine:
            raise BundlingError(f"{path.as_posix()} is no library for Lambda's arm64 processors")


def _machine(header: bytes) -> int | None:
    return int.from_bytes(header[18:20], "little") if header.startswith(_ELF) else None
