"""Destructive commands that nothing near them warns of."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.drift.findings import Finding, Kind
from knowledge_rag.drift.shell import is_shell, script_of
from knowledge_rag.guardrails.danger import dangers_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.drift.page import Page

BEHIND: Final = 3
"""Lines behind a block in which a warning still counts."""


def check_unguarded(page: Page, warns: Callable[[str], bool]) -> Iterator[Finding]:
    """Find destructive commands in code blocks.

    One is no finding if its section up to a few lines behind the block, or the introduction of a section that
    holds it, tells to take care.

    Args:
        page: the document.
        warns: whether a text tells to take care.
    """
    warnings = _Warnings(page, warns)
    for code in page.codes:
        if not code.is_block or not is_shell(code):
            continue
        dangers = dangers_in(script_of(code))
        last = code.places[-1][0] + BEHIND
        if not dangers or warnings.around(code.places[0][0], last):
            continue
        for danger in dangers:
            line, column = code.place(danger.start)
            command = " ".join(code.text[danger.start : danger.end].split())
            end = column + len(code.text[danger.start : danger.end].split("\n")[0])
            yield Finding(
                page.path, line, column, end, Kind.UNGUARDED, command[:200],
                f"{danger.label}: nothing near it warns",
            )  # fmt: skip


class _Warnings:
    """Where a document's sections warn; each line is read once, or twice behind a block."""

    def __init__(self, page: Page, warns: Callable[[str], bool]) -> None:
        self._page = page
        self._warns = warns
        self._starts = [line for line, _, _ in page.headings]
        self._read: dict[int, tuple[int, bool]] = {}
        self._parents: list[int] = []
        inside: list[int] = []
        for at, (_, level, _) in enumerate(page.headings):
            while inside and page.headings[inside[-1]][1] >= level:
                inside.pop()
            self._parents.append(inside[-1] if inside else -1)
            inside.append(at)
        self._above = cache(self._warn_above)

    def around(self, first: int, last: int) -> bool:
        """Whether the section of a line warns up to another, or the introduction of a section that holds it."""
        own = bisect_right(self._starts, first) - 1
        return self._own(own, last) or (own >= 0 and self._above(self._parents[own]))

    def _start(self, section: int) -> int:
        return self._page.front_matter_lines if section < 0 else self._starts[section] - 1

    def _own(self, section: int, last: int) -> bool:
        start = self._start(section)
        end, warned = self._read.get(section, (start, False))
        if not warned:
            lines = self._page.lines[max(start, end - BEHIND) : last]
            warned = self._warns("\n".join(lines))
            self._read[section] = max(end, last), warned
        return warned

    def _warn_above(self, section: int) -> bool:
        following = self._starts[section + 1] - 1 if section + 1 < len(self._starts) else None
        lines = self._page.lines[self._start(section) : following]
        return self._warns("\n".join(lines)) or (
            section >= 0 and self._above(self._parents[section])
        )
