"""Finds the lines of a code block that must not be run, by a comment above or at the end of them, or by a diff's minus."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.governing import (
    NEVER,
    governs,
    is_instead,
    leads,
    names_the_wrong,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_COMMENT: Final = re.compile(r"\s*(?:#|--|//|;|REM\b|<!--)\s*(.*)")

_DIFF: Final = "diff"
"""The language in which a leading minus marks a removed line."""
_BEHIND: Final = re.compile(r"\S\s+(?:#|//|--)\s+(\S.*)$")


def wrong_lines(lines: Sequence[str], language: str) -> Iterator[bool]:
    """Yield, for each line of code, whether a comment above or at the end of it forbids it, or a diff removes it."""
    if language == _DIFF:
        yield from (line.startswith("-") for line in lines)
        return
    is_wrong = commented = False
    for line in lines:
        comment = _COMMENT.match(line)
        if is_wrong:
            goes_on = line.strip() and not (comment and (not commented or is_instead(comment[1])))
            is_wrong = bool(goes_on)
        else:
            is_wrong = comment is not None and _calls_wrong(comment[1])
        commented = comment is not None
        behind = _BEHIND.search(line)
        yield is_wrong or (behind is not None and not comment and _calls_wrong(behind[1]))


def _calls_wrong(comment: str) -> bool:
    """Whether a comment calls the lines below it bad, or forbids them; a prohibition for some times or places is a warning."""
    names_wrong = names_the_wrong(comment) or leads(comment)
    return governs(comment) in NEVER and (names_wrong or not _WHERE.search(comment))


_WHERE: Final = re.compile(
    r"\b(?:on|in|at|during|while|for|from|without|unless|until|if|when|before|after)\b",
    re.IGNORECASE,
)
