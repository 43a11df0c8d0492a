"""The text that a page shows, with the position of every character in the text as written."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from enum import Enum, auto
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.letters import looks_like
from knowledge_rag.guardrails.characters import MAX_ZEROS, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.characters import Span

APART: Final = "\0"
"""Separates words that aren't next to each other on the page."""

MAX_ENTITY: Final = 31
"""Maximum characters of a character reference's name, or of its number after leading zeros."""
MAX_TAG: Final = 200
"""Maximum characters of a tag in a block that is too long to parse."""
_ODD: Final = rf"&(?:\#[xX]?0{{0,{MAX_ZEROS}}}+)?+[0-9A-Za-z]{{1,{MAX_ENTITY}}};?|[\\*`>\0-\x08\x0b\x0e-\x1f\x7f\x85]|~~+"
"""Character references, marks, and controls without a shape."""
_QUOTE: Final = ">"
_TAG_BEGUN: Final = re.compile(r"<[A-Za-z/!?]")
_TAG: Final = re.compile(r"<[A-Za-z/!?](?:\"[^\"]*+\"|'[^']*+'|[^<>\"'])*+>|<[A-Za-z/!?][^<>]*+>")
_NOT_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\r?\n")
_SHORT_TAG: Final = re.compile(rf"<[A-Za-z/!?][^<>.\n]{{0,{MAX_TAG}}}+>")
_SPECIAL: Final = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"))


_DIGITS: Final = frozenset("0123456789")


class Way(Enum):
    """How to read a part of a text."""

    MARKDOWN = auto()
    CODE = auto()
    """Without tags and character references."""
    TOO_LONG = auto()
    """A block that is too long to parse as a whole: only short tags count."""


class Look:
    """A text as its reader sees it; it grows at its end.

    Marks, tags and characters without a shape are left out; letters are the ASCII letters that they
    look like. The contents of tags follow the rest, since some readers see them.
    """

    def __init__(self) -> None:
        self.text = ""
        self._starts: list[int] = []  # of each run in it
        self._runs: list[tuple[int, int, bool]] = []  # span of each; whether it is as written
        self._added: list[str] = []
        self._length = 0
        self._last = APART  # character
        self._odd = _odd("")  # finds text that a page shows differently
        self._behind = 0  # offset after the last added part
        self._left_out = False  # whether anything was left out after the last character
        self._tags: list[Span] = []  # to be read after their paragraph
        self._until = 0

    def add(self, text: str, first: int, moved: int, parts: Iterable[tuple[int, int, Way]]) -> None:
        """Add parts of a text that are next to each other on the page.

        Args:
            text: as written.
            first: index before which no part begins.
            moved: offset of the text's first character.
            parts: start and end index of each, and how to read it; in order.
        """
        self._odd = _odd_in(text[first:])
        parts = list(parts)
        tags = list(_tags_of(text, parts)) if text.find("<", first) >= 0 else []
        number = 0  # of the first tag that may reach into the part
        for start, end, way in parts:
            self._left_out |= self._behind < start + moved
            at, self._behind = start, end + moved
            while number < len(tags) and tags[number][0] < end:
                tag = max(tags[number][0], start), min(tags[number][1], end)
                self._read(text, at, tag[0], moved, way)
                self._left_out = True
                at = tag[1]
                if any(it in text[slice(*tag)] for it in (".", ":/")):  # a document's name, perhaps
                    blank = _BLANK_LINE.search(text, at)
                    self._tags.append(tag)
                    self._until = blank.end() if blank else len(text)
                if tags[number][1] > end:
                    break  # it continues in the next part
                number += 1
            self._read(text, at, end, moved, way)
        self._read_tags(text, moved)
        self.text += "".join(self._added)
        self._added.clear()

    def start_of(self, index: int) -> int:
        """Return the offset where the text shown at an index begins."""
        at = bisect_right(self._starts, index) - 1
        start, _, is_plain = self._runs[at]
        return start + index - self._starts[at] if is_plain else start

    def end_of(self, index: int) -> int:
        """Return the offset after the text shown before an index."""
        at = bisect_right(self._starts, index - 1) - 1
        start, end, is_plain = self._runs[at]
        return start + index - self._starts[at] if is_plain else end

    def forget(self, count: int) -> None:
        """Drop the first ``count`` characters; at least one must be left."""
        first = bisect_right(self._starts, count) - 1
        self._runs[first] = self.start_of(count), *self._runs[first][1:]
        self._starts = [max(start - count, 0) for start in self._starts[first:]]
        self._runs = self._runs[first:]
        self.text = self.text[count:]
        self._length -= count

    def _read(self, text: str, start: int, end: int, moved: int, way: Way) -> None:
        if self._tags and self._until <= end:
            tags, self._tags = self._tags, []
            self._read(text, start, max(start, self._until), moved, way)
            self._tags = tags
            self._read_tags(text, moved)
            start = max(start, self._until)
        at = start
        for odd in self._odd.finditer(text, start, end):
            if way is Way.CODE and odd[0][0] == "&":
                continue
            first, last = odd.span()
            if at < first:
                self._put(text[at:first], at + moved, first + moved, is_plain=True)
            if said := _said(odd[0]):
                self._put(said, first + moved, last + moved)
            else:
                self._left_out = True
            at = last
        if at < end:
            self._put(text[at:end], at + moved, end + moved, is_plain=True)

    def _read_tags(self, text: str, moved: int) -> None:
        tags, self._tags = self._tags, []
        for start, end in tags:
            self._put(APART, start + moved, start + moved)
            self._read(text, start, end, moved, Way.MARKDOWN)
            self._put(APART, end + moved, end + moved)

    def _put(self, said: str, start: int, end: int, *, is_plain: bool = False) -> None:
        if self._left_out and self._last.isdigit() and said[0].isalpha():
            self._last = APART
            self._put(APART, start, start)  # the number ends here
        self._last, self._left_out = said[-1], False
        last = self._runs[-1] if self._runs else None
        if last and is_plain and last[2] and last[1] == start:
            self._runs[-1] = last[0], end, True
        else:
            self._starts.append(self._length)
            self._runs.append((start, end, is_plain))
        self._added.append(said)
        self._length += len(said)


def look_of(page: str) -> str:
    """Return the look of a page's text."""
    look = Look()
    look.add(page, 0, 0, [(0, len(page), Way.CODE)])
    return look.text


def _tags_of(text: str, parts: Sequence[tuple[int, int, Way]]) -> Iterator[Span]:
    """Return the tags and comments of all parts, in order; one may span the gap between two parts."""
    for is_markdown, run in groupby(parts, lambda part: part[2] is Way.MARKDOWN):
        group = list(run)
        if is_markdown:
            yield from _tags(text, group[0][0], group[-1][1], Way.MARKDOWN)
        else:
            for part in group:
                yield from _tags(text, *part)


def _tags(text: str, start: int, end: int, way: Way) -> Iterator[Span]:
    """Return the closed tags and comments, in order, none overlapping another."""
    if way is not Way.MARKDOWN:
        yield from (
            it.span() for it in _SHORT_TAG.finditer(text, start, end) if way is not Way.CODE
        )
        return
    unclosed: set[str] = set()
    paragraph_end = start
    while begun := _TAG_BEGUN.search(text, start, end):
        at, start = begun.span()
        if at >= paragraph_end:  # no tag continues beyond it
            unclosed.clear()
            blank = _BLANK_LINE.search(text, at, end)
            paragraph_end = blank.start() + 1 if blank else end
        closed = _TAG.match(text, at, paragraph_end)
        behind = closed.end() if closed else 0
        for opening, closing in _SPECIAL:
            if opening not in unclosed and text.startswith(opening, at):
                if (found := text.find(closing, start, paragraph_end)) < 0:
                    unclosed.add(opening)  # a second search wouldn't find it either
                else:
                    behind = max(behind, found + len(closing))
        if behind:
            yield at, behind
            start = behind


@lru_cache(maxsize=256)
def _odd(letters: str) -> re.Pattern[str]:
    return re.compile(f"{_ODD}|[{re.escape(letters)}]" if letters else _ODD)


def _odd_in(text: str) -> re.Pattern[str]:
    """Return the pattern of a text's characters that a page shows differently."""
    letters = set() if text.isascii() else set("".join(_NOT_ASCII.findall(text)))
    return _odd("".join(sorted(one for one in letters if _shape(one) != one)))


@lru_cache(maxsize=1024)
def _said(odd: str) -> str:
    if odd == _QUOTE:
        return " "
    if odd[0] == "&":
        return normalise(html.unescape(odd)).look if html.unescape(odd) != odd else odd
    return "" if odd[0] <= "\x85" else _shape(odd)


def _shape(character: str) -> str:
    """Return the look of one character; a digit stays that digit, whatever letter it looks like."""
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain in _DIGITS else looks_like(character)
