"""Opens a document at a cited line in the user's editor or pager; no shell reads the document's name."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.documents import is_extracted
from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
from knowledge_rag.local.corpus import find_documents

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES: Final = ("VISUAL", "EDITOR", "PAGER")
"""Where the program is named, the first that is set."""

_PLUS_LINE: Final = ("+{line}", "{file}")
_GOTO: Final = ("--goto", "{file}:{line}")
_SUFFIX: Final = ("{file}:{line}",)
_LINE: Final = ("--line", "{line}", "{file}")
ARGUMENTS: Final = {
    **dict.fromkeys(
        ("vi", "vim", "nvim", "gvim", "view", "emacs", "emacsclient", "nano", "micro", "kak", "joe", "less", "more"),
        _PLUS_LINE,
    ),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), _GOTO),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), _SUFFIX),
    **dict.fromkeys(("idea", "pycharm", "goland", "webstorm"), _LINE),
}  # fmt: skip
"""How programs are told a line; others get the file alone."""


class ProgramFailed(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """The user's editor could not be started, or failed."""


def path_in(folder: Path, source_file: str) -> Path:
    """Return where a document of a folder lies; only what an ingest would read is one.

    Raises:
        UnusableCorpus: the folder is missing, or holds no document.
        InvalidRequest: it has no such document, or one whose lines are those of extracted text.
    """
    found = next((it for it in find_documents(folder) if it.source_file == source_file), None)
    if found is None:
        raise InvalidRequest(f"{folder} has no document {source_file}: name its folder by --corpus")
    if is_extracted(source_file):
        raise InvalidRequest(
            f"{found.path}: its lines are those of its extracted text; open it yourself"
        )
    return found.path


def opened_by(path: Path, line: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command that opens a file at a line.

    Raises:
        InvalidRequest: no program is set, or what is set is no command.
    """
    variable = next((it for it in VARIABLES if environment.get(it, "").strip()), None)
    if variable is None:
        raise InvalidRequest(f"no editor is set: set EDITOR or PAGER to open {path}:{line}")
    try:
        program, *words = shlex.split(environment[variable])
    except ValueError as error:
        raise InvalidRequest(f"{variable}={environment[variable]!r}: {error}") from error
    arguments = ARGUMENTS.get(Path(program).name.removesuffix(".exe"), ("{file}",))
    # an absolute path begins no option
    named = {"file": str(path.absolute()), "line": line}
    return [program, *words, *(it.format(**named) for it in arguments)]


def open_at(path: Path, line: int) -> None:
    """Open a file at a line, and wait until the program ends.

    Raises:
        InvalidRequest: no program is set.
        ProgramFailed: it can't be started, or fails.
    """
    command = opened_by(path, line)
    try:
        done = subprocess.run(command, check=False)  # noqa: S603 - the user's own program, no shell
    except OSError as error:
        raise ProgramFailed(f"{command[0]}: {error.strerror or error}") from error
    if done.returncode:
        raise ProgramFailed(f"{command[0]} ended with exit code {done.returncode}")
