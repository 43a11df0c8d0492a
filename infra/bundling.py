"""Bundles: the contents of a Lambda's zip, built without Docker and the same everywhere.

A bundle is the import closure of one handler, the wheels that a file in ``requirements`` pins, and
their byte code. The readers of web pages and PDFs ship with ``chunk_documents`` alone, those of
answers with ``advise_incident``.
``python -m infra.bundling MODULE FOLDER`` builds a bundle and prints its path, hash and size.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grimp

from infra.bundle_target import (
    PYTHON_RUNTIME,
    ROOT,
    BundlingError,
    compile_folder,
    lambda_target,
    native_target,
)
from infra.wheels import check_libraries, install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from infra.bundle_target import Target


LOCK: Final = ROOT / "requirements" / "lambda.txt"
"""Packages of every function."""
LOCKS: Final = {
    "lambdas.advise_incident.handler": ROOT / "requirements" / "lambda-advice.txt",
    "lambdas.chunk_documents.handler": ROOT / "requirements" / "lambda-documents.txt",
}
"""Packages of the functions that need more; each file includes those of every function."""
SHIPPED: Final = {
    "lambdas.advise_incident.handler": (Path("prompts/knowledge-rag-agent.txt"),),
}
"""Other files that functions read, by their path in the project (``knowledge_rag.core.files``)."""
PACKAGES: Final = ("knowledge_rag", "lambdas")
"""Our packages that bundles may contain."""
DATA: Final = "tables"
"""Name of a package's folder with data that its code reads."""
BUNDLES: Final = ROOT / ".cache" / "lambda"
"""Folder of the bundles of ``synth``; git ignores it and ``make clean`` removes it."""

_RECIPE: Final = ("bundling.py", "bundle_target.py", "wheels.py")

NO_BYTE_CODE: Final = (
    f"no Python {PYTHON_RUNTIME} found to compile with: the bundle has sources only, and a cold start"
    f" compiles them (1.3 to 1.5 times as long); put python{PYTHON_RUNTIME} on PATH"
)

KEPT: Final = 6
"""Bundles of one name that stay, some 9 MB each: the latest states of the code, for both targets."""

_KEY_CHARACTERS: Final = 16
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755


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
    if where.elf_machine is not None:
        check_libraries(folder, where.elf_machine)
    _finish(folder, where)


def _finish(folder: Path, where: Target) -> None:
    if where.compiler:
        compile_folder(folder, where.compiler)
    set_modes(folder)


def _wheels_key(lock: Path, where: Target) -> str:
    """Hash the inputs of the wheels' folder: the lock, the target, and the code that makes it."""
    recipe = (Path(__file__).with_name(name) for name in _RECIPE)
    return digest([where.key.encode(), lock.read_bytes(), *(path.read_bytes() for path in recipe)])


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

    Imports within functions count, imports for annotations (``if TYPE_CHECKING``) don't. An import by a
    computed name isn't found; tests that run the bundle would fail.

    Raises:
        BundlingError: there is no such module.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)
    if module not in graph.modules:
        raise BundlingError(f"no module {module} in {' or '.join(PACKAGES)}")
    needed = {module, *graph.find_upstream_modules(module)}
    needed |= {parent for name in needed for parent in _parents(name)}
    return tuple(sorted(_source(name, root) for name in needed))


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


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


def main(arguments: Sequence[str]) -> int:
    """Build a bundle and print its path, hash and size."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundling", description=__doc__)
    parser.add_argument(
        "module", help="module of the handler, e.g. lambdas.retrieve_knowledge.handler"
    )
    parser.add_argument("folder", type=Path, help="folder of bundles")
    parser.add_argument(
        "--native", action="store_true", help="build for this machine's interpreter"
    )
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
