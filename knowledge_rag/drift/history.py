"""The Git history of a folder's files: the last commit that changed each.

Git reads its own objects only: no file of the folder, no hook, filter or signature is run or fetched,
since a folder may be anybody's.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Timer
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

MAX_COMMITS: Final = 5_000
"""Of a repository's history that are read."""
MAX_LINES: Final = 200_000
"""Of one commit that are read."""
MAX_SHALLOW: Final = 1_000_000
"""Bytes of the list of commits at which a shallow clone ends."""
SECONDS: Final = 60
"""That Git may take for one answer."""
ABBREVIATED: Final = 12
"""Digits of a SHA that are kept."""
_GIT: Final = ("git", "-c", "core.quotePath=off", "-c", "log.showSignature=false", "-c", "core.fsmonitor=false",
               "log", "--no-merges", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
               "--text", "--submodule=short", "--ignore-submodules=all",  # else Git starts another one in each of them
               f"--max-count={MAX_COMMITS}", "--format=%x1e%H%x1f%cs%x1f%an")  # fmt: skip
_BLAME: Final = ("git", "-c", "log.showSignature=false", "blame", "--porcelain", "--no-textconv", "HEAD", "--")  # fmt: skip
"""Of the commit: what lies in the folder would go through filters first."""
_OF_A_HOOK: Final = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_QUARANTINE_PATH",
     "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
)  # fmt: skip
"""Variables of a hook that name its repository, which need not be the folder's."""
_SHA: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_RAW: Final = re.compile(r":\d+ \d+ [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*\t(.+)")


class HistoryError(Exception):
    """Git can't show all of a history: objects are missing, or it took longer than SECONDS."""


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

    Raises:
        HistoryError: behind those that Git showed, if there are more, or no repository, or no Git.
    """
    commit: Commit | None = None
    lines: list[str] = []
    for line in _shown(folder, [*_GIT, *arguments]):
        if not line.startswith("\x1e"):
            if len(lines) < MAX_LINES:
                lines.append(line)
            continue
        if commit:
            yield commit, lines
        sha, day, author = line[1:].split("\x1f", 2)
        commit, lines = Commit(sha[:ABBREVIATED], day, author), []
    if commit:
        yield commit, lines


def _shown(folder: Path, command: Sequence[str]) -> Iterator[str]:
    """Yield the lines that Git prints; it ends with the last one that is wanted. Raises HistoryError if it fails."""
    environment = {name: it for name, it in os.environ.items() if name not in _OF_A_HOOK}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        running = subprocess.Popen(  # noqa: S603 - arguments of our own
            command, cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError as error:
        raise HistoryError("Git can't be run") from error
    late = Timer(SECONDS, running.kill)
    late.start()
    with running:
        try:
            for raw in running.stdout or ():
                yield raw.decode(errors="replace").rstrip("\n")
            if running.wait() != 0:
                raise HistoryError("Git can't read all of the history")
        finally:
            late.cancel()
            running.kill()


def _readable(folder: Path, *arguments: str) -> Iterator[tuple[Commit, list[str]]]:
    """Yield the commits of :func:`log` that can be read."""
    with suppress(HistoryError):
        yield from log(folder, *arguments)


def position(folder: Path) -> tuple[str, str]:
    """Return what a repository's history depends on: its last commit, and where a shallow clone is cut off, ``""`` if it isn't."""
    said: list[str] = []
    with suppress(HistoryError):
        said += _shown(folder, ("git", "rev-parse", "HEAD", "--git-path", "shallow"))
    head, shallow = (*said, "", "")[:2]
    try:
        return head, read_regular(folder / shallow, MAX_SHALLOW).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return head, ""


def commits_to(folder: Path, paths: Collection[str]) -> dict[str, list[Commit]]:
    """Return the commits that changed files or folders, by paths below it, of the last MAX_COMMITS of any, newest first."""
    found: dict[str, list[Commit]] = {path: [] for path in paths}
    literal = [f":(literal){path}" for path in sorted(paths)]
    for commit, lines in _readable(folder, "--name-only", "--relative", "--", *literal):
        names = {line for line in lines if line}
        parents = {"/".join(name.split("/")[:end]) for name in names for end in range(1, name.count("/") + 2)}  # fmt: skip
        for path in parents & found.keys():
            found[path].append(commit)
    return found


def commits_of_lines(folder: Path, name: str) -> list[Commit]:
    """Return the commit that last changed each line of a file, as it is in the last commit; ``[]`` if none."""
    commits: dict[str, dict[str, str]] = {}
    lines: list[str] = []
    about: dict[str, str] = {}
    try:
        shown = list(_shown(folder, [*_BLAME, name]))
    except HistoryError:
        return []
    for line in shown:
        key, _, value = line.partition(" ")
        if line.startswith("\t"):
            continue
        if _SHA.fullmatch(key):
            lines.append(key)
            about = commits.setdefault(key, {})
        elif key in ("author", "committer-time"):
            about[key] = value
    made = {sha: _commit(sha, about) for sha, about in commits.items()}
    return [made[sha] for sha in lines]


def _commit(sha: str, about: Mapping[str, str]) -> Commit:
    try:
        day = datetime.fromtimestamp(int(about["committer-time"]), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):  # a clock can be set to any year
        day = "9999-12-31"
    return Commit(sha[:ABBREVIATED], day, about["author"])


def last_changes(folder: Path, names: Collection[str]) -> dict[str, Change]:
    """Return the last change of each file, by paths below it, for those that the last MAX_COMMITS of the folder changed."""
    left = set(names)
    found: dict[str, Change] = {}
    for commit, lines in _readable(folder, "--raw", "--no-abbrev", "--relative", "--", "."):
        for line in lines:
            shown = _RAW.fullmatch(line)
            if shown and shown[2] in left:
                left.remove(shown[2])
                found[shown[2]] = Change(commit, shown[1])
        if not left:
            break
    return found
