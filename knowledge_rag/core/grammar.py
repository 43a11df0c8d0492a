r"""The block grammar of Markdown that the chunker needs, as compiled patterns.

After CommonMark 0.31 (sections 4 and 5) with GFM tables. Every pattern for a line begins with the
``\n`` before it, because a literal first character lets the engine jump from line to line. So a
text is searched as ``"\n" + text``, and *the index of that ``\n`` is the offset of the line in the
text itself*. Lines end at ``\n`` only; the ``\r`` of a CRLF counts as trailing space.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_EOL = r"[ \t]*+\r?(?=\n|\Z)"
_RULE = r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\r?(?=\n|\Z)"
_MARKER = r"(?:[-+*]|\d{1,9}[.)])(?=[ \t\r\n]|\Z)"
_FENCE = r"(?:`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"

CANDIDATE: Final = re.compile(
    r"\n(?=[ #`~<=-]) {0,3}+(?=[#`~<=-])(?:"
    r"(?P<atx>#{1,6})(?P<title>(?:[ \t\r][^\n]*+)?)(?=\n|\Z)(?:\n[ \t\r]*+(?=\n|\Z))*+"
    rf"|(?P<fence>{_FENCE})"
    r"|(?P<html><(?:[!?]|(?i:script|pre|style|textarea)(?=[ \t\r\n>]|\Z)))"
    rf"|(?P<rule>(?:=+|-+){_EOL})"
    r")"
)
"""A line that is a heading or may hide headings below it; every other line is skipped.

A heading includes the blank lines below it.
"""

BLOCK_START: Final = re.compile(
    r"\n(?P<indent> {0,3})(?:"
    r"(?P<atx>#{1,6})(?=[ \t\r\n]|\Z)"
    rf"|(?P<fence>{_FENCE})"
    r"|(?P<html><(?=[a-zA-Z/!?]))"
    rf"|(?P<hr>{_RULE})"
    rf"|(?P<item>{_MARKER})"
    r"|(?P<quote>>)"
    r")|\n(?P<code>(?: {4}| {0,3}\t)[ \t]*[^ \t\r\n])"
)
"""The kind of block that a non-blank line opens; no match means a paragraph."""

THEMATIC_BREAK: Final = re.compile(rf"\n {{0,3}}{_RULE}")
BLANK_LINE: Final = re.compile(r"\n[ \t\r]*(?=\n|\Z)")
BLANK_LINES: Final = re.compile(r"(?:\n[ \t\r]*(?=\n|\Z))+")
_BREAK = (
    rf"[ \t\r]*(?=\n|\Z)| {{0,3}}(?:#{{1,6}}(?=[ \t\r\n])|{_FENCE}|>|<(?=[a-zA-Z/!?])"
    rf"|{_RULE}"
    r"|(?:[-+*]|1[.)])[ \t]+[^ \t\r\n])"
)
_DELIMITER = r"(?=[^\n|]*+\|)[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?" + _EOL
TABLE_BREAK: Final = re.compile(rf"\n(?:{_BREAK})")
"""The line that ends a table, as far as cutting it requires."""
PARAGRAPH_BREAK: Final = re.compile(rf"\n(?:{_BREAK}|(?=[^\n|]*+\|[^\n]*+\n{_DELIMITER}))")
"""The same for a paragraph, which a table ends too."""
NOT_QUOTE: Final = re.compile(r"\n(?! {0,3}>)")
NOT_CODE: Final = re.compile(r"\n(?! {4}| {0,3}\t|[ \t\r]*(?:\n|\Z))")
TABLE_DELIMITER: Final = re.compile(rf"\n{_DELIMITER}")
QUOTE_LINE: Final = re.compile(r"\n {0,3}>")
HTML_LINE: Final = re.compile(r"\n(?P<indent> {0,3})(?P<html><(?=[a-zA-Z/]))")
NO_PARAGRAPH: Final = re.compile(r"    |\t| {0,3}\[[^\]\n]+\]:[ \t]*\S")
"""A line that can be right above a paragraph: indented code, or a link definition."""
STAR_RULE: Final = re.compile(rf"\n {{0,3}}(?!-+{_EOL}){_RULE}")
"""A thematic break that can't be mistaken for an underline."""

_HTML_BLOCK_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|"
    "hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|"
    "search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = r"[ \t]+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:[ \t]*=[ \t]*(?:[^\"'=<>`\x00-\x20]+|'[^'\n]*'|\"[^\"\n]*\"))?"
HTML_ENDS: Final = tuple(
    (re.compile(start, re.IGNORECASE), re.compile(end, re.IGNORECASE))
    for start, end in (
        (r"<(?:script|pre|style|textarea)(?=[ \t\r\n>]|\Z)", r"</(?:script|pre|style|textarea)>"),
        (r"<!--", r"-->"),
        (r"<\?", r"\?>"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (r"<![a-z]", r">"),
    )
)
"""HTML blocks of kinds 1 to 5: the start of each, and the text whose line ends it."""
HTML_NAMED: Final = re.compile(rf"</?(?:{_HTML_BLOCK_NAMES})(?=[ \t\r\n]|/?>|\Z)", re.IGNORECASE)
"""HTML blocks of kind 6, which a blank line ends."""
HTML_ALONE: Final = re.compile(
    rf"(?:<[a-z][a-z0-9-]*(?:{_ATTRIBUTE})*[ \t]*/?>|</[a-z][a-z0-9-]*[ \t]*>){_EOL}", re.IGNORECASE
)
"""HTML blocks of kind 7, which a blank line ends and which can't interrupt a paragraph."""

ITEM: Final = re.compile(
    r"\n(?=[ \-+*\d])( {0,3}+)([-+*]|\d{1,9}[.)])"
    r"(?:([ \t]+)(?=[^ \t\r\n])|(?=[ \t\r\n]|\Z))"
)
FENCE_AFTER_MARKERS: Final = re.compile(rf"(?:[ \t]*{_MARKER})+[ \t]+(?P<fence>{_FENCE})")
"""A fence that opens on the line of its own list item."""


def _fence_whole(indent: str, name: str) -> str:
    """Return the pattern of a fence from its opening marks, a group, to its close or the end.

    ``indent`` is the pattern of the text allowed before the closing marks.
    """
    close = rf"{indent}(?P={name})[`~]*+{_EOL}"
    return (
        rf"(?P<{name}>`{{3,}}(?=[^`\n]*+(?:\n|\Z))|~{{3,}})[^\n]*+"
        rf"(?:\n(?!{close})[^\n]*+)*+(?:\n[^\n]*+)?"
    )


_BLANK_RUN = r"[ \t\r]*+(?=\n)(?:\n[ \t\r]*+(?=\n))*+"
"""After a ``\n``: blank lines, up to the ``\n`` before the next non-blank line."""
SEAM: Final = re.compile(
    rf"\n(?=[ \t\r\n\-+*\d`~<])(?:{_BLANK_RUN}(?P<blank>(?=\n[^ \t\r\n]))?"
    r"|(?P<bullet>(?:[-+*]|\d{1,9}[.)])(?=[ \t]))"
    rf"(?:(?:[ \t]++{_MARKER})*+[ \t]++(?=[`~]){_fence_whole('[ ]*+', 'own')})?"
    r"| {0,3}+(?:(?=[`~])" + _fence_whole(" {0,3}", "marks") + r"|<(?:!--(?s:.*?(?:-->|\Z))"
    r"|(?i:(?P<tag>pre|script|style|textarea)\b(?s:.*?(?:</(?P=tag)>|\Z))))))"
)
"""Places where a long section can be cut, and blocks that must be skipped while looking for them."""
PLAIN_SEAM: Final = re.compile(rf"\n{_BLANK_RUN}(?P<blank>(?=\n))")
ITEM_PART: Final = re.compile(
    rf"\n(?:{_BLANK_RUN}(?P<blank>(?=\n))"
    rf"|(?P<bullet>[ \t]+{_MARKER})"
    rf"|[ \t]*+" + _fence_whole(r"[ \t]*+", "marks") + r")"
)
"""Places where a long list item can be cut: before inner items and after blank lines, not in a fence."""


CUTS: Final = frozenset({"blank", "bullet", "own"})
"""The last groups of matches that mark a cut: after "blank", before the others."""


@lru_cache(maxsize=256)
def fence_close(fence: str) -> re.Pattern[str]:
    """Return the pattern of the line that closes ``fence`` (its opening run of marks)."""
    return re.compile(rf"\n {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}{_EOL}")


@lru_cache(maxsize=64)
def outside_item(offset: int) -> re.Pattern[str]:
    """Return the pattern of lines that matter inside a list item with content at ``offset``.

    They are non-blank lines indented less than that, and the item's fences at any indent.
    """
    return re.compile(
        rf"\n(?:(?P<out> {{0,{offset - 1}}}+)(?=[^ \t\r\n])"
        rf"|[ \t]*+(?:{_MARKER}[ \t]+)*+(?P<fence>{_FENCE}))"
    )


@lru_cache(maxsize=256)
def fence_in_item_close(fence: str, offset: int) -> re.Pattern[str]:
    """Return the pattern that ends a fence inside a list item: its close, or the item's end."""
    return re.compile(
        rf"\n(?:(?P<out> {{0,{offset - 1}}})(?=[^ \t\r\n])"
        rf"|[ \t]*{re.escape(fence[0])}{{{len(fence)},}}{_EOL})"
    )
