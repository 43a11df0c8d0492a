"""Opens a document at a cited line in the user's editor or pager; no shell parses the document's name."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest, KnowledgeRagError
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.local.corpus import find_documents

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLES: Final = ("VISUAL", "EDITOR", "PAGER")
"""Environment variables with the program; the first that is set wins."""

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
"""Programs' options for a line; others get only the file."""


class ProgramFailed(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """The user's editor could not be started, or failed."""


def path_in(folder: Path, source_file: str) -> Path:
    """Return a document's path in a folder; only files that an ingest would read count.

    Raises:
        UnusableCorpus: the folder is missing, or has no documents.
        InvalidRequest: it has no such document, or the document's lines are extracted text.
    """
    found = next((it for it in find_documents(folder) if it.source_file == source_file), None)
    if found is None:
        raise InvalidRequest(
            f"{folder} has no document {source_file}: pass its folder with --corpus"
        )
    if is_extracted(source_file):
        raise InvalidRequest(f"{found.path}: its lines are extracted text; open it yourself")
    return found.path


def opened_by(path: Path, line: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the command that opens a file at a line.

    Raises:
        InvalidRequest: no program is set, or the value is not a command.
    """
    variable = next((it for it in VARIABLES if environment.get(it, "").strip()), None)
    if variable is None:
        raise InvalidRequest(f"no editor is set: set EDITOR or PAGER to open {path}:{line}")
    try:
        program, *words = shlex.split(environment[variable])
    except ValueError as error:
        raise InvalidRequest(f"{variable}={environment[variable]!r}: {error}") from error
    arguments = ARGUMENTS.get(Path(program).name.removesuffix(".exe"), ("{file}",))
    # an absolute path can't look like an option
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
