"""Third-party packages of a bundle: the wheels that a lock pins by hash.

boto3 is not among them, because the Lambda runtime has it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.bundle_target import BundlingError

if TYPE_CHECKING:
    from infra.bundle_target import Target

_KEPT_METADATA: Final = {"METADATA", "WHEEL"}
_COMPILED_FROM: Final = {".c", ".pyx", ".pxd", ".pxi"}
"""Sources of native libraries, which some wheels contain."""
_LICENCES: Final = ("licen", "copying", "notice", "authors")
_ELF: Final = b"\x7fELF"
_LIBRARIES: Final = {".so", ".pyd", ".dylib", ".dll"}
_MAX_SAID: Final = 500
"""Maximum characters of uv's error messages that our own error repeats."""


def install(lock: Path, folder: Path, target: Target) -> None:
    """Install the locked wheels into a folder and remove the files that a function never reads.

    Raises:
        BundlingError: uv is missing, or a wheel can't be downloaded or differs from the lock.
    """
    command = [_uv(), "pip", "install", "--quiet", "--python", sys.executable]
    command += ["--target", str(folder), "--python-version", target.python]
    if target.wheel_platform:
        command += ["--python-platform", target.wheel_platform]
    # copies, because modes are set later, and through hard links that would change uv's cache
    command += ["--link-mode", "copy", "--no-compile-bytecode", "--only-binary", ":all:"]
    command += ["--require-hashes", "--no-deps", "-r", str(lock)]
    _run(command, lock)
    _prune(folder)


def _run(command: list[str], lock: Path) -> None:
    """Run uv, from its cache alone if possible, so that a bundle can be built without a network."""
    for network in (["--offline"], []):
        done = subprocess.run([*command, *network], capture_output=True, text=True, check=False)  # noqa: S603 - uv with arguments of this module
        if not done.returncode:
            return
    raise BundlingError(
        f"can't get the wheels of {lock.name} for a Lambda bundle: {_said(done.stderr)}"
    )


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise BundlingError("uv is needed to bundle a Lambda: run 'make setup', or install uv")
    return found


def _said(errors: str) -> str:
    """Join uv's error messages into one line."""
    parts = (line.strip() for line in errors.splitlines())
    said = ": ".join(part.removeprefix("error: ").removeprefix("cause: ") for part in parts if part)
    return said[:_MAX_SAID]


def _prune(folder: Path) -> None:
    """Remove commands, most metadata, tests and libraries' sources; licences and scanners' metadata stay."""
    for path in sorted(folder.iterdir()):
        if path.name == "bin" or path.name.startswith("."):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif path.suffix == ".dist-info":
            _prune_metadata(path)
    for path in [*folder.rglob("tests"), *folder.rglob("__pycache__")]:
        shutil.rmtree(path)
    for path in folder.rglob("*"):
        if path.suffix in _COMPILED_FROM:
            path.unlink()


def _prune_metadata(folder: Path) -> None:
    for path in folder.iterdir():
        kept = path.name in _KEPT_METADATA or path.name.lower().startswith(_LICENCES)
        if not kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def check_libraries(folder: Path, elf_machine: int) -> None:
    """Check that every native library is for one kind of processor, given by its ``e_machine`` in ELF.

    Raises:
        BundlingError: a library is for another one; its import would fail, and only in AWS.
    """
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            header = file.read(20)
        is_elf = header.startswith(_ELF)
        if (is_elf or path.suffix in _LIBRARIES) and _machine(header) != elf_machine:
            raise BundlingError(
                f"{path.relative_to(folder).as_posix()} is not a library for Lambda's arm64 processors"
            )


def _machine(header: bytes) -> int | None:
    return int.from_bytes(header[18:20], "little") if header.startswith(_ELF) else None
