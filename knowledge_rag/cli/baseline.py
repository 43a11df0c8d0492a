"""Files for ``--baseline`` and ``--write-baseline``, the same for each command that has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.core.files import written_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from knowledge_rag.drift.baseline import Baseline, Form

MAX_BYTES = 16 << 20


def read_baseline(path: Path, form: Form) -> Baseline:
    """Read a baseline; raises InvalidRequest or UnreadableDocument."""
    from knowledge_rag.drift.baseline import HINT
    from knowledge_rag.evaluation.datasets import read_text

    try:
        text = read_text(path, MAX_BYTES)
    except UnreadableDocument as error:
        hint = "" if path.exists() else f"; {HINT}"
        raise UnreadableDocument(str(path), f"{error.reason}{hint}") from error
    return form.read(text, str(path))


def known_findings(path: Path | None, form: Form, *, writes: bool) -> Baseline | None:
    """Read the baseline; with ``writes``, only check that it can be written there."""
    if path is None:
        if writes:
            raise InvalidRequest("--write-baseline: name the file with --baseline")
        return None
    if not writes:
        return read_baseline(path, form)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidRequest(f"can't write {path}: it is a folder, or its folder is missing")
    check_replaceable(path, form)
    return None


def replace_baseline(path: Path, text: str) -> None:
    """Write a baseline in place of the old one, which stays if that fails."""
    with written_atomically(path) as file:
        # of a name that isn't UTF-8, the escapes that JSON reads as its bytes
        file.write(text.encode("utf-8", "backslashreplace"))


def check_replaceable(path: Path, form: Form) -> None:
    """Raise :exc:`InvalidRequest` if a file is neither a baseline nor empty."""
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        read_baseline(path, form)
    except (InvalidRequest, UnreadableDocument) as error:
        raise InvalidRequest(f"{path} is not a baseline, so it is not overwritten") from error
