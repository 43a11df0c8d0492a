"""The units of an answer that a reference can back: paragraphs, list items, table rows, code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")
_FENCE: Final = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<marks>`{3,}+(?![^\n]*`)|~{3,})"
)
_INDENT: Final = re.compile(r"[ \t>]*")
_TAB: Final = 4


class UnitKind(StrEnum):
    """What a unit is."""

    PARAGRAPH = "paragraph"
    ITEM = "item"
    ROW = "row"
    HEADING = "heading"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Unit:
    """Consecutive lines of an answer.

    Args:
        kind: what they are.
        start: offset of the first character.
        end: offset behind the last character that is not white space.
        indent: columns before the first character or the list mark.
    """

    kind: UnitKind
    start: int
    end: int
    indent: int


def units_of(text: str) -> tuple[Unit, ...]:
    """Split an answer into its units, in order; lines that belong to none are blank.

    It reads Markdown as a person skims it, and is no parser: a unit that is cut otherwise than
    CommonMark would cut it makes a claim longer or shorter, and never a citation.
    """
    return tuple(_Splitter(text).units())


class _Splitter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._kind: UnitKind | None = None
        self._start = self._end = self._indent = 0
        self._fence = ""

    def units(self) -> Iterator[Unit]:
        start = 0
        while start < len(self._text):
            end = self._text.find("\n", start)
            end = len(self._text) if end < 0 else end
            yield from self._line(start, end)
            start = end + 1
        yield from self._close()

    def _line(self, start: int, end: int) -> Iterator[Unit]:
        line = self._text[start:end]
        if self._fence:
            self._end = end
            if line.strip(" \t>\r").startswith(self._fence) and not line.strip(" \t>\r`~"):
                yield from self._close()
        elif not line.strip(" \t>\r"):
            yield from self._close()
        elif fence := _FENCE.match(line):
            yield from self._close()
            self._open(UnitKind.CODE, start, end)
            self._fence = fence["marks"]
        elif kind := _kind_of(line):
            yield from self._close()
            self._open(kind, start, end)
        elif self._kind is None or self._kind in (UnitKind.ROW, UnitKind.HEADING):
            yield from self._close()
            self._open(UnitKind.PARAGRAPH, start, end)
        else:
            self._end = end

    def _open(self, kind: UnitKind, start: int, end: int) -> None:
        self._kind, self._start, self._end = kind, start, end
        lead = _INDENT.match(self._text, start, end)
        self._indent = len(lead[0].replace("\t", " " * _TAB)) if lead else 0

    def _close(self) -> Iterator[Unit]:
        if self._kind is not None:
            end = self._start + len(self._text[self._start : self._end].rstrip())
            yield Unit(self._kind, self._start, end, self._indent)
        self._kind, self._fence = None, ""


def _kind_of(line: str) -> UnitKind | None:
    if _ITEM.match(line):
        return UnitKind.ITEM
    if _HEADING.match(line):
        return UnitKind.HEADING
    return UnitKind.ROW if line.lstrip(" \t>").startswith("|") else None
