"""Text files that people name for a measurement: read to a bound, whatever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode, split_lines
from knowledge_rag.local.corpus import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MEBIBYTE = 1 << 20


def read_text(path: Path, max_bytes: int) -> str:
    """Read a text file.

    Args:
        path: of the file, as it was named.
        max_bytes: a larger one is refused, not cut off: what is missing would show in no figure.

    Raises:
        UnreadableDocument: it can't be read, is empty, too large, or no UTF-8.
    """
    name = str(path)
    try:
        data = read_regular(path, max_bytes + 1)
    except OSError as error:
        raise UnreadableDocument(name, error.strerror or str(error)) from error
    if len(data) > max_bytes:
        raise UnreadableDocument(name, f"larger than {max_bytes / _MEBIBYTE:.3g} MiB")
    return decode(data, name)


def read_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Give the lines of a text file that are not blank, each with its number.

    Raises:
        UnreadableDocument: as :func:`read_text` does.
    """
    for number, line in enumerate(split_lines(read_text(path, max_bytes)), start=1):
        if line.strip():
            yield number, line
