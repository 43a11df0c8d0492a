"""Destructive commands that nothing near them warns of."""

from __future__ import annotations

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
    for code in page.codes:
        if not code.is_block or not is_shell(code):
            continue
        dangers = dangers_in(script_of(code))
        last = code.places[-1][0] + BEHIND
        if not dangers or warns("\n".join(_around(page, code.places[0][0], last))):
            continue
        for danger in dangers:
            line, column = code.place(danger.start)
            command = " ".join(code.text[danger.start : danger.end].split())
            end = column + len(code.text[danger.start : danger.end].split("\n")[0])
            yield Finding(
                page.path, line, column, end, Kind.UNGUARDED, command[:200],
                f"{danger.label}: nothing near it warns",
            )  # fmt: skip


def _around(page: Page, first: int, last: int) -> Iterator[str]:
    """Return the introductions of the sections that hold a line, and its own section up to a line."""
    level = 7
    own = True
    end = last
    for number, depth, _ in reversed([it for it in page.headings if it[0] <= first]):
        if depth < level:
            following = next((it[0] for it in page.headings if it[0] > number), len(page.lines) + 1)
            yield from page.lines[number - 1 : end if own else following - 1]
            level, own = depth, False
    if own:
        yield from page.lines[page.front_matter_lines : end]
    else:
        start = page.headings[0][0]
        yield from page.lines[page.front_matter_lines : start - 1]
