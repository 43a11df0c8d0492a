"""Byte code: a cold start reads it instead of compiling a hundred files.

It is valid for one Python version only, so an interpreter of exactly that version compiles it. Files
are marked *unchecked*: Python takes them whatever the sources' times, which a zip does not keep, and
a deployed function's sources never change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.bundles.errors import BundlingError

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC_NUMBERS: Final = {"3.13": "f30d0d0a"}
"""First bytes of a .pyc of the final releases; an alpha or beta writes others, under the same name."""

DEPLOYED_AT: Final = "/var/task"
"""Where Lambda unpacks a bundle: the path that tracebacks show."""

_PROBE: Final = (
    "import importlib.util, sys;"
    "print(sys.implementation.cache_tag, importlib.util.MAGIC_NUMBER.hex())"
)


def cache_tag(python: str) -> str:
    """Give the tag in the names of a version's byte code files, ``cpython-313``."""
    return "cpython-" + python.replace(".", "")


@lru_cache
def find_compiler(python: str) -> Path | None:
    """Find an interpreter on this machine whose byte code a Lambda runtime reads.

    Args:
        python: version of the runtime, a key of :data:`MAGIC_NUMBERS`.

    Returns:
        This interpreter, else one on ``PATH``, else one of pyenv's, else ``None``.
    """
    wanted = f"{cache_tag(python)} {MAGIC_NUMBERS[python]}"
    return next((path for path in _candidates(python) if _probe(path) == wanted), None)


def _candidates(python: str) -> Iterator[Path]:
    yield Path(sys.executable)
    on_path = shutil.which(f"python{python}")
    if on_path:
        yield Path(on_path)
    # pyenv's own command on PATH runs only the versions that a folder selects
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
    """Write the byte code of every source below a folder, beside it in ``__pycache__``.

    Args:
        folder: of sources; its own path gets into no file.
        interpreter: that compiles.

    Raises:
        BundlingError: a source is no Python of that version.
    """
    command = [str(interpreter), "-I", "-m", "compileall", "-q", "-f"]
    command += ["--invalidation-mode", "unchecked-hash"]
    command += ["-s", str(folder), "-p", DEPLOYED_AT, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        told = " ".join((done.stdout + done.stderr).split())
        raise BundlingError(f"can't compile the bundle with {interpreter}: {told[:500]}")
