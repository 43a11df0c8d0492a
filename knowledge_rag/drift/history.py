"""What Git knows of the files of a folder: the last commit that changed each.

Git reads its own objects only: no file of the folder, no hook, filter or signature is run or fetched,
since a folder may be anybody's.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

MAX_COMMITS: Final = 5_000
"""Of a repository's history that are read."""
ABBREVIATED: Final = 12
"""Digits of a SHA that are kept."""
_GIT: Final = ("git", "-c", "core.quotePath=off", "-c", "log.showSignature=false", "-c", "core.fsmonitor=false",
               "log", "--no-merges", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
               f"--max-count={MAX_COMMITS}", "--format=%x1e%H%x1f%cs%x1f%an")  # fmt: skip
_RAW: Final = re.compile(r":\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*\t(.+)")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its abbreviated SHA, its ISO day, and who made it."""

    sha: str
    day: str
    author: str


@dataclass(frozen=True, slots=True)
class Change:
    """The last commit that changed a file, and the id of the file's bytes in it."""

    commit: Commit
    blob: str

    def holds(self, data: bytes) -> bool:
        """Whether a file's bytes are those of the commit, and not of a later edit."""
        digest = hashlib.sha256 if len(self.blob) == 64 else hashlib.sha1
        return digest(b"blob %d\0" % len(data) + data).hexdigest() == self.blob


def log(folder: Path, *arguments: str) -> Iterator[tuple[Commit, list[str]]]:
    """Yield the commits of a folder's repository, newest first, each with the lines that Git shows of it.

    Nothing is yielded where there is no repository, or no Git.
    """
    environment = os.environ | {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        running = subprocess.Popen(  # noqa: S603 - arguments of our own
            [*_GIT, *arguments], cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return
    with running:
        try:
            commit, lines = None, []
            for raw in running.stdout or ():
                line = raw.decode(errors="replace").rstrip("\n")
                if not line.startswith("\x1e"):
                    lines.append(line)
                    continue
                if commit:
                    yield commit, lines
                sha, day, author = line[1:].split("\x1f", 2)
                commit, lines = Commit(sha[:ABBREVIATED], day, author), []
            if commit:
                yield commit, lines
        finally:
            running.kill()


def last_changes(folder: Path, names: Collection[str]) -> dict[str, Change]:
    """Return the last change of each file, for those that the last MAX_COMMITS of the folder changed.

    Args:
        folder: in a repository, or not.
        names: paths relative to it, ``/``-separated.
    """
    left = set(names)
    found: dict[str, Change] = {}
    for commit, lines in log(folder, "--raw", "--no-abbrev", "--relative", "--", "."):
        for line in lines:
            shown = _RAW.fullmatch(line)
            if shown and shown[2] in left:
                left.remove(shown[2])
                found[shown[2]] = Change(commit, shown[1])
        if not left:
            break
    return found
