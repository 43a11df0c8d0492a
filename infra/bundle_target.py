"""A bundle's targets, the Lambda runtime or the running interpreter, and their byte code.

With byte code, a cold start doesn't compile a hundred files. It is valid for one Python version only, so
an interpreter of exactly that version compiles it. Files are marked *unchecked*: Python uses them
regardless of the sources' timestamps, which a zip doesn't preserve.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT: Final = Path(__file__).resolve().parents[1]
"""The project's folder, with ``knowledge_rag``, ``lambdas`` and ``requirements``."""

PYTHON_RUNTIME: Final = "3.13"
"""Python of the Lambda runtime. Not a setting, because wheels, byte code and SnapStart depend on it."""

WHEEL_PLATFORM: Final = "aarch64-manylinux2014"
"""Platform of the wheels: Lambda's arm64 is Amazon Linux 2023 with glibc 2.34, newer than the tag requires."""

ELF_AARCH64: Final = 183
"""``e_machine`` of arm64 in an ELF header (ELF for the Arm 64-bit architecture, section 5.1)."""

MAGIC_NUMBERS: Final = {"3.13": "f30d0d0a"}
"""First bytes of a .pyc from a final release; alphas and betas write others, under the same file name."""

DEPLOYED_AT: Final = "/var/task"
"""Lambda's folder for an unpacked bundle; tracebacks show it."""

_PROBE: Final = (
    "import importlib.util, sys;"
    "print(sys.implementation.cache_tag, importlib.util.MAGIC_NUMBER.hex())"
)


class BundlingError(Exception):
    """A bundle can't be built; the message is one line with the problem and its remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a bundle runs.

    Args:
        python: version, ``major.minor``.
        wheel_platform: uv's name of the platform, ``None`` for this machine's.
        elf_machine: ``e_machine`` that native libraries must have, ``None`` for this machine.
        compiler: interpreter whose byte code the target can read, if there is one.
    """

    python: str
    wheel_platform: str | None
    elf_machine: int | None
    compiler: Path | None

    @property
    def key(self) -> str:
        """The parts of the target that a bundle's files depend on, as text."""
        where = self.wheel_platform or f"{sys.platform}-{platform.machine()}"
        return f"{self.python} {where} {cache_tag(self.python) if self.compiler else 'sources'}"


def lambda_target() -> Target:
    """Return the Lambda runtime: arm64, :data:`PYTHON_RUNTIME`."""
    return Target(
        python=PYTHON_RUNTIME,
        wheel_platform=WHEEL_PLATFORM,
        elf_machine=ELF_AARCH64,
        compiler=find_compiler(PYTHON_RUNTIME),
    )


def native_target() -> Target:
    """Return the running interpreter as a target, to try a bundle out."""
    return Target(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        wheel_platform=None,
        elf_machine=None,
        compiler=Path(sys.executable),
    )


def cache_tag(python: str) -> str:
    """Return the tag in the names of a version's byte code files, e.g. ``cpython-313``."""
    return "cpython-" + python.replace(".", "")


@lru_cache
def find_compiler(python: str) -> Path | None:
    """Find an interpreter on this machine whose byte code the runtime of this Python version can read.

    Tries the running interpreter, then ``PATH``, then pyenv; returns ``None`` if none fits.
    """
    wanted = f"{cache_tag(python)} {MAGIC_NUMBERS[python]}"
    return next((path for path in _candidates(python) if _probe(path) == wanted), None)


def _candidates(python: str) -> Iterator[Path]:
    yield Path(sys.executable)
    on_path = shutil.which(f"python{python}")
    if on_path:
        yield Path(on_path)
    # pyenv's own command on PATH runs only the versions that the current folder selects
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{python}*/bin/python{python}"), reverse=True)


def _probe(interpreter: Path) -> str:
    command = [str(interpreter), "-I", "-S", "-c", _PROBE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - an interpreter of this machine, a constant program
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def compile_folder(folder: Path, interpreter: Path) -> None:
    """Write the byte code of every source below a folder; no file contains the folder's own path.

    Raises:
        BundlingError: a source isn't valid in that Python version.
    """
    command = [str(interpreter), "-I", "-m", "compileall", "-q", "-f"]
    command += ["--invalidation-mode", "unchecked-hash"]
    command += ["-s", str(folder), "-p", DEPLOYED_AT, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        output = " ".join((done.stdout + done.stderr).split())
        raise BundlingError(f"can't compile the bundle with {interpreter}: {output[:500]}")
