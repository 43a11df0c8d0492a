"""Drift findings in cited lines, as chunks store them for every answer: ``92: kubectl drain has no option ...``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.core.citations import Citation

MAX_CHARACTERS: Final = 240
"""Maximum length of one finding; the rest is cut off."""
_WRITTEN: Final = re.compile(rf"([1-9][0-9]{{0,9}}): ([^\n]{{1,{MAX_CHARACTERS}}})")


class Note(NamedTuple):
    """A finding: its line, 1-based, and the problem, a sentence without a full stop."""

    line: int
    message: str

    def __str__(self) -> str:
        """Return the stored form."""
        cut = len(self.message) > MAX_CHARACTERS
        shown = f"{self.message[: MAX_CHARACTERS - 3]}..." if cut else self.message
        return f"{self.line}: {shown}"


def is_note(text: object) -> bool:
    """Whether it is the stored form of a finding."""
    return isinstance(text, str) and _WRITTEN.fullmatch(text) is not None


def notes_on(citation: Citation, stored: Iterable[str]) -> Iterator[Note]:
    """Return those of a chunk's findings that are on the cited lines."""
    for text in stored:
        written = _WRITTEN.fullmatch(text)
        if written and citation.start_line <= int(written[1]) <= citation.end_line:
            yield Note(int(written[1]), written[2])


def sentences(citation: Citation, stored: Iterable[str], *, of_file: bool = False) -> list[str]:
    """Return warnings about cited lines, for a reader who is about to run them.

    >>> from knowledge_rag.core.citations import Citation
    >>> sentences(Citation("a.md", 3, 9), ["4: kubectl has no command gett; did you mean get?"])
    ['Line 4: kubectl has no command gett; did you mean get?']
    """
    where = f" of {citation.source_file}" if of_file else ""
    return [
        f"Line {note.line}{where}: {note.message}{'' if note.message.endswith('?') else '.'}"
        for note in notes_on(citation, stored)
    ]
