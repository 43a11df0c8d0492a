"""Makes text from documents and requests safe to show: none of it can steer a terminal.

Content stays verbatim. Only where it is shown are characters replaced that would move a cursor,
colour a screen, reverse the reading order, or hide something.
"""

from __future__ import annotations

import re
from typing import Final

STEERING: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 controls except tab and newline
    "\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f"  # soft hyphen, joiners, direction marks
    "\u2028-\u202e\u2060-\u206f\ufeff"  # separators, bidi embeddings, invisible operators
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and vowels without a shape
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # annotations, beams, tags
    "\ud800-\udfff\ufffe\uffff"  # surrogates and noncharacters
)
"""Characters that steer or hide, for use between a pattern's square brackets."""

_UNSAFE: Final = re.compile(f"[{STEERING}]")


def neutralise(text: str) -> str:
    r"""Replace characters that could steer a terminal or hide by their escapes, e.g. ``\\x1b`` or ``\\u202e``.

    Tabs and newlines stay; a ``\r`` at the end of a line, being part of its ending, is removed.

    >>> neutralise("a\x1b[31mb\r\nc\u202ed")
    'a\\x1b[31mb\nc\\u202ed'
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n").removesuffix("\r"))


def _escape(found: re.Match[str]) -> str:
    return (
        found[0].encode("ascii", "backslashreplace").decode()
        if ord(found[0]) > 127
        else (f"\\x{ord(found[0]):02x}")
    )
