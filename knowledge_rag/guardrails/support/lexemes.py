"""Cuts text into the pieces that atoms are made of: words, names, numbers, paths.

One pattern for claims and for evidence: what is cut the same way is found again.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_URL: Final = r"https?://[^\s()\[\]{}\"'`<>|$]+"  # with its query
_NAME: Final = r"[^\s()\[\]{}\"'`,;|&=<>*!?…$]+"
_OPEN: Final = (  # placeholders stay whole, and part of what they stand in
    r"<[A-Za-z][\w .-]{0,60}>|\{\{[^{}\n]{1,60}\}\}|\{[A-Za-z][\w-]{0,60}\}|\$(?:\{[^{}\s]{1,60}\})?"
)
_THOUSANDS: Final = r"(?<=\d),(?=\d{3}(?!\d))"
LEXEME: Final = re.compile(f"(?:{_URL}|{_NAME}|{_OPEN})(?:{_THOUSANDS}|{_OPEN}|{_NAME})*")

_LEADING: Final = ".,:;!?_^#+@\\"
_TRAILING: Final = ".,:;!?_~^#+@/\\-"
_ESCAPE: Final = re.compile(r"\\(?=[!-/:-@\[\]-`{-~])")

PLACEHOLDER: Final = re.compile(
    r"<[A-Za-z][\w .-]{0,60}>|\{\{[^{}\n]{1,60}\}\}|\$?\{[A-Za-z_][\w.:-]{0,60}\}|\$[A-Za-z_]\w{0,60}"
    r"|(?<![A-Za-z])(?:[Yy][Oo][Uu][Rr])[-_][\w-]{1,60}|[xX]{3,60}(?![A-Za-z])|\.\.\."
)
_MARKS_OF_PLACEHOLDERS: Final = ("<", "{", "$", "...", "your-", "your_", "xxx")

SEPARATORS: Final = re.compile(r"[/:@=]+")
"""Inside a lexeme: what stands between them may be referred to alone, as a file's name is."""


def unescaped(text: str) -> str:
    """Take out the backslashes by which Markdown says that a mark is no markup."""
    return _ESCAPE.sub("", text) if "\\" in text else text


def trimmed(lexeme: str) -> str:
    """Take off punctuation around a lexeme."""
    return lexeme if lexeme.isalnum() else lexeme.lstrip(_LEADING).rstrip(_TRAILING)


def folded(lexeme: str) -> str:
    """Give the form in which two spellings of a name are equal: case and width ignored."""
    if not lexeme.isascii():
        lexeme = unicodedata.normalize("NFKC", lexeme)
    return lexeme.casefold()


def holds_placeholder(lexeme: str) -> bool:
    """Whether any part of it is to be filled in: ``<db-id>``, ``$NAME``, ``{id}``, ``YOUR-NAME``."""
    lowered = lexeme.lower()  # a look for the marks is quicker than the pattern, and mostly in vain
    for mark in _MARKS_OF_PLACEHOLDERS:
        if mark in lowered:
            return PLACEHOLDER.search(lexeme) is not None
    return False


def literals(lexeme: str) -> list[str]:
    """Give what stands around its placeholders, as far as it holds a letter or digit."""
    return [part for part in PLACEHOLDER.split(lexeme) if any(map(str.isalnum, part))]
