r"""Passes lines on which nothing can happen: most lines of most answers.

No bracket is on them, no tag, and of code no more than spans that every reader takes for such. One
pattern passes a paragraph and the blank lines behind it, and the next line up to where something may
happen. What is left open behind them is what going from token to token would have told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.characters import CLOSING, OPENING
from knowledge_rag.guardrails.markdown_blocks import (
    Blocks,
    Kind,
    behind_blank,
    behind_heading,
    behind_text,
    item_of,
    may_be_no_item,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.draft import Span

_BLOCK, _TEXT = Kind.BLOCK, Kind.TEXT
_BRACKETS: Final = re.escape(OPENING + CLOSING)
_SPAN: Final = rf"`[^`\r\n|&{_BRACKETS}]{{1,900}}+`(?!`)"
"""A code span that every reader takes for one, with nothing in it that may reach out of it."""
_WORD: Final = rf"[^`\r\n&<\\\u202e{_BRACKETS}]*+"
_WORDS: Final = (
    rf"{_WORD}(?:(?:{_SPAN}|\\(?![`&\\{_BRACKETS}])|&(?![#lrLR])|<(?![A-Za-z/!?])){_WORD})*+"
)
"""Text without a token, code spans apart."""
_BEGIN: Final = r"(?=[^\W\d_]|[\"'(_]|\*\*[^\W\d_]|`[^`])"
"""How a line of text begins, behind its marks: with what is in no table's delimiters."""
_ROW: Final = r"(?=\|[|:\->+*.)0-9 \t]{0,99}+[^|:\->+*.)0-9\s])"
"""The same for a table's row."""
_SPACE: Final = frozenset(" \t\r\n")
_BLANK: Final = r"(?:[ \t]*+\r?\n)*+"
_BLANKS: Final = re.compile(r"(?:[ \t]*+\r?\n)++")
_PARAGRAPH: Final = re.compile(
    rf"( {{0,3}}+)(?:([-+*]|\d{{1,9}}[.)]) {_BEGIN}|(\#)\#{{0,5}}+[ \t]|{_ROW}(\|)|{_BEGIN})"
    rf"{_WORDS}(\r?\n(?: {{0,3}}+(?:{_BEGIN}|{_ROW}){_WORDS}\r?\n)*+({_BLANK}))?+"
)
"""A heading, an item's or a paragraph's text, or rows: its indent and marks, the lines behind its first
one if that ends here, and the blank ones among them."""
_CODE: Final = re.compile(r"`[^`]++`")
_LEFT: Final = [re.compile(rf"\n {{0,{max(0, offset - 1)}}}+[^ \t\r\n]") for offset in range(5)]
"""A line that begins left of a column; of those that are passed, each begins left of the last one here."""
_NO_LINE_BEHIND: Final = 2
"""Characters of a line's end at most."""


Begun = tuple[int, Kind, Blocks]
"""A line on which something may happen: the index of that, what the line is, and what it leaves open."""
Passed = tuple[int, Blocks, bool, Begun | None]
"""The index behind the lines that were passed, what they leave open, whether one of them is blank, and
the line that begins there, if it begins like these."""


def pass_lines(blocks: Blocks, text: str, start: int) -> Passed:
    """Pass lines on which nothing can happen.

    Args:
        blocks: what the lines before leave open: no fence, no HTML and no code.
        text: to pass lines of.
        start: index of the first one.
    """
    end, blank = start, False
    if text[start : start + 1] in _SPACE and (first := _BLANKS.match(text, start)):
        end, blank, blocks = first.end(), True, behind_blank(blocks)
    while found := _PARAGRAPH.match(text, end):
        indent, marker, heading, row, rest, blanks = found.groups()
        if marker:
            if may_be_no_item(blocks, len(indent), marker):
                break
            offset, mark = len(indent) + len(marker) + 1, len(indent)
        else:
            offset, mark = item_of(blocks, len(indent))
        if offset and rest and _is_left(rest, offset):
            mark = -1
        alone = heading and (rest is None or len(rest) <= _NO_LINE_BEHIND)
        behind = behind_heading(offset, mark) if alone else behind_text(offset, mark)
        if rest is None:
            kind = _BLOCK if marker or heading or row else _TEXT
            return end, blocks, blank, (found.end(), kind, behind)
        end, blocks = found.end(), behind
        if blanks:
            blank, blocks = True, behind_blank(behind)
    return end, blocks, blank, None


def _is_left(lines: str, offset: int) -> bool:
    """Whether one of the lines behind an item's first one begins left of its content."""
    return (
        len(lines) > _NO_LINE_BEHIND
        and _LEFT[min(offset, len(_LEFT) - 1)].search(lines) is not None
    )


def plain_code(text: str, start: int, end: int) -> Iterator[Span]:
    """Give the code spans of what :func:`pass_lines` has passed."""
    return (found.span() for found in _CODE.finditer(text, start, end))
