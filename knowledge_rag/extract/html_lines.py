"""Markdown lines out of paragraphs, lists, quotes, code and tables.

The text is written so that the chunker finds the same headings and blocks in it as a reader of the
page does: what would only look like a heading, a fence or a tag at a line's start is escaped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.wrapping import GLUE, to_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_INDENTS: Final = 12
"""Levels of lists and quotes that are shown; deeper ones stand at the last."""

_MARKS: Final = re.compile(r"#{1,6}(?:\s|$)|<|`{3,}[^`]*$|~{3,}|(?:=+|-+)\s*$|(?:[-*_]\s*){3,}$")
"""What would be read as a block of another kind at a line's start."""
_BACKTICKS: Final = re.compile(r"`+")
_CLOSING: Final = re.compile(r"(?:^|(?<= ))#+$")
"""What Markdown would take for the end of a heading."""
_LINE_END: Final = re.compile(r"\r\n?|\n")


class Lines:
    """The lines of the text, as they come about."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._indents: list[list[str]] = []  # what stands before the next line, and before others
        self._levels = 0
        self._gap = False

    def text(self) -> str:
        r"""Give all lines, each ended by ``\n``."""
        return "\n".join([*self._lines, ""]) if self._lines else ""

    def indent(self, first: str, others: str) -> None:
        """Put marks before the lines of an item or a quote, until :meth:`dedent`."""
        self._levels += 1
        if self._levels <= MAX_INDENTS:
            self._indents.append([first, others])

    def dedent(self) -> None:
        """End an item or a quote."""
        if self._levels <= MAX_INDENTS:
            self._indents.pop()
        self._levels -= 1

    def close_up(self) -> None:
        """Leave no blank line before the next block."""
        self._gap = False

    def block(self, lines: Iterable[str]) -> None:
        """Add a block, a blank line before it."""
        if self._gap and self._lines:
            self._lines.append("")
        for line in lines:
            self._lines.append((self._marks() + line).rstrip(" \t"))
        self._gap = True

    def paragraph(self, parts: Iterable[str]) -> None:
        """Add running text, a sentence a line."""
        lines = [line.replace(GLUE, " ") for part in parts for line in to_lines(part)]
        if lines:
            self.block([f"\\{line}" if _MARKS.match(line) else line for line in lines])

    def heading(self, level: int, text: str) -> None:
        """Add a heading; hash signs at its end are its own."""
        if text:
            self.block([f"{'#' * level} {_CLOSING.sub(_escaped, text)}"])

    def code(self, text: str, language: str) -> None:
        """Add code as it stands, in a fence."""
        lines = [line.rstrip(" \t") for line in _LINE_END.split(text.replace("\u00a0", " "))]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
            fence = "`" * max(3, longest + 1)
            self.block([fence + language, *lines, fence])

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table; its first row is the heading, whatever the page makes of it."""
        first, *others = rows
        lines = [_row(first), "|" + " --- |" * len(first), *map(_row, others)]
        self.block(lines)

    def _marks(self) -> str:
        if not self._indents:
            return ""
        marks = "".join(first for first, _ in self._indents)
        for level in self._indents:
            level[0] = level[1]
        return marks


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\#"


def _row(cells: Iterable[str]) -> str:
    return "|" + "".join(f" {_cell(cell)} |" for cell in cells)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
