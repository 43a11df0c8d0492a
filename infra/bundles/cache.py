"""Folders that are built once for their inputs, and found again."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT: Final = 6
"""Folders of one name that stay, some 9 MB each: the last states of the code, for both targets."""

_KEY_CHARACTERS: Final = 16


def built_once(parent: Path, name: str, key: str, build: Callable[[Path], None]) -> Path:
    """Give the folder of a name and a key; build it if it is not there.

    It appears whole or not at all, and of several processes that build it at a time one wins.

    Args:
        parent: of all such folders.
        name: that people recognise it by.
        key: hash of everything that its content follows from.
        build: fills an empty folder.
    """
    folder = parent / f"{name}-{key[:_KEY_CHARACTERS]}"
    if not folder.is_dir():
        parent.mkdir(parents=True, exist_ok=True)
        (parent / ".gitignore").write_text("*\n")  # nothing here is a source, for git or a linter
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
        if not folder.is_dir():  # else another process was faster, and what it built is the same
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _forget_oldest(parent: Path, name: str) -> None:
    pattern = f"{name}-" + "[0-9a-f]" * _KEY_CHARACTERS
    newest_first = sorted(parent.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
    for folder in newest_first[KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)
