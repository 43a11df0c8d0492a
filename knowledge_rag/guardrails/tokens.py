r"""What a scan stops at: line ends, backticks, tags and brackets.

Where text may go on, each question here has an answer "not yet": a token that could still grow.
"""

from __future__ import annotations

import re
from typing import Final

from knowledge_rag.guardrails.characters import (
    CLOSING,
    CLOSING_PATTERN,
    MAX_NAME,
    MAX_ZEROS,
    OPENING,
    OPENING_PATTERN,
)

MAX_SPAN: Final = 1_000
"""Characters of a code span at most."""
LONG_RUN: Final = 200
"""No code span begins with so many backticks, nor is a harmless tag so long."""

_OVERRIDE: Final = "\u202e"
"""From here on, and up to the end of the paragraph at most, text is read from right to left."""

_TOKEN: Final = re.compile(
    rf"(?P<ticks>`{{1,{LONG_RUN}}}+)"
    rf"|(?P<tag><[A-Za-z/!?][^<>`\"'&\n{re.escape(OPENING + CLOSING)}]{{0,{LONG_RUN}}}+)"
    rf"|(?P<open>{OPENING_PATTERN})|(?P<close>{CLOSING_PATTERN})"
    rf"|(?P<turn>&#(?:0{{0,{MAX_ZEROS}}}+8238(?:;|(?!\d))"
    rf"|[xX]0{{0,{MAX_ZEROS}}}+202[eE](?:;|(?![\da-fA-F]))))"
)
_ALONE: Final = (
    {"\n": "line", "\r": "return", _OVERRIDE: "turn"}
    | dict.fromkeys(OPENING, "open")
    | dict.fromkeys(CLOSING, "close")
)
"""Characters that are tokens whatever follows them."""
_SPECIAL: Final = re.compile(rf"\r(?!\n)|[\n`<&{_OVERRIDE}{re.escape(OPENING + CLOSING)}]")
"""What every token begins with: one class of characters is found faster than the tokens are."""
_OPENING: Final = re.compile(rf"\\?(?:{OPENING_PATTERN})")
_PARTIAL: Final = re.compile(
    rf"\\?&(?:#[xX]?0{{0,{MAX_ZEROS}}}+)?+[0-9A-Za-z]{{0,{MAX_NAME}}}\Z|\\\Z"
)
_ENTITY: Final = MAX_ZEROS + MAX_NAME + 4
"""Characters of a bracket written as a character reference at most, with a backslash before it."""
MAX_LINK: Final = 1_000
"""Characters of a link's destination at most; one that is longer is never seen to end."""
_LINK_BEGUN: Final = re.compile(
    r"\([ \t]*+(?:\n[ \t>]*+)?+"
    r"(?:<(?:\\.|[^<>\n\\])*+>?|(?:\\.|[^\s()<\\])(?:\\.|[^\s()\\])*+(?:\(\S*+)?+)?+"
    r"(?:\s[\s>]*+(?:\"(?:\\.|[^\"\\])*+(?:\"\s*+)?+|'(?:\\.|[^'\\])*+(?:'\s*+)?+|\([^()]*+(?:\)\s*+)?+)?+)?+",
    re.DOTALL,
)
"""What stands behind a link's text while its destination or title has not ended."""
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
"""For Markdown it ends a line, too."""
_TICKS_OR_LINE: Final = re.compile(r"`+|[\r\n]")


def find_token(text: str, start: int) -> tuple[str, int, int] | None:
    """Find the first token from ``start`` on: what it is, where it begins and where it ends."""
    special = _SPECIAL.search(text, start)
    while special:
        at = special.start()
        if (kind := _ALONE.get(special[0])) is not None:
            return kind, at, at + 1
        if token := _TOKEN.match(text, at):
            return str(token.lastgroup), at, token.end()
        special = _SPECIAL.search(text, at + 1)
    return None


def may_grow(token: tuple[str, int, int], text: str) -> bool:
    """Whether a token at the end of a text may be another one, or none, by what follows.

    That is a carriage return, which may belong to a line's ending, and a bracket written as a character
    reference without its semicolon, which may have further digits.
    """
    kind, _, end = token
    if end < len(text):
        return False
    return kind == "return" or (kind in ("open", "close", "turn") and text[end - 1].isalnum())


def is_whole_tag(text: str, start: int, end: int) -> bool:
    """Whether a tag from ``start`` to ``end`` ends there to every reader, with nothing left open.

    To most, no ``>`` ends a comment or a processing instruction that its own end does not stand before.
    """
    if text[end : end + 1] != ">":
        return False
    ending = "--" if text.startswith("<!--", start) else "?" if text.startswith("<?", start) else ""
    return text.endswith(ending, start + 2, end)


def lone_return(text: str, start: int, end: int) -> int:
    """Find a carriage return between two indexes that no line feed follows before the second one.

    Returns:
        Its index; ``end`` if there is none.
    """
    found = _LONE_RETURN.search(text, start, end)
    return found.start() if found else end


def begun_token(text: str, start: int) -> int:
    """Give where a token may have begun at the end of a text that holds no whole one from ``start`` on.

    Returns:
        Its index, or the text's end.
    """
    start = max(start, len(text) - _ENTITY)
    partial = _PARTIAL.search(text, start)
    return partial.start() if partial else len(text) - text.endswith(("<", "\r"), start)


def possible_bracket(text: str, start: int) -> int:
    """Give the index of the first opening bracket from ``start`` on, begun at the end or whole.

    Returns:
        Its index, or the text's end.
    """
    found = _OPENING.search(text, start)
    found = found or _PARTIAL.search(text, max(start, len(text) - _ENTITY))
    return found.start() if found else len(text)


def span_end(text: str, start: int, end: int, *, final: bool) -> int | None:
    """Find the end of the code span that begins with the backticks from ``start`` to ``end``.

    Returns:
        The index behind it; 0 if it does not end on its line; ``None`` if that is not yet known.
    """
    limit = end + MAX_SPAN
    for run in _TICKS_OR_LINE.finditer(text, end, limit):
        if run[0] in "\r\n" or run.end() == limit:
            return 0
        if run.end() == len(text) and not final:
            return None
        if len(run[0]) == end - start:
            return run.end()
    return 0 if final or len(text) >= limit else None


def is_in_link(text: str, start: int, end: int) -> bool:
    """Whether a link's destination or title begins at ``start`` and is still open at ``end``."""
    return _LINK_BEGUN.fullmatch(text, start, min(end, start + MAX_LINK)) is not None
