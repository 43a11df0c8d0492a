"""Helpers of the markup readers: lines with their places, code, quotations, tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Line = tuple[int, str]
"""Place of a line in its document, from 0, and its text without the surrounding indent."""

MAX_DEPTH: Final = 12
"""Maximum depth of nested blocks; deeper text stays as it is."""
_FENCE: Final = re.compile(
    r"^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]+){0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$",
    re.MULTILINE,
)
_TICKS: Final = re.compile(r"`{3,}")
_CODE_SPAN: Final = re.compile(r"(`[^`]*`)")
WARNINGS: Final = frozenset(("attention", "caution", "danger", "error", "important", "warning"))


def anchor_of(title: str) -> str:
    """Return the anchor that Markdown renderers make from a heading's words."""
    return "-".join(re.findall(r"\w+", title.lower()))


class Shape:
    """The Markdown of a document, line for line; unwritten lines are blank.

    ``titles`` are its sections', by the ids that refer to them.
    """

    def __init__(self, lines: Sequence[str], titles: Mapping[str, str]) -> None:
        self.titles = titles
        self.lines = [""] * len(lines)
        self._source = lines

    def put(self, place: int, text: str) -> None:
        """Write a line."""
        self.lines[place] = text.rstrip()

    def is_blank(self, place: int) -> bool:
        """Whether a line of the document is blank, or beyond its end."""
        return place >= len(self._source) or not self._source[place].strip()

    def code(self, code: Sequence[Line], opener: int, indent: str, language: str = "") -> None:
        """Write code in a fence, its closing mark on the blank line below; indented if there is none.

        ``opener`` is the place of the line for the opening mark, -1 if there is none.
        """
        code = without_blank_ends(code)
        if not code:
            return
        closer = code[-1][0] + 1
        if opener < 0 or not self.is_blank(closer):
            for place, text in dedented(code):
                self.put(place, f"{indent}    {text}")
            return
        self.fence(code, opener, closer, indent, language)

    def fence(
        self, code: Sequence[Line], opener: int, closer: int, indent: str, language: str = ""
    ) -> None:
        """Write code in a fence whose marks have lines of their own."""
        marks = fence_around("\n".join(text for _, text in code))
        self.put(opener, f"{indent}{marks}{language}")
        for place, text in dedented(code):
            self.put(place, indent + text)
        if closer < len(self.lines):
            self.put(closer, indent + marks)

    def quote(self, lines: Iterable[Line], indent: str, label: str) -> None:
        """Turn written lines into one quotation, with a label before its words."""
        places = self._written(lines)
        for place in places:
            self.put(place, f"{indent}> {self.lines[place].removeprefix(indent)}")
        if places:
            first = self.lines[places[0]].removeprefix(f"{indent}> ").removeprefix(f"{indent}>")
            self.put(places[0], f"{indent}> **{label}:** {first}")

    def container(
        self, kind: str, title: str, place: int, body: Sequence[Line], indent: str
    ) -> None:
        """Set written lines apart, under a title on a line of its own.

        At the margin it is an admonition, which may have steps; inside a list, a quotation.
        """
        if indent:
            self.quote([(place, ""), *body], indent, title or kind.capitalize())
            return
        self.put(place, f"!!! {kind}" + (f' "{title}"' if title else ""))
        for number in self._written(body):
            if self.lines[number]:
                self.put(number, f"    {self.lines[number]}")

    def _written(self, lines: Iterable[Line]) -> list[int]:
        """Return the places of lines, and of a blank one below that closes code in them, if any."""
        places = [place for place, _ in lines]
        below = places[-1] + 1 if places else len(self.lines)
        return [*places, below] if below < len(self.lines) and self.lines[below] else places


def fence_around(code: str) -> str:
    """Return the marks of a fence that nothing in the code closes."""
    return "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(code))])


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change a running text except between backticks."""
    parts = _CODE_SPAN.split(text)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def first_behind(places: Sequence[int], place: int) -> int:
    """Return the first of some sorted places after another; 0 if there is none."""
    behind = bisect_right(places, place)
    return places[behind] if behind < len(places) else 0


def dedented(lines: Sequence[Line]) -> list[Line]:
    """Return lines without their common indent."""
    indent = min((indent_of(text) for _, text in lines if text.strip()), default=0)
    return [(place, text[indent:]) for place, text in lines]


def indent_of(text: str) -> int:
    """Count the spaces at the start of a text."""
    return len(text) - len(text.lstrip(" "))


def without_blank_ends(lines: Sequence[Line]) -> list[Line]:
    """Return lines without blank ones at either end."""
    solid = [number for number, (_, text) in enumerate(lines) if text.strip()]
    return list(lines[solid[0] : solid[-1] + 1]) if solid else []


def row(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cell.strip().replace("|", "\\|") for cell in cells) + " |"


def delimiter(count: int) -> str:
    """Return the line below a table's heading."""
    return "|" + " --- |" * count


def fenced(text: str) -> list[tuple[int, int]]:
    """Return the offsets of fenced code, in order; a fence that is never closed extends to the end."""
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


def is_within(offset: int, stretches: Sequence[tuple[int, int]]) -> bool:
    """Whether an offset is in one of some sorted stretches of a text."""
    index = bisect_right(stretches, offset, key=itemgetter(0)) - 1
    return index >= 0 and offset < stretches[index][1]
