"""Bundles: the contents of a Lambda's zip, built without Docker and the same everywhere.

A bundle is the import closure of one handler, the wheels that a file in ``requirements`` pins, and
their byte code, with which a cold start doesn't compile a hundred files. boto3 is the runtime's own.
``python -m infra.bundling MODULE FOLDER`` builds a bundle and prints its path, hash and size.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grimp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


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

LOCK: Final = ROOT / "requirements" / "lambda.txt"
"""Packages of every function."""
LOCKS: Final = {
    "lambdas.advise_incident.handler": ROOT / "requirements" / "lambda-advice.txt",
    "lambdas.chunk_documents.handler": ROOT / "requirements" / "lambda-documents.txt",
}
"""Packages of the functions that need more; each file includes those of every function."""
SHIPPED: Final = {"lambdas.advise_incident.handler": (Path("prompts/knowledge-rag-agent.txt"),)}
"""Other files that functions read, by their path in the project (``knowledge_rag.core.files``)."""
PACKAGES: Final = ("knowledge_rag", "lambdas")
"""Our packages that bundles may contain."""
DATA: Final = "tables"
"""Name of a package's folder with data that its code reads."""
BUNDLES: Final = ROOT / ".cache" / "lambda"
"""Folder of the bundles of ``synth``; git ignores it and ``make clean`` removes it."""

NO_BYTE_CODE: Final = (
    f"no Python {PYTHON_RUNTIME} found to compile with: the bundle has sources only, and a cold start"
    f" compiles them (1.3 to 1.5 times as long); put python{PYTHON_RUNTIME} on PATH"
)

KEPT: Final = 6
"""Bundles of one name that stay, some 9 MB each: the latest states of the code, for both targets."""

_KEY_CHARACTERS: Final = 16
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755


class BundlingError(Exception):
    """A bundle can't be built; the message is one line with the problem and its remedy."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The folder of a Lambda's zip; its hash is the same on every machine."""

    path: Path
    content_hash: str
    byte_code: bool


def bundle(module: str, target: Path, *, native: bool = False) -> Bundle:
    """Bundle a handler, or return the bundle of an earlier run with the same inputs.

    Args:
        module: dotted name of the handler's module.
        target: folder of bundles, each named by its module and the hash of its inputs.
        native: build for this machine's interpreter instead of the Lambda runtime, to try it out.

    Raises:
        BundlingError: there is no such module, or its wheels can't be installed.
    """
    where = native_target() if native else lambda_target()
    sources = import_closure(module, ROOT)
    sources += (*data_beside(sources, ROOT), *SHIPPED.get(module, ()))
    lock = LOCKS.get(module, LOCK)
    wheels_key = _wheels_key(lock, where)
    read = [(name.as_posix().encode(), (ROOT / name).read_bytes()) for name in sources]
    key = digest([wheels_key.encode(), *chain.from_iterable(read)])

    def build(folder: Path) -> None:
        for source in sources:
            (folder / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, folder / source)
        _finish(folder, where)
        wheels = built_once(
            target, lock.stem, wheels_key, lambda empty: _wheels(lock, empty, where)
        )
        shutil.copytree(wheels, folder, dirs_exist_ok=True)

    path = built_once(target, module, key, build)
    return Bundle(path, content_hash(path), where.compiler is not None)


def _wheels(lock: Path, folder: Path, where: Target) -> None:
    install(lock, folder, where)
    if where.wheel_platform:
        check_libraries(folder)
    _finish(folder, where)


def _finish(folder: Path, where: Target) -> None:
    if where.compiler:
        compile_folder(folder, where.compiler)
    set_modes(folder)


def _wheels_key(lock: Path, where: Target) -> str:
    """Hash the inputs of the wheels' folder: the target, the lock, and the code that makes it."""
    return digest([where.key.encode(), lock.read_bytes(), Path(__file__).read_bytes()])


def built_once(parent: Path, name: str, key: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of a name and a key, the hash of its inputs; build it if it doesn't exist.

    It appears complete or not at all; if several processes build it at the same time, one wins.
    """
    folder = parent / f"{name}-{key[:_KEY_CHARACTERS]}"
    if not folder.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        (parent / ".gitignore").write_text("*\n")  # git and linters skip the copied sources
        _build(folder, build)
        _forget_oldest(parent, name)
    os.utime(folder)
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
    try:
        build(work)
        work.rename(folder)
    except OSError:
        if not folder.is_dir():  # else another process was faster and built the same folder
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _forget_oldest(parent: Path, name: str) -> None:
    pattern = f"{name}-" + "[0-9a-f]" * _KEY_CHARACTERS
    newest_first = sorted(parent.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in newest_first[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


def data_beside(sources: Iterable[Path], root: Path) -> tuple[Path, ...]:
    """List the JSON files in folders named DATA beside the sources, sorted."""
    folders = {source.parent / DATA for source in sources}
    found = (path for folder in folders for path in (root / folder).glob("*.json"))
    return tuple(sorted(path.relative_to(root) for path in found))


def import_closure(module: str, root: Path) -> tuple[Path, ...]:
    """List the sources that a module needs at run time, relative to ``root``, sorted.

    Imports within functions count, imports for annotations (``if TYPE_CHECKING``) don't.

    Raises:
        BundlingError: there is no such module.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)
    if module not in graph.modules:
        raise BundlingError(f"no module {module} in {' or '.join(PACKAGES)}")
    names = {module, *graph.find_upstream_modules(module)}
    needed = {
        ".".join(parts[:end])
        for parts in (it.split(".") for it in names)
        for end in range(1, len(parts) + 1)
    }
    return tuple(sorted(_source(name, root) for name in needed))


def _source(name: str, root: Path) -> Path:
    path = Path(*name.split("."))
    for source in (path.with_suffix(".py"), path / "__init__.py"):
        if (root / source).is_file():
            return source
    raise BundlingError(f"no source of {name} under {root}: run this from the project's checkout")


def files_of(folder: Path) -> list[Path]:
    """List every file below a folder, relative to it, sorted by path."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(found, key=Path.as_posix)


def digest(parts: Iterable[bytes]) -> str:
    """Hash parts of any length; lists that differ in any part have different digests."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def content_hash(folder: Path) -> str:
    """Hash the names, modes and bytes of a folder's files, except byte code: the same on every machine.

    Byte code is derived from its source, and a machine without the runtime's Python doesn't produce it.
    """
    parts: list[bytes] = []
    for path in files_of(folder):
        if path.suffix != ".pyc":
            whole = folder / path
            parts += [path.as_posix().encode(), f"{whole.stat().st_mode & 0o777:o}".encode()]
            parts.append(whole.read_bytes())
    return digest(parts)


def set_modes(folder: Path) -> None:
    """Set modes that Lambda's user can read, regardless of this machine's umask."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(_FOLDER_MODE if path.is_dir() else _FILE_MODE)


def zipped_size(folder: Path) -> int:
    """Return a folder's size as a zip in bytes, compressed as CDK does it (deflate, level 9)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files_of(folder):
            archive.write(folder / path, path.as_posix())
    return buffer.tell()


# targets and their byte code

_PROBE: Final = (
    "import importlib.util, sys;"
    "print(sys.implementation.cache_tag, importlib.util.MAGIC_NUMBER.hex())"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a bundle runs.

    Args:
        python: version, ``major.minor``.
        compiler: interpreter whose byte code the target can read, if there is one.
        wheel_platform: uv's name of the platform, ``None`` for this machine's.
    """

    python: str
    compiler: Path | None
    wheel_platform: str | None = None

    @property
    def key(self) -> str:
        """The parts of the target that a bundle's files depend on, as text."""
        where = self.wheel_platform or f"{sys.platform}-{platform.machine()}"
        return f"{self.python} {where} {cache_tag(self.python) if self.compiler else 'sources'}"


def lambda_target() -> Target:
    """Return the Lambda runtime: arm64, :data:`PYTHON_RUNTIME`."""
    return Target(PYTHON_RUNTIME, find_compiler(PYTHON_RUNTIME), WHEEL_PLATFORM)


def native_target() -> Target:
    """Return the running interpreter as a target, to try a bundle out."""
    return Target(f"{sys.version_info.major}.{sys.version_info.minor}", Path(sys.executable))


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

    It is marked *unchecked*: Python uses it regardless of the sources' timestamps, which a zip doesn't preserve.

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


# wheels

_KEPT_METADATA: Final = {"METADATA", "WHEEL"}
_COMPILED_FROM: Final = {".c", ".pyx", ".pxd", ".pxi"}
"""Sources of native libraries, which some wheels contain."""
_LICENCES: Final = ("licen", "copying", "notice", "authors")
_LIBRARIES: Final = {".so", ".pyd", ".dylib", ".dll"}


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
    parts = (line.strip() for line in done.stderr.splitlines())
    said = ": ".join(part.removeprefix("error: ").removeprefix("cause: ") for part in parts if part)
    raise BundlingError(f"can't get the wheels of {lock.name} for a Lambda bundle: {said[:500]}")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    if not found:
        raise BundlingError("uv is needed to bundle a Lambda: run 'make setup', or install uv")
    return found


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


def check_libraries(folder: Path) -> None:
    """Check that every native library is for Lambda's processors.

    Raises:
        BundlingError: a library is for other ones; its import would fail, and only in AWS.
    """
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            header = file.read(20)
        is_elf = header.startswith(b"\x7fELF")
        machine = int.from_bytes(header[18:20], "little") if is_elf else None
        if (is_elf or path.suffix in _LIBRARIES) and machine != ELF_AARCH64:
            raise BundlingError(
                f"{path.relative_to(folder).as_posix()} is not a library for Lambda's arm64 processors"
            )


def main(arguments: Sequence[str]) -> int:
    """Build a bundle and print its path, hash and size."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundling", description=__doc__)
    add = parser.add_argument
    add("module", help="module of the handler, e.g. lambdas.retrieve_knowledge.handler")
    add("folder", type=Path, help="folder of bundles")
    add("--native", action="store_true", help="build for this machine's interpreter")
    given = parser.parse_args(arguments)
    try:
        done = bundle(given.module, given.folder, native=given.native)
    except BundlingError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    if not done.byte_code:
        sys.stderr.write(f"warning: {NO_BYTE_CODE}\n")
    sys.stdout.write(f"path  {done.path}\nhash  {done.content_hash}\n")
    sys.stdout.write(
        f"size  {zipped_size(done.path):,} bytes zipped, {len(files_of(done.path))} files\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
