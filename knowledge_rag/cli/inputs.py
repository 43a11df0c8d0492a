"""Reads what users name: files, standard input, a gateway's token, baselines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

if TYPE_CHECKING:
    from knowledge_rag.drift.baseline import Baseline, Form

STDIN: Final = "-"
MAX_BYTES: Final = 64 << 20
"""Maximum bytes of an input file."""


def read_input(path: str) -> bytes:
    """Read a file, or standard input for ``-``.

    Raises:
        InvalidRequest: it can't be read, or is larger than MAX_BYTES.
    """
    try:
        if path == STDIN and sys.stdin is None:
            raise InvalidRequest("standard input: closed")
        if path == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:  # may be a pipe or a device, which never ends
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(f"{input_name(path)}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{input_name(path)}: larger than {MAX_BYTES >> 20} MiB")
    return data


def input_name(path: str) -> str:
    """Return a file's name for messages."""
    return "standard input" if path == STDIN else path


TOKEN_VARIABLE: Final = "KNOWLEDGE_RAG_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable


def gateway_token(path: Path | None) -> str:
    """Return the token; ``""`` if none is set.

    Raises:
        UnreadableDocument: the file can't be read, or has no token.
        InvalidRequest: the value can't be a token.
    """
    try:
        text = path.read_text(encoding="ascii") if path else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as error:
        raise UnreadableDocument(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocument(str(path), "a token must be ASCII") from error
    token = text.strip()
    if not token.isprintable() or " " in token:
        raise InvalidRequest("a gateway's token must be one word without spaces or line breaks")
    if path and not token:
        raise UnreadableDocument(str(path), "there is no token in it")
    return token


MAX_BASELINE_BYTES: Final = 16 << 20


def known_findings(path: Path | None, form: Form, *, writes: bool) -> Baseline | None:
    """Read a command's ``--baseline``; with ``writes``, only check that it can be written there.

    Raises:
        InvalidRequest: it isn't a baseline, or can't be written; a file that is something else is never replaced.
        UnreadableDocument: it can't be read.
    """
    if path is None:
        if writes:
            raise InvalidRequest("--write-baseline: name the file with --baseline")
        return None
    if not writes:
        return _read_baseline(path, form)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidRequest(f"can't write {path}: it is a folder, or its folder is missing")
    if path.exists() and not (path.is_file() and not path.stat().st_size):
        try:
            _read_baseline(path, form)
        except (InvalidRequest, UnreadableDocument) as error:
            raise InvalidRequest(f"{path} is not a baseline, so it is not overwritten") from error
    return None


def _read_baseline(path: Path, form: Form) -> Baseline:
    from knowledge_rag.drift.baseline import HINT
    from knowledge_rag.evaluation.datasets import read_text

    try:
        text = read_text(path, MAX_BASELINE_BYTES)
    except UnreadableDocument as error:
        hint = "" if path.exists() else f"; {HINT}"
        raise UnreadableDocument(str(path), f"{error.reason}{hint}") from error
    return form.read(text, str(path))


def replace_baseline(path: Path, text: str) -> None:
    """Write a baseline in place of the old one, which stays if that fails."""
    from knowledge_rag.core.files import written_atomically

    with written_atomically(path) as file:
        # of a name that isn't UTF-8, the escapes that JSON reads as its bytes
        file.write(text.encode("utf-8", "backslashreplace"))
