"""Kinds of lint findings in a document, and the caution for an answer that cites the lines."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.citations import Citation


class Kind(StrEnum):
    """Kind of a finding; the values are used in the log, in metadata and in JSON."""

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


def sentence(citation: Citation, kinds: Iterable[str], *, of_file: bool = False) -> str:
    """Return the caution for cited lines, ``""`` if nothing was found in them.

    >>> from knowledge_rag.core.citations import Citation
    >>> sentence(Citation("a.md", 3, 9), ["fake_system_message"])
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
