r"""Headings and lists of a Markdown text, with exact positions, found without parsing every line.

Only lines that can be or hide a heading are examined (grammar.CANDIDATE): a fence or a comment is
skipped whole. Whether such a line is in a list or an HTML block is checked only where it matters: an
indented line may be in a list, and a line right below another one in HTML. Headings inside lists and
block quotes belong to those, not to the document's outline.

One known difference from CommonMark: a line of ``=`` that lazily continues a quote's paragraph ends
it here, so that ``> quote``, ``===``, ``text``, ``---`` gives a heading "text".

A *position* is the index in ``source = "\n" + text`` of the ``\n`` before a line, which is that
line's offset in ``text``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core import grammar
from knowledge_rag.core.lines import BLANK

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator


_MARKER_LENGTH = 20
"""Characters that identify a list item: a newline, its indent, up to nine digits, a mark, a space."""


def line_before_is_blank(source: str, position: int) -> bool:
    """Whether the line before the one at ``position`` is blank or doesn't exist."""
    before = source.rfind("\n", 0, position)
    return not source[before + 1 : position].strip(BLANK)


def list_around(source: str, start: int, position: int) -> int:
    """Return the position after the list that contains the line at ``position``, -1 if none does.

    No list is open at ``start``, which is not beyond ``position``.
    """
    until = position + _MARKER_LENGTH
    free = start
    while (item := grammar.ITEM.search(source, start, until)) and item.start() <= position:
        start = item.end()
        if opens_list(source, item.start(), free):
            start = free = list_end(source, item.start())
            if start > position:
                return start
    return -1


def opens_list(source: str, position: int, free: int) -> bool:
    """Whether the line at ``position``, which is in no list, starts one (CommonMark 5.3).

    No paragraph extends across ``free``.
    """
    item = grammar.ITEM.match(source, position)
    if item is None or grammar.THEMATIC_BREAK.match(source, position):
        return False
    if position == free or line_before_is_blank(source, position):
        return True
    # it interrupts a paragraph only if it has content and its number is 1
    return item[3] is not None and (item[2] in "-+*" or item[2][:-1] == "1")


def list_end(source: str, position: int) -> int:
    """Return the position after the list whose first item is at ``position``."""
    while True:
        position = item_end(source, position)
        if position >= len(source) or not is_item(source, position):
            return position


def is_item(source: str, position: int) -> bool:
    """Whether a list item starts at ``position``."""
    return (
        grammar.ITEM.match(source, position) is not None
        and grammar.THEMATIC_BREAK.match(source, position) is None
    )


def item_end(source: str, position: int) -> int:
    """Return the position after the list item at ``position``: the next line that is not part of it.

    A line is part of the item if it is blank, indented to the item's content, or a lazy continuation
    of one of its paragraphs.

    Raises:
        ValueError: no list item starts at ``position``.
    """
    item = grammar.ITEM.match(source, position)
    if item is None:
        raise ValueError(f"no list item at {position}")
    offset = content_offset(item)
    inside = grammar.outside_item(offset)
    at = item.end(2)
    own = grammar.FENCE_AFTER_MARKERS.match(source, position + 1)
    if own:
        at = past_fence(source, own["fence"], own.end(), offset)
    fenced = own is not None
    while found := inside.search(source, at):
        if found["out"] is None:
            at = past_fence(source, found["fence"], found.end(), offset)
            fenced = True
        elif _ends_item(source, found.start(), fenced=fenced and at == found.start()):
            return found.start()
        else:
            at = found.end()
    return len(source)


def content_offset(item: re.Match[str]) -> int:
    """Columns from the line's start to the content of a grammar.ITEM match (CommonMark 5.2)."""
    column = len(item[1]) + len(item[2])
    after = column
    for space in item[3] or " ":
        after += 4 - after % 4 if space == "\t" else 1
    return after if after - column <= 4 else column + 1


def past_fence(source: str, fence: str, at: int, offset: int) -> int:
    """Return where a fence in an item ends: after its close, or before the line that cuts it off."""
    close = grammar.fence_in_item_close(fence, offset).search(source, at)
    if close is None:
        return len(source)
    return close.start() if close["out"] is not None else close.end()


def _ends_item(source: str, position: int, *, fenced: bool) -> bool:
    """Whether the line at ``position``, indented less than the item's content, ends the item."""
    if fenced or line_before_is_blank(source, position) or is_item(source, position):
        return True
    # else it is a lazy continuation of the item's paragraph, unless it can interrupt one
    opening = grammar.BLOCK_START.match(source, position)
    return opening is not None and opening.lastgroup not in ("item", "code")


MAX_HEADING = 1_000
"""Maximum characters of a heading: every chunk below it repeats it."""

_LONG_TAG = 2_000
"""Maximum line length for recognising a tag alone on its line."""


Heading = tuple[int, int, int, int, str]
r"""One heading of the document's outline: offset of its first line; offset of the end of its last line's
text (before the ``\\n``); offset of the first non-blank line below (the text's length or more if
there is none); level, 1..6; text as written, without its marks, at most MAX_HEADING characters, a
setext heading's lines joined by a space."""


def find_headings(text: str, start: int = 0) -> Iterator[Heading]:
    """Find the outline's headings from offset ``start`` (a line's start) on, in order."""
    return _headings("\n" + text, start)


def first_heading(text: str, start: int = 0) -> Heading | None:
    """Find the outline's first heading from offset ``start`` (a line's start) on, if any."""
    return next(find_headings(text, start), None)


def _headings(source: str, position: int) -> Iterator[Heading]:
    free = position  # a line's start that no paragraph, list or HTML extends across
    for match in grammar.CANDIDATE.finditer(source, position):
        at, behind = match.span()
        if at < position:
            continue
        # with a blank line right above, the common case, only an indented line is in doubt
        if (source[at - 1] != "\n" and at != free) or source[at + 1] == " ":
            hidden = _hidden_until(source, match, free)
            if hidden:
                position = free = hidden
                continue
        kind = match.lastgroup
        if kind == "title":
            yield _atx(match)
            free = behind
        elif kind == "rule":
            start = _paragraph_start(source, free, at)
            if start < at and (setext := _setext(source, match, free, start)):
                yield setext
                free = behind
            elif grammar.THEMATIC_BREAK.match(source, at) or start < at:
                free = behind
            elif opens_list(source, at, free):
                position = free = list_end(source, at)
            else:  # text after all, which the next line may underline
                free = at
        else:
            position = free = fence_end(source, match) if kind == "fence" else html_end(source, at)


def _hidden_until(source: str, match: re.Match[str], free: int) -> int:
    """Return the position after the list or HTML block that contains the candidate, 0 if none does."""
    at = match.start()
    if source[at + 1] == " " and (end := list_around(source, free, at)) > 0:
        return end
    if at == free or line_before_is_blank(source, at):
        return 0
    return _html_around(source, free, at)


def _atx(match: re.Match[str]) -> Heading:
    marks, title = match.group(1, 2)
    title = title.strip(BLANK)
    if title[-1:] == "#":
        opened = title.rstrip("#")
        if not opened or opened[-1] in BLANK:  # closing marks need a space before them
            title = opened.rstrip(BLANK)
    start, body = match.span()
    return start, match.end(2) - 1, body, len(marks), title[:MAX_HEADING]


def line_end(source: str, index: int) -> int:
    r"""Return the index of the ``\\n`` (or the end) after the character at ``index``."""
    end = source.find("\n", index + 1)
    return len(source) if end < 0 else end


def fence_end(source: str, match: re.Match[str]) -> int:
    """Return the position after the fence that ``match`` opens: its close, or the text's end."""
    close = grammar.fence_close(match["fence"]).search(source, match.end())
    return close.end() if close else len(source)


def html_end(source: str, position: int) -> int:
    """Return the position after the line at ``position`` and the HTML block that it may open."""
    opening = source.index("<", position)
    for start, end in grammar.HTML_ENDS:
        if begun := start.match(source, opening):
            closed = end.search(source, begun.end())
            return line_end(source, closed.end() - 1) if closed else len(source)
    if grammar.HTML_NAMED.match(source, opening) or _tag_alone(source, opening):
        blank = grammar.BLANK_LINE.search(source, opening)
        return blank.start() if blank else len(source)
    return line_end(source, opening)


def _tag_alone(source: str, opening: int) -> bool:
    end = line_end(source, opening)
    return end - opening < _LONG_TAG and grammar.HTML_ALONE.match(source, opening) is not None


def _html_around(source: str, free: int, position: int) -> int:
    """Return the position after the HTML block that contains the line at ``position``, or 0.

    Considers only blocks that a blank line ends: the others are candidates themselves.
    """
    first = _text_start(source, free, position)
    listed_until = -1
    for line in grammar.HTML_LINE.finditer(source, first, position):
        opening = line.start("html")
        if line.start() < listed_until or not (
            grammar.HTML_NAMED.match(source, opening)
            or (line.start() == first and _tag_alone(source, opening))
        ):
            continue
        if line["indent"] and listed_until < 0:
            listed_until = list_around(source, free, line.start())
        if line.start() >= listed_until:
            blank = grammar.BLANK_LINE.search(source, position)
            return blank.start() if blank else len(source)
    return 0


def _text_start(source: str, free: int, position: int) -> int:
    """Return the position of the first of the non-blank lines right above the one at ``position``."""
    while position > free and not line_before_is_blank(source, position):
        position = source.rfind("\n", 0, position)
    return position


def _paragraph_start(source: str, free: int, end: int) -> int:
    """Return the position of the first line of the paragraph right above ``end``, or ``end``."""
    start = _text_start(source, free, end)
    for rule in grammar.STAR_RULE.finditer(source, start, end):
        start = rule.end()
    for line in source[start + 1 : end].split("\n"):
        if start >= end or not grammar.NO_PARAGRAPH.match(line):
            break
        start += len(line) + 1
    return start


def _setext(source: str, underline: re.Match[str], free: int, start: int) -> Heading | None:
    end = underline.start()
    start = max(start, list_around(source, free, start))  # a list above that this text ended
    if start >= end or _no_heading(source, free, start, end):
        return None
    title = " ".join(line.strip(BLANK) for line in source[start + 1 : end].split("\n"))
    below = underline.end()
    blank = grammar.BLANK_LINES.match(source, below)
    body = blank.end() if blank else below
    level = 1 if "=" in underline["rule"] else 2
    return start, below - 1, body, level, title[:MAX_HEADING]


def _no_heading(source: str, free: int, start: int, end: int) -> bool:
    """Whether the lines between are a quote, a table or part of a list, and not a paragraph."""
    if grammar.QUOTE_LINE.search(source, start, end) or grammar.TABLE_DELIMITER.search(
        source, start, end
    ):
        return True
    return list_around(source, free, source.rfind("\n", 0, end)) > 0
