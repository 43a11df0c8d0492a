r"""What stands in a code span that another reader may see outside of code.

Two things reach out of a code span. A bracket that opens in one and closes elsewhere is read across
its edge: ``[9`]` `` shows ``[9]``. And where the line is a row of a table, a ``|`` ends its cell and the
span with it: what stood in the span is text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.characters import (
    CLOSING,
    CLOSING_PATTERN,
    OPENING,
    OPENING_PATTERN,
)
from knowledge_rag.guardrails.references import MAX_REFERENCE, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKET: Final = re.compile(rf"(?P<open>{OPENING_PATTERN})|{CLOSING_PATTERN}")
_LITERAL: Final = re.compile(rf"[{re.escape(OPENING + CLOSING)}]")
_REACHING: Final = re.compile(rf"[|&{re.escape(OPENING + CLOSING)}]")
"""What may matter of a code span: most hold nothing of the kind."""
_PIPE: Final = re.compile(r"(?<!\\)(?:\\\\)*\|")
"""One that every reader takes for escaped has an odd number of backslashes before it."""
_DELIMITERS: Final = re.compile(
    r"[ \t>]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)*+(?=[|: \t]*+-)[|: \t-]+\r?\Z"
)
_BEGUN: Final = re.compile(r"[|:]|--|-\Z")
_NO_DELIMITER: Final = re.compile(r"[^|: \t\r>+*\d.)-]")
_LINE_END: Final = re.compile(r"\r\n?|\n")
_ROW: Final = 160
"""Characters of a line that tell whether it is the one below a table's head."""


class Held(NamedTuple):
    """What a code span holds.

    Args:
        unmatched: whether a bracket opens or closes in it, and not both.
        reference: whether what stands between two of its brackets would be one in text.
        pipe: whether it holds a ``|`` that ends a table's cell.
    """

    unmatched: bool
    reference: bool
    pipe: bool


_NOTHING: Final = Held(unmatched=False, reference=False, pipe=False)


def held_in(text: str, start: int, end: int) -> Held:
    """Look at what stands from ``start`` to ``end``, between the backticks of a code span."""
    if not _REACHING.search(text, start, end):
        return _NOTHING
    code = text[start:end]
    pipe = "|" in code and _PIPE.search(code) is not None
    return Held(_is_unmatched(code), _has_reference(code), pipe)


def has_delimiters_only(line: str) -> bool:
    """Whether nothing in a line, or in a part of it, keeps it from standing below a table's head."""
    return not _NO_DELIMITER.search(line)


def has_begun_delimiters(line: str) -> bool:
    """Whether a line's beginning makes it one below a table's head, if nothing else follows."""
    return has_delimiters_only(line) and _BEGUN.search(line) is not None


def is_below_head(line: str) -> bool:
    """Whether a line may be the one below a table's head, by its first characters."""
    return _DELIMITERS.match(line[:_ROW]) is not None


def may_be_head(text: str, start: int, *, final: bool) -> bool | None:
    """Whether the line that ``start`` stands on may be the head of a table.

    It may if any later line of its paragraph is the one below a head: what stands between may go.

    Returns:
        Also true where the paragraph goes on for too long to tell; ``None`` where more of the text
        has to come.
    """
    limit = start + MAX_REFERENCE
    ended = final and len(text) <= limit
    for line, is_whole in _lines_behind(text[start:limit]):
        if not (is_whole or ended or len(line) >= _ROW):
            break
        if (is_whole or ended) and not line.strip():
            return False
        if is_below_head(line):
            return True
    if len(text) > limit:
        return True
    return False if final else None


def _lines_behind(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines behind the first one, and whether the end of each is known."""
    end = _LINE_END.search(text)
    while end:
        start = end.end()
        end = _LINE_END.search(text, start)
        yield (text[start : end.start()], True) if end else (text[start:], False)


def _is_unmatched(code: str) -> bool:
    depth = 0
    for found in _LITERAL.finditer(code):
        depth += 1 if found[0] in OPENING else -1
        if depth < 0:
            return True
    return depth > 0


def _has_reference(code: str) -> bool:
    opened: list[int] = []
    for found in _BRACKET.finditer(code):
        if found["open"]:
            opened.append(found.end())
        elif opened and parse(code[opened.pop() : found.start()]) is not None:
            return True
    return False
