"""Cutting running text into lines that can be cited: a sentence each, none endless.

A page's text has no lines of its own. A sentence is the smallest thing that says something, so each
gets a line; one that is very long is wrapped between words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE: Final = 240
"""Characters of a line; a word or a piece of code that is longer stays whole."""

GLUE: Final = "\ue000"
"""Stands for a space where a line must not be broken: inside code."""

_SENTENCE_END: Final = re.compile(
    r"(?<=[^\W\d_A-Z][^\W_A-Z][.!?]) (?=[A-Z\"'(\[`\u00c0-\u00de])"
    r"|(?<=[)\]\"'\d`%][.!?]) (?=[A-Z\"'(\[`\u00c0-\u00de])"
    r"|(?<=[.!?][)\"'\]]) (?=[A-Z\u00c0-\u00de])|(?<=[\u3002\uff01\uff1f])(?=[^\s\u300d\u300f\uff09])"
)
"""After a whole word or a number, so not behind ``Dr.`` or ``e.g.``; before a capital letter."""


def to_lines(text: str) -> Iterator[str]:
    """Cut one paragraph, its blanks single spaces, into lines."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield from _wrapped(text, start, end.start())
        start = end.end()
    yield from _wrapped(text, start, len(text))


def _wrapped(text: str, start: int, end: int) -> Iterator[str]:
    while end - start > MAX_LINE:
        at = text.rfind(" ", start + 1, start + MAX_LINE + 1)
        if at < 0:
            at = text.find(" ", start + MAX_LINE, end)
        if at < 0:
            break
        yield text[start:at]
        start = at + 1
    if start < end:
        yield text[start:end]
