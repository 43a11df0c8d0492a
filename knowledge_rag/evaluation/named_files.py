"""Text files that people name for a measurement: read to a bound, whatever they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.lines import decode, split_lines
from knowledge_rag.local.corpus import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from knowledge_rag.core.errors import KnowledgeRagError

_MEBIBYTE = 1 << 20
_Row = TypeVar("_Row")


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
    yield from numbered(read_text(path, max_bytes))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Give the lines of a text that are not blank, each with its number, 1 or more."""
    return ((n, line) for n, line in enumerate(split_lines(text), start=1) if line.strip())


def read_rows(
    lines: Iterable[tuple[int, str]],
    row: Callable[[int, Any], _Row],
    wrong: Callable[[int], KnowledgeRagError],
) -> list[_Row]:
    """Read JSON Lines.

    Args:
        lines: each with its number.
        row: makes one of a line's number and JSON, or raises what Python does on other JSON.
        wrong: gives the error for a line's number.

    Raises:
        KnowledgeRagError: of the first line that is no row.
    """
    rows = []
    for number, line in lines:
        try:
            rows.append(row(number, json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise wrong(number) from error
    return rows
