"""The dates of a document's chunks, as they are stored beside them.

Fenced code is not read: a sample log or a command's argument says nothing of when something happens.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import MAX_METADATA_BYTES, metadata_bytes, to_metadata
from knowledge_rag.extract.dates import find_dates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.chunks import Chunk
    from knowledge_rag.extract.dates import DateOrder

MAX_DATES: Final = 8
"""Of a chunk; the latest are kept, since the latest alone says whether any of them is to come. They are
left out, oldest first, before they take a chunk over MAX_METADATA_BYTES."""

DATES_VERSION: Final = 1
"""Raised by every change that gives other dates for the same text."""

_FENCE: Final = re.compile(
    r"^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+){0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$",
    re.MULTILINE,
)


class DocumentDates:
    """The dates of one document, by line.

    Args:
        text: the document's, whose lines the chunks count.
        order: of day and month between slashes, ``None`` for no guess.
    """

    def __init__(self, text: str, order: DateOrder | None = None) -> None:
        code = _fenced(text)
        ends = [end.start() for end in re.finditer("\n", text)]
        # an expression belongs to the line that it ends on, where its year stands
        found = sorted(
            (bisect_left(ends, one.end) + 1, one.day.isoformat())
            for one in find_dates(text, order)
            if not _is_inside(one.start, code)
        )
        self._lines = [line for line, _ in found]
        self._days = [day for _, day in found]

    def between(self, start_line: int, end_line: int) -> tuple[str, ...]:
        """Give the dates of some lines, 1-based and inclusive: ISO, sorted, each once.

        Only the latest MAX_DATES.
        """
        first, last = bisect_left(self._lines, start_line), bisect_right(self._lines, end_line)
        return tuple(sorted(set(self._days[first:last]))[-MAX_DATES:])


def dated(chunks: Sequence[Chunk], text: str, order: DateOrder | None = None) -> list[Chunk]:
    """Give a document's chunks with the dates that their lines name.

    Args:
        chunks: of the document.
        text: the document's.
        order: of day and month between slashes, ``None`` for no guess.
    """
    dates = DocumentDates(text, order)
    return [_with_dates(it, dates.between(it.start_line, it.end_line)) for it in chunks]


def _with_dates(chunk: Chunk, days: tuple[str, ...]) -> Chunk:
    if not days:
        return chunk
    size = _bytes(chunk)
    whole = chunk._replace(dates=days)
    while size <= MAX_METADATA_BYTES < _bytes(whole):
        whole = whole._replace(dates=whole.dates[1:])
    return whole


def _bytes(chunk: Chunk) -> int:
    return metadata_bytes(to_metadata(chunk))


def _fenced(text: str) -> list[tuple[int, int]]:
    """Give the offsets of fenced code, in order; a fence that is never closed reaches to the end."""
    code: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for fence in _FENCE.finditer(text):
        mark, info = fence["mark"], fence["info"].strip()
        if opened is None:
            if mark[0] == "~" or "`" not in info:
                opened = (fence.start(), mark)
        elif mark[0] == opened[1][0] and len(mark) >= len(opened[1]) and not info:
            code.append((opened[0], fence.end()))
            opened = None
    if opened is not None:
        code.append((opened[0], len(text)))
    return code


def _is_inside(offset: int, code: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(code, offset, key=itemgetter(0)) - 1
    return index >= 0 and offset < code[index][1]
