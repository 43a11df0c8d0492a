"""Lint and drift findings in a chunk's lines, and the warnings for an answer that cites them.

A chunk stores the kinds of its lint findings, and drift findings as ``92: kubectl drain has no option ...``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from knowledge_rag.core.citations import Citation


class Kind(StrEnum):
    """Kind of a lint finding; the values are used in the log, in metadata and in JSON."""

    SECRET = "secret"  # noqa: S105 - a name, not a secret
    HIDDEN_UNICODE = "hidden_unicode"
    INSTRUCTION = "instruction"
    ROLE_PLAY = "role_play"
    EXFILTRATION = "exfiltration"
    TOOL_CALL = "tool_call"
    HIDDEN_TEXT = "hidden_text"
    ENCODED_TEXT = "encoded_text"
    FAKE_CITATION = "fake_citation"
    FAKE_SYSTEM_MESSAGE = "fake_system_message"
    ACTIVE_CONTENT = "active_content"
    UNCHECKED = "unchecked"
    """Lint failed on the document, or didn't finish reading it."""


CAUTIONS: Final = frozenset(Kind) - {Kind.SECRET}
"""Kinds that a chunk's metadata name, since a reader of the answer should know of them."""

_FOR_NO_MODEL: Final = {
    Kind.HIDDEN_UNICODE: "hidden characters",
    Kind.ACTIVE_CONTENT: "content that a browser would run",
    Kind.UNCHECKED: "text that lint did not check",
}
AT_A_MODEL: Final = CAUTIONS - _FOR_NO_MODEL.keys()
"""Kinds of text aimed at a model."""


def caution_sentence(citation: Citation, kinds: Iterable[str], *, of_file: bool = False) -> str:
    """Return the caution for cited lines, ``""`` if nothing was found in them.

    >>> from knowledge_rag.core.citations import Citation
    >>> caution_sentence(Citation("a.md", 3, 9), ["fake_system_message"])
    'Lines 3-9 hold text aimed at a model (fake system message).'
    """
    found = list(map(Kind, kinds))
    if not found:
        return ""
    aimed = ", ".join(it.value.replace("_", " ") for it in found if it not in _FOR_NO_MODEL)
    parts = [f"text aimed at a model ({aimed})"] if aimed else []
    parts += [_FOR_NO_MODEL[it] for it in found if it in _FOR_NO_MODEL]
    first, last = citation.start_line, citation.end_line
    lines = f"Line {first}" if first == last else f"Lines {first}-{last}"
    where = f"{lines} of {citation.source_file}" if of_file else lines
    return f"{where} {'holds' if first == last else 'hold'} {' and '.join(parts)}."


MAX_CHARACTERS: Final = 240
"""Maximum length of one finding; the rest is cut off."""
_WRITTEN: Final = re.compile(rf"([1-9][0-9]{{0,9}}): ([^\n]{{1,{MAX_CHARACTERS}}})")


class Note(NamedTuple):
    """A drift finding: its line, 1-based, and the problem, a sentence without a full stop."""

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


def drift_sentences(
    citation: Citation, stored: Iterable[str], *, of_file: bool = False
) -> list[str]:
    """Return warnings about cited lines, for a reader who is about to run them.

    >>> from knowledge_rag.core.citations import Citation
    >>> drift_sentences(Citation("a.md", 3, 9), ["4: kubectl has no command gett; did you mean get?"])
    ['Line 4: kubectl has no command gett; did you mean get?']
    """
    where = f" of {citation.source_file}" if of_file else ""
    return [
        f"Line {note.line}{where}: {note.message}{'' if note.message.endswith('?') else '.'}"
        for note in notes_on(citation, stored)
    ]
