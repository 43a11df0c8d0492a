"""Reads a text as Markdown readers do: the code that they see, and the words that they show.

Readers differ in three things: whether they let HTML through, whether they read tables, and whether a fence
ends at its mark if one word follows. CommonMark's own parser reads a text in each of these ways, if it has
anything in which they differ.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache, lru_cache
from html import unescape
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from markdown_it.rules_block import fence

from knowledge_rag.guardrails.characters import CLOSING, OPENING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    from knowledge_rag.guardrails.characters import Span

CODE: Final = "\x7f"
"""Replaces a bracket on a page that is code."""

_FOLLOWING: Final = "Q7Z0Q"
_LINE_END: Final = re.compile(r"\r\n?|\n")
_TICKS: Final = re.compile(r"`+")
_FENCE_ENDS: Final = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_FENCE: Final = 3
_OPENED: Final = re.compile(r"`{3,}|~{3,}")
_MAY_END_FENCE: Final = re.compile(r"[\r\n][ \t>]*(?:`{3,}|~{3,})\S+[ \t]*(?=[\r\n]|\Z)")
_TAG: Final = re.compile(r"<[A-Za-z/!?]")
_BELOW_HEAD: Final = re.compile(r"[\r\n][ \t>|:-]*-[ \t>|:-]*(?=[\r\n]|\Z)")
_LABEL: Final = 0xF0000
_SHOWN_HTML: Final = (
    re.compile(r"<!--.*?-->|<[^>]*>", re.DOTALL),
    re.compile(r"<[^<>]*>"),
)
_BLANK_LINES: Final = re.compile(r"\n{2,}")


@dataclass(slots=True)
class View:
    """A text as one reader sees it.

    Args:
        blocks: the types of its blocks, in order.
        is_open: whether a line at the left edge, below a blank one, would belong to its last block.
        spans: its code spans that end on their line, with backticks.
        wrapped: those that don't end on their line.
        code: its code blocks, in whole lines.
        shown: texts that a page shows, each with the span of its lines.
    """

    blocks: list[str] = field(default_factory=list)
    is_open: bool = False
    spans: list[Span] = field(default_factory=list)
    wrapped: list[Span] = field(default_factory=list)
    code: list[Span] = field(default_factory=list)
    shown: list[tuple[Span, str]] = field(default_factory=list)

    def add_spans(self, spans: Iterable[Span], text: str) -> None:
        """Add code spans of a text, in order."""
        for span in spans:
            (self.wrapped if _LINE_END.search(text, *span) else self.spans).append(span)

    def is_behind_list(self, code: Token) -> bool:
        """Whether indented code is below a list: mistletoe and mistune take it for words of its last item."""
        return code.level == 0 and any(one.endswith("list_close") for one in self.blocks)

    def code_at(self, offset: int) -> Span | None:
        """Return the code span or block with the character at an offset."""
        for spans in (self.code, self.spans):
            at = bisect_right(spans, offset, key=itemgetter(0)) - 1
            if at >= 0 and offset < spans[at][1]:
                return spans[at]
        return None


@lru_cache(maxsize=32)
def views_of(text: str) -> Sequence[View]:
    """Return whole top-level blocks as each reader sees them."""
    runs = [found.span() for found in _TICKS.finditer(text)]
    lines = [0, *(found.end() for found in _LINE_END.finditer(text))]
    source = f"{_with_labels(text, runs)}\n\n{_FOLLOWING}\n"

    def view(**way: bool) -> View:
        return _view(_parser(**way), source, text, runs, lines)

    views = [view(html=False)]
    if "<" in text and any(not views[0].code_at(tag.start()) for tag in _TAG.finditer(text)):
        views.append(view(html=True))
    tables = "|" in text and _BELOW_HEAD.search(text) is not None
    if tables:
        views += [view(html=html > 0, tables=True) for html in range(len(views))]
    if any(_MAY_END_FENCE.search(text, *block) for one in views for block in one.code):
        both = (False, True)
        views += [
            view(html=html, tables=table, loose=True)
            for table in both[: 1 + tables]
            for html in both[: 1 + ("<" in text)]
        ]
    return views


def is_open(text: str) -> bool:
    """Whether some reader takes a line at the left edge, below a blank one, for part of a text's last block."""
    following = len(_LINE_END.findall(text)) + 2
    source = f"{text}\n\n{_FOLLOWING}\n"
    for parser in _outliners():
        last = [one for one in parser.parse(source) if one.map and one.map[0] == following]
        if not last or last[0].level > 0 or last[0].type != "paragraph_open":
            return True
    return False


@cache
def _outliners() -> Sequence[MarkdownIt]:
    return [MarkdownIt("commonmark", {"html": way}).disable("inline") for way in (False, True)]


@cache
def _parser(*, html: bool, tables: bool = False, loose: bool = False) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": html})
    if loose:
        alt = ["paragraph", "reference", "blockquote", "list"]
        parser.block.ruler.at("fence", _loose_fence, {"alt": alt})
    return parser.enable("table") if tables else parser


def _loose_fence(state: StateBlock, first: int, behind: int, silent: bool) -> bool:  # noqa: FBT001 - a rule of markdown-it
    """Read a fence that ends at its mark even if one word follows: mistletoe takes that for its end."""

    def line_at(number: int) -> tuple[int, str]:
        start = state.bMarks[number] + state.tShift[number]
        return start, state.src[start : state.eMarks[number]]

    opened = None if silent else _OPENED.match(line_at(first)[1])
    if opened is None:
        return fence(state, first, behind, silent)
    mark = opened[0]
    for number in range(first + 1, behind):
        start, line = line_at(number)
        if line.startswith(mark) and len(line.split(maxsplit=1)) == 1:
            end, state.eMarks[number] = state.eMarks[number], start + len(mark)
            is_fence = fence(state, first, behind, silent)
            state.eMarks[number] = end
            return is_fence
    return fence(state, first, behind, silent)


def _with_labels(text: str, runs: Sequence[Span]) -> str:
    """Put a unique character after each run of backticks, to identify code spans."""
    parts, at = [], 0
    for number, (start, end) in enumerate(runs):
        if end - start >= _FENCE and _FENCE_ENDS.match(text, end):
            continue  # with anything after it, this would end no fence
        parts += [text[at:end], chr(_LABEL + number)]
        at = end
    return "".join([*parts, text[at:]])


def _view(
    parser: MarkdownIt, source: str, text: str, runs: Sequence[Span], lines: Sequence[int]
) -> View:
    view = View(is_open=True)
    offsets = [*lines, len(text)]
    by_length: dict[int, list[int]] = {}
    for number, (start, end) in enumerate(runs):
        by_length.setdefault(end - start, []).append(number)
    labels = {_LABEL + number: None for number in range(len(runs))}
    following = len(lines) + 1
    for token in parser.parse(source):
        first, last = token.map or (following, following)
        if first == following and token.map:
            view.is_open = token.level > 0 or token.type != "paragraph_open"
            break
        if token.type != "inline":
            view.blocks.append(token.type)
        if token.map is None:
            continue
        place = offsets[min(first, len(lines))], offsets[min(last, len(lines))]
        if token.type == "fence" or (token.type == "code_block" and not view.is_behind_list(token)):
            view.code.append(place)
        elif token.type == "html_block":
            for pattern in _SHOWN_HTML:
                page = unescape(pattern.sub("", token.content.translate(labels)))
                view.shown.append((place, _BLANK_LINES.sub("\n", page)))
        elif token.type == "inline":
            children = token.children or ()
            page = "".join(_shown(child) for child in children).translate(labels)
            view.shown.append((place, page))
            view.add_spans(_spans(children, runs, by_length), text)
    return view


def _spans(
    children: Sequence[Token], runs: Sequence[Span], by_length: dict[int, list[int]]
) -> Iterator[Span]:
    for child in children:
        number = ord(child.content[0]) - _LABEL if child.type == "code_inline" else -1
        if not 0 <= number < len(runs):
            continue
        length = len(child.markup)
        same = by_length.get(length, [])
        behind = bisect_right(same, number)
        if behind == len(same):
            continue
        yield runs[number][1] - length, runs[same[behind]][1]


def _shown(part: Token) -> str:
    if part.type in ("softbreak", "hardbreak"):
        return "\n"
    if part.type == "html_inline":
        return "\n" if part.content.lower().startswith("<br") else ""
    return without_pairs(part.content) if part.type == "code_inline" else part.content


def without_pairs(code: str) -> str:
    """Return code with CODE in place of each bracket that opens and closes in it, and after each other opening one."""
    shown, opened = list(code), []
    for at, one in enumerate(code):
        if one in OPENING:
            opened.append(at)
        elif one in CLOSING and opened:
            shown[opened.pop()] = shown[at] = CODE
    for at in opened:
        shown[at] += CODE
    return "".join(shown)
