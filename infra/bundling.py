"""Bundles: what goes into a Lambda's zip, built without Docker and the same everywhere.

A bundle is the import closure of one handler, the wheels that a file in ``requirements`` pins, and
their byte code. What reads web pages and PDFs ships with the function that reads them, and no other.
``python -m infra.bundling MODULE FOLDER`` builds one and tells its path, its hash and its size.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from infra.bundles.byte_code import compile_folder
from infra.bundles.cache import built_once
from infra.bundles.closure import import_closure
from infra.bundles.contents import (
    check_libraries,
    content_hash,
    digest,
    files_of,
    set_modes,
    zipped_size,
)
from infra.bundles.errors import BundlingError
from infra.bundles.target import PYTHON_RUNTIME, ROOT, lambda_target, native_target
from infra.bundles.wheels import install

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.bundles.target import Target

LOCK: Final = ROOT / "requirements" / "lambda.txt"
"""What every function needs."""
LOCKS: Final = {
    "lambdas.chunk_documents.handler": ROOT / "requirements" / "lambda-documents.txt",
}
"""Of the functions that need more: that, and what every function needs."""
BUNDLES: Final = ROOT / ".cache" / "lambda"
"""Where synth keeps its bundles; git does not see it and ``make clean`` removes it."""

NO_BYTE_CODE: Final = (
    f"no Python {PYTHON_RUNTIME} here to compile with: the bundle has sources only, and a cold start"
    f" compiles them (1.3 to 1.5 times as long); put python{PYTHON_RUNTIME} on PATH"
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A folder that becomes a Lambda's zip.

    Args:
        path: of the folder.
        content_hash: of its files: names, modes and bytes, the same on every machine.
        byte_code: whether it holds byte code.
    """

    path: Path
    content_hash: str
    byte_code: bool


def bundle(module: str, target: Path, *, native: bool = False) -> Bundle:
    """Bundle a handler, or find the bundle of an earlier run whose inputs were the same.

    Args:
        module: dotted name of the handler's module.
        target: folder that bundles are kept in, each under its module's name and its inputs' hash.
        native: build for this machine's interpreter instead of the Lambda runtime, to try it out.

    Raises:
        BundlingError: there is no such module, or its wheels can't be had.
    """
    where = native_target() if native else lambda_target()
    sources = import_closure(module, ROOT)
    lock = LOCKS.get(module, LOCK)
    wheels_key = _wheels_key(lock, where)
    key = digest([wheels_key.encode(), *_parts(sources)])

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
    """Hash what the wheels' files follow from: the lock, the target, and how they are made."""
    recipe = Path(__file__).with_name("bundles")
    parts = [path.read_bytes() for path in sorted(recipe.glob("*.py"))]
    return digest([where.key.encode(), lock.read_bytes(), Path(__file__).read_bytes(), *parts])


def _parts(sources: Sequence[Path]) -> list[bytes]:
    parts = []
    for source in sources:
        parts += [source.as_posix().encode(), (ROOT / source).read_bytes()]
    return parts


def main(arguments: Sequence[str]) -> int:
    """Build a bundle and tell what came of it."""
    parser = argparse.ArgumentParser(prog="python -m infra.bundling", description=__doc__)
    parser.add_argument("module", help="of the handler, e.g. lambdas.retrieve_knowledge.handler")
    parser.add_argument("folder", type=Path, help="that bundles are kept in")
    parser.add_argument("--native", action="store_true", help="for this machine's interpreter")
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
