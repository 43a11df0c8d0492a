"""Characters of a line that nobody sees, or that turn its order: where the page makes them visible."""

from __future__ import annotations

import unicodedata
from typing import Any

from knowledge_rag.core.neutral import neutralise


def hidden_in(line: str) -> list[dict[str, Any]]:
    r"""Find what hides in a line.

    Args:
        line: without its ``\n``; a ``\r`` at its end is part of the ending, and no finding.

    Returns:
        In order: ``at``, the offset in UTF-16 units, as JavaScript counts; ``code``, such as
        ``U+202E``; ``name``, ``""`` where it has none.
    """
    text = line.removesuffix("\r")
    if neutralise(text) == text:
        return []
    found, at = [], 0
    for character in text:
        if character == "\r" or neutralise(character) != character:
            found.append(_described(character, at))
        at += 1 + (ord(character) > 0xFFFF)
    return found


def _described(character: str, at: int) -> dict[str, Any]:
    code = f"U+{ord(character):04X}"
    return {"at": at, "code": code, "name": unicodedata.name(character, "")}
