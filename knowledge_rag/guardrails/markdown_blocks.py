r"""Which lines of an answer are code, decided line by line, from the first to the last.

A model's text is taken for code only where every reading of Markdown agrees that it is. Where
readings part (a fence inside raw HTML, a list item that ends inside its fence, ...) everything from
there on counts as text, so that what some reader sees as text has always been checked.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

from knowledge_rag.core.lines import BLANK

HEAD: Final = 160
"""Characters at the start of a line that decide what it is."""


class Kind(Enum):
    """What a line is."""

    BLANK = auto()
    CODE = auto()
    """Of a fenced or an indented code block, fences included."""
    BLOCK = auto()
    """Text that begins a block: a list item, a quote, a heading."""
    TEXT = auto()


class Blocks(NamedTuple):
    """What the lines so far leave open for the next one.

    Args:
        trusted: false once readings have parted: no code from there on.
        fence: the marks of the open fence, "" outside one.
        floor: columns that every line in the fence is indented by at least, or its list item ends.
        quotes: how many ``>`` every line in the fence begins with.
        list_offset: column of the content of the last list item, 0 outside lists.
        mark: column of that item's mark; -1 where the item may have ended, or be none: of the item that
            lines are in, ``list_offset`` is then the last column that its content may begin in.
        after_blank: whether indented code may begin on the next line.
        in_code: whether the last line was indented code.
        in_html: whether the last lines are an HTML block, which a blank line ends.
        in_text: whether the last line may be a paragraph's.
    """

    trusted: bool = True
    fence: str = ""
    floor: int = 0
    quotes: int = 0
    list_offset: int = 0
    after_blank: bool = True
    in_code: bool = False
    in_html: bool = False
    in_text: bool = False
    mark: int = 0


_EARLY: Final = re.compile(
    r"[ \t]{0,40}(?:(?:[-+*]|\d{1,9}[.)])[ \t]{1,40})?(?:[^\s`~<>+*!?:\d.)\[#-]|\[[^^]|#{1,6}[^#]|#{7})"
)
_MARKER: Final = re.compile(
    r"(?:[-+*]|\d{1,9}[.)])(?=[ \t\r]|$)[ \t]*|\[\^[^\]]*\]:[ \t]*|(?:!!!|\?\?\?|:)[ \t]+"
)
_ITEM: Final = re.compile(r"[ \t]*+(?:(?:[-+*]|\d{1,9}[.)])[ \t]++)*+(?!\[\^|!!!|\?\?\?|:[ \t])")
_HEADING: Final = re.compile(r" {0,3}#{1,6}(?:[ \t]|\r?$)")
_LATER: Final = re.compile(r"[ \t]*+(?!0*1[.)])\d")
_QUOTES: Final = re.compile(r"(?: {0,3}>[ \t]?)+")
_FENCE: Final = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_FENCE_LIKE: Final = re.compile(r"[\s>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?:`{3}|~{3})")
_PLAIN: Final = re.compile(
    r"(?P<indent> {0,3})(?:(?P<marker>[-+*]|\d{1,9}[.)]) )?"
    r"(?:(?P<block>[#|])|[^\W\d_]|[\"'(_]|\*\*|`(?!``))"
)
"""How most lines begin: neither a fence nor HTML, with one list marker at most."""
_BEGINS: Final = re.compile(
    r"(?: {0,3}>[ \t]?)*+[ \t]*+"
    r"(?:\r?$|#{1,6}(?:[ \t\r]|$)|(?:[-+*]|0*1[.)])[ \t]++[^\r]|`{3}|~{3}|\[\^)"
)
"""How a line begins that goes on with no paragraph, whoever reads it."""
_WITHIN: Final = re.compile(r"(?:[ \t]*+(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t])))*+")
_ENDLESS: Final = re.compile(
    r"<(?:!--|\?|!\[CDATA\[|![a-z]|(?:pre|script|style|textarea)\b)", re.IGNORECASE
)
"""Opens HTML that a blank line does not end."""

_LEAST_OFFSET: Final = 2
"""Columns before a list item's content at least."""
_LEAST_INNER: Final = 2 * _LEAST_OFFSET
"""Columns before the content of an item that is in another one."""

# a member of an enumeration takes time to look up, and lines are many
_BLANK, _CODE, _BLOCK, _TEXT = Kind.BLANK, Kind.CODE, Kind.BLOCK, Kind.TEXT


def is_decided(blocks: Blocks, head: str) -> bool:
    """Whether a line that begins like this is what it is, whatever follows.

    Args:
        blocks: what the lines before leave open; a line of HTML is looked at as a whole.
        head: what is known of the line, without its end.
    """
    return len(head) >= HEAD or (not blocks.in_html and _EARLY.match(head) is not None)


def next_line(blocks: Blocks, line: str) -> tuple[Kind, Blocks]:
    """Tell what a line is, and what it leaves open for the next one.

    Args:
        blocks: what the lines before leave open.
        line: its first HEAD characters, without its end.
    """
    if blocks.fence:
        return _in_fence(blocks, line)
    if blocks.trusted and not blocks.in_html and (plain := _PLAIN.match(line)):
        return _plain(blocks, plain)
    if not line.strip(BLANK):
        return _BLANK, behind_blank(blocks)
    if not blocks.trusted:
        return _TEXT, blocks
    if blocks.in_html or line.lstrip(" \t")[0] == "<":
        return _html(_beside(blocks, _columns(line)), line)
    return _outside(blocks, line)


def quotes_of(line: str) -> int:
    """Count the quotations, one in another, that a line is in by its own marks."""
    within = _WITHIN.match(line)
    return within[0].count(">") if within else 0


def may_go_on(line: str) -> bool:
    """Whether to some reader a line that begins a block goes on with the paragraph before."""
    return not _BEGINS.match(line)


def plain_code_end(blocks: Blocks, text: str, start: int) -> int:
    """Give the index behind whole lines from ``start`` on that go on as code like the last one.

    There may be more of them; those that are passed over leave open what ``blocks`` does.
    """
    if not blocks.fence or blocks.quotes:
        return start
    lines = _plain_code(blocks.fence[0], blocks.floor).match(text, start)
    return lines.end() if lines else start


@lru_cache(maxsize=64)
def _plain_code(mark: str, floor: int) -> re.Pattern[str]:
    """Give the pattern of lines in a fence that neither end it nor the list item that it is in."""
    return re.compile(rf"(?:(?: {{{floor}}}[^{mark}\r\n]*+|[ \t]*+)\r?\n)*+")


def behind_blank(blocks: Blocks) -> Blocks:
    """Give what is left open by a line on which nothing is left."""
    if blocks.after_blank and not blocks.in_html:
        return blocks
    return _behind_blank(blocks)


@lru_cache(maxsize=256)
def _behind_blank(blocks: Blocks) -> Blocks:
    return blocks._replace(after_blank=True, in_html=False, in_text=False)


@lru_cache(maxsize=256)
def behind_text(list_offset: int, mark: int) -> Blocks:
    """Give what is left open by a line of ordinary text, with the columns of its list item."""
    return Blocks(list_offset=list_offset, after_blank=False, in_text=True, mark=mark)


@lru_cache(maxsize=256)
def behind_heading(list_offset: int, mark: int) -> Blocks:
    """Give what is left open by a heading, with the columns of its list item."""
    return Blocks(list_offset=list_offset, after_blank=False, mark=mark)


def item_of(blocks: Blocks, indent: int) -> tuple[int, int]:
    """Give the columns of the list item, and of its mark, that a line with this indent goes on with.

    Left of its content, a paragraph of the item may go on, or the item has ended.
    """
    if indent >= blocks.list_offset:
        return blocks.list_offset, blocks.mark
    return (blocks.list_offset, -1) if indent or not blocks.after_blank else (0, 0)


def _beside(blocks: Blocks, indent: int) -> Blocks:
    return blocks if indent >= blocks.list_offset else blocks._replace(mark=-1)


def _plain(blocks: Blocks, found: re.Match[str]) -> tuple[Kind, Blocks]:
    """Tell of a line that begins as most do what :func:`_outside` would, only faster."""
    indent, marker, mark = found.groups()
    if marker:
        if may_be_no_item(blocks, len(indent), marker):
            return _outside(blocks, found.string)
        return _BLOCK, behind_text(len(indent) + len(marker) + 1, len(indent))
    item = item_of(blocks, len(indent))
    if mark and _HEADING.match(found.string):
        return _BLOCK, behind_heading(*item)
    return _BLOCK if mark else _TEXT, behind_text(*item)


def _in_fence(blocks: Blocks, line: str) -> tuple[Kind, Blocks]:
    inner = line
    for _ in range(blocks.quotes):
        quote = re.match(r" {0,3}>[ \t]?", inner)
        if not quote:
            return _parted(blocks)
        inner = inner[quote.end() :]
    body = inner.strip(BLANK)
    if not body:
        return _CODE, blocks
    indent = _columns(inner)
    if indent < blocks.floor:
        return _parted(blocks)
    mark = blocks.fence[0]
    if body.startswith(blocks.fence) and not body.strip(mark):
        if indent >= blocks.floor + (4 if blocks.mark >= 0 else 1) or len(line) >= HEAD:
            return _parted(blocks)
        return _CODE, blocks._replace(fence="", after_blank=False, in_code=False, in_text=False)
    return _CODE, blocks


def parted(blocks: Blocks) -> Blocks:
    """Give what is left open where readings part: nothing is code from there on."""
    return blocks._replace(trusted=False, fence="", after_blank=False, in_code=False)


def _parted(blocks: Blocks) -> tuple[Kind, Blocks]:
    return _TEXT, parted(blocks)


def _html(blocks: Blocks, line: str) -> tuple[Kind, Blocks]:
    body = line.strip()
    closed = body.startswith("<!--") and "-->" in body[5:]
    if _FENCE_LIKE.match(line) or (_ENDLESS.search(body) and not closed):
        return _parted(blocks)
    if blocks.in_html and (offset := _past_markers(line)[1]):  # an item, to who takes HTML for text
        blocks = blocks._replace(list_offset=max(offset, blocks.list_offset), mark=-1)
    return _TEXT, blocks._replace(after_blank=False, in_code=False, in_html=True, in_text=False)


def _outside(blocks: Blocks, line: str) -> tuple[Kind, Blocks]:
    indent = _columns(line)
    if (blocks.after_blank or blocks.in_code) and indent >= blocks.list_offset + 4:
        return _CODE, blocks._replace(after_blank=False, in_code=True, in_text=False)
    if blocks.in_code:
        blocks = blocks._replace(in_code=False)
    if quotes := _QUOTES.match(line):
        return _quoted(_beside(blocks, indent), line, quotes.end())
    position, offset = _past_markers(line)
    if offset:
        return _item(blocks, line, position, offset)
    body = line.lstrip(" \t")
    if body[0] == ">" and (held := _held(body)).startswith("<"):  # a quotation in an item
        return _html(_beside(blocks, indent), held)
    kind = _BLOCK if body[0] in "#|" else _TEXT
    if _FENCE.match(body):
        return _fenced_in(blocks, body, indent) or (_TEXT, _behind(blocks, indent))
    return kind, _behind(blocks, indent)


def _behind(blocks: Blocks, indent: int) -> Blocks:
    list_offset, mark = item_of(blocks, indent)
    return blocks._replace(after_blank=False, in_text=True, list_offset=list_offset, mark=mark)


def _fenced_in(blocks: Blocks, body: str, indent: int) -> tuple[Kind, Blocks] | None:
    """Give the state inside a fence that stands in no list item's first line."""
    is_sure = blocks.mark >= 0
    if is_sure and indent >= blocks.list_offset:
        return _fenced(blocks, body, indent, blocks.list_offset)
    if indent < _LEAST_OFFSET or (is_sure and blocks.list_offset < _LEAST_INNER):
        return _fenced(blocks._replace(list_offset=0, mark=0), body, indent, 0)
    if indent >= 4:  # in an item around the last one; or it is no fence
        return _parted(blocks)
    return _fenced(blocks._replace(list_offset=indent, mark=-1), body, indent, indent)


def may_be_no_item(blocks: Blocks, indent: int, line: str) -> bool:
    """Whether a line with a list's number may go on with a paragraph: below one, lists begin with 1."""
    if not blocks.in_text or blocks.after_blank or not _LATER.match(line):
        return False
    return indent >= blocks.list_offset or blocks.mark < 0


def _item(blocks: Blocks, line: str, position: int, offset: int) -> tuple[Kind, Blocks]:
    """Tell of a line that begins with list marks, whose content has this index and this column."""
    body, indent = line[position:], _columns(line)
    may_be_text = may_be_no_item(blocks, indent, line)
    if may_be_text and blocks.mark >= 0:
        return _parted(blocks)
    wide = "\t" in line[:position] or "     " in line[:position].lstrip()
    odd = wide or not _ITEM.match(line)  # an extension's, in which not everybody sees a fence
    is_sure = not (odd or may_be_text or not body.strip(BLANK)) and _begins_item(blocks, indent)
    mark, most = (indent, offset) if is_sure else (-1, max(offset, blocks.list_offset))
    blocks = blocks._replace(list_offset=most, after_blank=False, in_text=True, mark=mark)
    if (held := _held(body)).startswith("<"):
        return _html(blocks, held)
    if not is_sure:
        return _parted(blocks) if _FENCE_LIKE.match(body) else (_BLOCK, blocks)
    return _fenced(blocks, body, offset, offset) or (_BLOCK, blocks)


def _begins_item(blocks: Blocks, indent: int) -> bool:
    """Whether a list's mark in this column begins an item to every reader, and is no text of another."""
    if indent < 4:
        return True
    if blocks.mark < 0:
        return False
    return indent == blocks.mark or blocks.list_offset <= indent < blocks.list_offset + 4


def _held(body: str) -> str:
    """Give what stands behind the marks of quotations, and of items in them."""
    return _WITHIN.sub("", body, count=1).lstrip(" \t")


def _fenced(blocks: Blocks, body: str, indent: int, floor: int) -> tuple[Kind, Blocks] | None:
    """Give the state inside the fence that ``body`` opens, if it opens one."""
    fence = _FENCE.match(body)
    if not fence or indent >= floor + 4:
        return None
    if len(body) >= HEAD - 80 or "|" in body:  # its info may go on, and hold a backtick; or it is
        return _parted(blocks)  # the head of a table to who looks for tables first
    marks = fence[1] or fence[2]
    list_offset = blocks.list_offset if floor else 0
    return _CODE, blocks._replace(
        fence=marks, floor=floor, quotes=0, list_offset=list_offset, after_blank=False
    )


def _quoted(blocks: Blocks, line: str, end: int) -> tuple[Kind, Blocks]:
    blocks = blocks._replace(after_blank=False, in_text=False)
    inner = line[end:]
    body = inner.lstrip(" ")
    if body.startswith("<") or ("<" in body and _MARKER.match(body)):
        return _html(blocks, body)
    if (held := _held(inner)).startswith("<"):
        return _html(blocks, held)
    fenced = _fenced(blocks._replace(list_offset=0), inner.lstrip(" "), _columns(inner), 0)
    outside = not blocks.list_offset and _columns(inner) < _LEAST_OFFSET  # of items in it, too
    if fenced and fenced[1].fence and _columns(line) < 4 and outside:
        return _CODE, fenced[1]._replace(quotes=line[:end].count(">"))
    return _parted(blocks) if _FENCE_LIKE.match(inner) else (_BLOCK, blocks)


def _past_markers(line: str) -> tuple[int, int]:
    """Give the index and the column of a list item's content, column 0 if it is none."""
    position = len(line) - len(line.lstrip(" \t"))
    offset = 0
    while marker := _MARKER.match(line, position):
        width = len(marker[0].rstrip(" \t"))
        offset = (offset or _columns(line)) + width
        spaces = _columns(marker[0][width:], offset)
        offset += spaces if 1 <= spaces <= 4 else 1
        position = marker.end()
    return position, offset


def _columns(text: str, start: int = 0) -> int:
    """Count the columns of the white space that a text begins with, in this column."""
    column = start
    for character in text:
        if character == "\t":
            column += 4 - column % 4
        elif character == " ":
            column += 1
        else:
            break
    return column - start
