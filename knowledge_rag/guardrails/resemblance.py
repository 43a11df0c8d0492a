r"""Finds cited text in a file, or else the lines that resemble it most.

Everything here takes time linear in the file and the cited text together, whatever their contents: a
file of ten million equal lines is searched as fast as any other of its size.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

STRETCH: Final = 2
"""Lines that are still there count as one place within this many times the number of cited lines."""

_WORD: Final = re.compile(r"\w+")
_MEANING: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines ``start_line`` to ``end_line`` of a file, 1-based and inclusive."""

    start_line: int
    end_line: int

    def __str__(self) -> str:
        """Return the human form, ``lines 5-10`` or ``line 5``."""
        if self.start_line == self.end_line:
            return f"line {self.start_line}"
        return f"lines {self.start_line}-{self.end_line}"


class Likeness(StrEnum):
    """How lines resemble the cited ones."""

    SPACING = "spacing"
    """All the same except for white space, line endings included."""
    LINES = "lines"
    """Some of the cited lines are still there."""
    WORDS = "words"
    """At least half of the words are there, in other lines."""


@dataclass(frozen=True, slots=True)
class Resembling:
    """The lines of a file that most resemble the cited ones.

    Args:
        lines: where they are.
        likeness: how they resemble the cited ones.
        kept: number of cited lines that are still there byte for byte, in any order.
        of: number of cited lines; here as in ``kept``, lines without a letter or a digit (blank ones,
            fences, braces) don't count.
    """

    lines: LineRange
    likeness: Likeness
    kept: int
    of: int


def says_something(text: str) -> bool:
    """Whether a text has a letter or a digit; text without one is in any file and means nothing."""
    return _MEANING.search(text) is not None


def occurrences(wanted: Sequence[Hashable], found: Sequence[Hashable]) -> list[int]:
    """Return the 0-based places of a sequence in another one, overlapping ones included.

    Knuth, Morris and Pratt's search: at most two comparisons for each item of either.

    Args:
        wanted: the sequence to find, of at least one item.
        found: the sequence to search.
    """
    borders = _borders(wanted)
    places, matched = [], 0
    for at, item in enumerate(found):
        while matched and (matched == len(wanted) or item != wanted[matched]):
            matched = borders[matched - 1]
        if item == wanted[matched]:
            matched += 1
        if matched == len(wanted):
            places.append(at - matched + 1)
    return places


def places_of(content: str, lines: Sequence[str]) -> list[int]:
    r"""Return the 1-based lines at which a text of whole lines begins in a file.

    Args:
        content: lines joined by ``\n``.
        lines: of the file, without their ``\n``.
    """
    wanted = content.split("\n")
    codes: dict[str, int] = {}
    for line in wanted:
        codes.setdefault(line, len(codes))
    # as numbers, so that each line's characters are read once, however often it is compared
    found = [codes.get(line, -1) for line in lines]
    return [place + 1 for place in occurrences([codes[line] for line in wanted], found)]


def nearest(places: Sequence[int], start_line: int) -> int:
    """Return the place nearest to a line; of two, the earlier one."""
    return min(places, key=lambda place: (abs(place - start_line), place))


def resembling(content: str, lines: Sequence[str], start_line: int) -> Resembling | None:
    r"""Find the lines of a file that most resemble a text that isn't in it.

    Text with other white space comes first, then lines with at least half of the cited ones, then half
    of the words, then any cited line that is still there; among equals, the place nearest to the old one.

    Args:
        content: the cited lines, joined by ``\n``.
        lines: of the file, without their ``\n``.
        start_line: where the cited lines began, 1-based.

    Returns:
        ``None`` if nothing is like it.
    """
    wanted = content.split("\n")
    solid = Counter(line for line in wanted if says_something(line))
    of = solid.total()
    respaced = _respaced(wanted, lines, start_line)
    if respaced:
        return _found(respaced, Likeness.SPACING, solid, lines)
    standing = _standing(solid, STRETCH * len(wanted), lines, start_line)
    by_lines = _found(standing, Likeness.LINES, solid, lines) if standing else None
    if by_lines and by_lines.kept * 2 >= of:
        return by_lines
    worded = _worded(content, len(wanted), lines, start_line)
    return _found(worded, Likeness.WORDS, solid, lines) if worded else by_lines


def _borders(items: Sequence[Hashable]) -> list[int]:
    """Return, for each prefix of a sequence, the length of its longest proper suffix that is a prefix too."""
    borders, length = [0], 0
    for item in items[1:]:
        while length and item != items[length]:
            length = borders[length - 1]
        length += item == items[length]
        borders.append(length)
    return borders


def _found(
    where: LineRange, likeness: Likeness, solid: Counter[str], lines: Sequence[str]
) -> Resembling:
    there = Counter(lines[where.start_line - 1 : where.end_line])
    return Resembling(where, likeness, (solid & there).total(), solid.total())


def _respaced(wanted: Sequence[str], lines: Sequence[str], start_line: int) -> LineRange | None:
    content = "\n".join(_squeezed(line) for line in wanted)
    places = places_of(content, [_squeezed(line) for line in lines])
    if not places:
        return None
    first = nearest(places, start_line)
    return LineRange(first, first + len(wanted) - 1)


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _standing(
    solid: Counter[str], most: int, lines: Sequence[str], start_line: int
) -> LineRange | None:
    """Return the shortest range, of at most ``most`` lines, that has the most of the wanted ones."""
    window: deque[int] = deque()
    held: Counter[str] = Counter()
    best, kept = (0, 0, 0, 0), 0
    for at, line in enumerate(lines, start=1):
        if line not in solid:
            continue
        window.append(at)
        held[line] += 1
        kept += held[line] <= solid[line]
        while (first := lines[window[0] - 1]) and (
            window[0] <= at - most or held[first] > solid[first]
        ):
            kept -= held[first] <= solid[first]
            held[first] -= 1
            window.popleft()
        span = at - window[0] + 1
        best = max(best, (kept, -span, -abs(window[0] - start_line), -window[0]))
    kept, span, _, first_line = best[0], -best[1], best[2], -best[3]
    return LineRange(first_line, first_line + span - 1) if kept else None


def _worded(content: str, length: int, lines: Sequence[str], start_line: int) -> LineRange | None:
    """Return the range, as long as the cited one, that has the most of its words, and at least half."""
    wanted = Counter(_WORD.findall(content))
    window: deque[list[str]] = deque()
    held: Counter[str] = Counter()
    best, shared = (0, 0, 0), 0
    for at, line in enumerate(lines, start=1):
        if len(window) == length:
            for word in window.popleft():
                shared -= held[word] <= wanted[word]
                held[word] -= 1
        window.append([word for word in _WORD.findall(line) if word in wanted])
        for word in window[-1]:
            held[word] += 1
            shared += held[word] <= wanted[word]
        first = at - len(window) + 1
        best = max(best, (shared, -abs(first - start_line), -first))
    shared, first = best[0], -best[2]
    if not shared or shared * 2 < wanted.total():
        return None
    return LineRange(first, min(first + length - 1, len(lines)))
