"""Sections of a document: which lines a heading stands for, and what links call it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.front_matter import parse_front_matter
from knowledge_rag.core.markdown import find_headings
from knowledge_rag.orchestrator.names import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOT_IN_SLUG: Final = re.compile(r"[^\w\- ]")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_GIVEN: Final = re.compile(r"\s*\{:?\s*#([\w.:-]+)[^}]*\}\s*$")
_TAG: Final = re.compile(
    r"<a\s[^>]*?\b(?:id|name)\s*=\s*[\"']?([\w.:-]+)[^>]*>(?:\s*</a>)?", re.IGNORECASE
)
_ALERT: Final = re.compile(r"^(?:alert|alarm)(?:[\s-]*name)?\b[\s:\"'`]*", re.IGNORECASE)

_ABOVE: Final = 300
"""Characters above a heading that are looked at for a name."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands below it, up to the next one of its level or a higher.

    Args:
        heading: its text, without marks that only give it a name.
        anchors: what a link calls it behind ``#``.
        lines: first and last, 1-based and inclusive.
    """

    heading: str
    anchors: tuple[str, ...]
    lines: tuple[int, int]

    @property
    def names(self) -> frozenset[str]:
        """Give what it may be called, folded; ``Alert Name: "Foo"`` may be called ``Foo``."""
        return frozenset({fold(self.heading), fold(_ALERT.sub("", self.heading))}) - {""}

    def is_at(self, anchor: str) -> bool:
        """Whether a link's anchor is this section's, word for word."""
        return anchor.casefold() in self.anchors


def sections_of(text: str) -> tuple[Section, ...]:
    """Give the sections of a Markdown text, in order.

    Anchors are those of GitHub (a second heading of the same text has ``-1`` behind it), and what
    ``{#name}`` on the heading's line, or ``<a name="...">`` there or right above, say.
    """
    headings = list(find_headings(text, parse_front_matter(text)[1]))
    last = text.count("\n") + (not text.endswith("\n"))
    starts = _line_numbers(text, [heading[0] for heading in headings])
    taken: dict[str, int] = {}
    sections = []
    for number, (offset, _, _, level, written) in enumerate(headings):
        behind = (starts[n] for n in range(number + 1, len(headings)) if headings[n][3] <= level)
        end = next(behind, last + 1) - 1
        above = text[max(0, offset - _ABOVE) : offset].rstrip().rpartition("\n")[2]
        names = _given_names(written, above)
        heading = _TAG.sub("", _GIVEN.sub("", written)).strip()
        sections.append(
            Section(heading, (_slug(heading, taken), *names), (starts[number], max(end, 1)))
        )
    return tuple(sections)


def _given_names(written: str, above: str) -> tuple[str, ...]:
    given = _GIVEN.search(written)
    tags = [*_TAG.findall(written), *_TAG.findall(above)]
    return tuple(name.casefold() for name in (*([given[1]] if given else ()), *tags))


def _slug(heading: str, taken: dict[str, int]) -> str:
    """Give the anchor that GitHub makes of a heading; ``taken`` counts those above it."""
    plain = _LINK.sub(r"\1", heading).casefold().strip()
    slug = _NOT_IN_SLUG.sub("", plain).replace(" ", "-")
    count = taken.get(slug, 0)
    taken[slug] = count + 1
    return f"{slug}-{count}" if count else slug


def _line_numbers(text: str, offsets: Sequence[int]) -> list[int]:
    """Give the 1-based lines of ascending offsets."""
    lines, line, before = [], 1, 0
    for offset in offsets:
        line += text.count("\n", before, offset)
        before = offset
        lines.append(line)
    return lines
