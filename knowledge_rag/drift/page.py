"""Code, links and headings of a Markdown text, with exact places.

Block structure is CommonMark's (markdown-it). Comments and HTML are no part of what is checked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from markdown_it import MarkdownIt

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.documents import describe, parse_front_matter
from knowledge_rag.core.lines import split_lines
from knowledge_rag.core.metadata import status_of
from knowledge_rag.guardrails.retired import HEAD, is_retired

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

MAX_CHARACTERS: Final = 2_000_000
"""Of a document that are looked at."""
_HTML_ANCHOR: Final = re.compile(r"<\w[^<>]*?\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_OWN_ID: Final = re.compile(r"\s*\{:?\s*#([\w.:-]+)[^{}]*\}\s*$")

_COMMENT: Final = re.compile(r"\s*<!--(?:(?!-->).)*-->\s*", re.DOTALL)
_SET_OFF: Final = re.compile(r"[(\[]|^\W*\w+(?: \w+)?\s*(?:[:–—]|- |$)")
"""How a title says that its page is deprecated, and not what it is about: ``Deprecated APIs``."""
_TARGET: Final = re.compile(r"\]\([^()\s]*\)?|^ *\[[^\]]*\]:.*$", re.MULTILINE)
_OLD: Final = re.compile(
    r"\b(?:superseded|outdated|obsolete|deprecated|archived?|retired|withdrawn|replace[sd]?|older|old|former|formerly"
    r"|previous|previously|legacy|histor\w+|no longer|used to|changelog)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Code:
    """A code block, or a code span.

    Args:
        text: as it stands in the document, without fences and without what indents its lines.
        places: line and column (1-based) at which each line of ``text`` begins in the document.
        language: of a block as its fence names it, lowercase; ``""`` without one.
        is_block: whether it is a block.
    """

    text: str
    places: tuple[tuple[int, int], ...]
    language: str = ""
    is_block: bool = False

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column in the document of a character of ``text``."""
        row = self.text.count("\n", 0, offset)
        line, column = self.places[min(row, len(self.places) - 1)]
        return line, column + offset - (self.text.rfind("\n", 0, offset) + 1)


@dataclass(frozen=True, slots=True)
class Link:
    """A link or image: its target as written, line and columns (1-based, the last exclusive).

    Args:
        says_old: whether its paragraph, or a heading above it, speaks of what isn't used any more.
    """

    target: str
    line: int
    column: int
    end_column: int
    says_old: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text that isn't a heading, as it stands in its lines, and the first of these (1-based)."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its line (1-based), the heads of the columns, and the cells as Markdown."""

    line: int
    heads: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What of a document is checked.

    Args:
        path: relative to the folder, ``/``-separated.
        lines: of the text.
        codes: in their order.
        links: in their order.
        anchors: that a link may name: slugs of headings and ids of elements.
        headings: line, level and text of each.
        front_matter_lines: how many lines at the beginning are front matter.
        paragraphs: in their order.
        retired: its status if it isn't used any more, else ``None``.
        sections: line of each heading, and its text and those of the sections that hold it, the innermost first.
        rows: of tables.
        is_report: whether it is a postmortem.
    """

    path: str
    lines: Sequence[str]
    codes: tuple[Code, ...]
    links: tuple[Link, ...]
    anchors: frozenset[str]
    headings: tuple[tuple[int, int, str], ...] = ()
    front_matter_lines: int = 0
    paragraphs: tuple[Paragraph, ...] = ()
    sections: tuple[tuple[int, tuple[str, ...]], ...] = ()
    retired: str | None = None
    rows: tuple[Row, ...] = ()
    is_report: bool = False

    def above(self, line: int) -> tuple[str, ...]:
        """Return the headings of the sections that hold a line, the innermost first."""
        at = bisect_right(self.sections, line, key=itemgetter(0))
        return self.sections[at - 1][1] if at else ()


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read_page(path: str, text: str) -> Page:
    """Read a document, of which nothing is looked at beyond MAX_CHARACTERS."""
    text = text[:MAX_CHARACTERS]
    fields, body = parse_front_matter(text)
    # the lines keep their numbers
    shown = "\n" * text.count("\n", 0, body) + text[body:] if body else text
    lines = split_lines(text)
    codes: list[Code] = []
    links: list[Link] = []
    headings: list[tuple[int, int, str]] = []
    paragraphs: list[Paragraph] = []
    sections: list[tuple[int, tuple[str, ...]]] = []
    above: list[tuple[int, str]] = []
    tokens = _parser().parse(shown.replace("\r\n", "\n"))
    for token, before in zip(tokens, [None, *tokens], strict=False):
        if token.type in ("fence", "code_block") and token.map:
            codes.append(_block(token, lines))
        elif token.type == "inline" and token.map:
            codes += _spans(token, lines)
            links += _links(token, lines, above)
            if before is not None and before.type == "heading_open":
                level, words = int(before.tag[1:]), _text(token)
                headings.append((token.map[0] + 1, level, words))
                above = [(level, words), *(it for it in above if it[0] < level)]
                sections.append((token.map[0] + 1, tuple(text for _, text in above)))
            else:
                source = "\n".join(lines[slice(*token.map)])
                paragraphs.append(Paragraph(token.map[0] + 1, source))
    rows = tuple(_rows(tokens))
    anchors = frozenset(_anchors([heading for _, _, heading in headings], text))
    front = text.count("\n", 0, body)
    status = status_of(fields)
    retired = status if _is_retired(path, status, fields.get("title"), tokens, lines) else None
    return Page(
        path, lines, tuple(codes), tuple(links), anchors, tuple(headings), front,
        tuple(paragraphs), tuple(sections), retired, rows,
        describe(path, b"", fields, "").document_type is DocumentType.POSTMORTEM,
    )  # fmt: skip


def _rows(tokens: Sequence[Token]) -> Iterator[Row]:
    heads: tuple[str, ...] = ()
    cells: list[str] = []
    line = 0
    for before, token in pairwise(tokens):
        if token.type == "tr_open" and token.map:
            line, cells = token.map[0] + 1, []
        elif token.type == "inline" and before.type in ("th_open", "td_open"):
            cells.append(token.content)
        elif token.type == "tr_close" and before.type == "th_close":
            heads = tuple(cells)
        elif token.type == "tr_close":
            yield Row(line, heads, tuple(cells))


def _block(token: Token, lines: Sequence[str]) -> Code:
    first, _ = token.map or (0, 0)
    first += token.type == "fence"
    content = token.content.rstrip("\n")
    places = []
    for number, line in enumerate(content.split("\n"), first):
        written = lines[number] if number < len(lines) else ""
        places.append((number + 1, max(0, written.find(line) if line else 0) + 1))
    language = token.info.split()[0].lower() if token.info.split() else ""
    return Code(content, tuple(places), language.strip("{}.:"), is_block=True)


def _is_retired(
    path: str, status: str, title: object, tokens: Sequence[Token], lines: Sequence[str]
) -> bool:
    """Whether a page says that it isn't used any more: in the section that is the page, as :mod:`outline` has it."""
    parts = [
        (int(token.tag[1:]) if token.type == "heading_open" else 0, token, following)
        for token, following in zip_longest(tokens, tokens[1:])
        if token.level == 0 and token.map and token.type != "hr"
    ]
    levels = [level for level, _, _ in parts]
    names = [_text(inner) for level, _, inner in parts if level and inner]
    at = level = 0
    heading = ""
    while True:
        first = next((n for n in range(at, len(parts)) if levels[n]), len(parts))
        alone = first < len(parts) and all(not it or it > levels[first] for it in levels[first + 1 :])  # fmt: skip
        if not alone or (level and first > at):
            break
        inner = parts[first][2]
        at, level, heading = first + 1, levels[first], _text(inner) if inner else ""
    blocks = [
        (it.type in ("paragraph_open", "blockquote_open"), "\n".join(lines[slice(*it.map)]))
        for _, it, _ in parts[at:first][:HEAD]
        if it.map and it.type not in ("fence", "code_block")
    ]
    named = (title if isinstance(title, str) and title else next(iter(names), ""), heading)
    titles = [text for text in named if _SET_OFF.search(text)]
    return is_retired(path, status, titles, [it for it in blocks if not _COMMENT.fullmatch(it[1])])


class _Finder:
    """Finds texts one after the other in the lines of a token."""

    def __init__(self, token: Token, lines: Sequence[str]) -> None:
        first, end = token.map or (0, 0)
        self._lines = lines[first:end]
        self._first = first + 1
        self._row = self._at = 0

    def next(self, text: str) -> tuple[int, int] | None:
        """Return line and column of the next place of a text."""
        for row in range(self._row, len(self._lines)):
            found = self._lines[row].find(text, self._at if row == self._row else 0)
            if found >= 0:
                self._row, self._at = row, found + len(text)
                return self._first + row, found + 1
        return None


def _spans(token: Token, lines: Sequence[str]) -> Iterator[Code]:
    finder = _Finder(token, lines)
    for child in token.children or ():
        if child.type == "code_inline" and child.content.strip():
            if place := finder.next(child.content):
                yield Code(child.content, (place,))
            else:
                yield _over_lines(child.content, token, lines)


def _over_lines(content: str, token: Token, lines: Sequence[str]) -> Code:
    """Return a span that goes on in the next line, as a shell goes on behind a backslash."""
    first, end = token.map or (0, 0)
    source = "\n".join(lines[first:end])
    words = r"[\s>]+".join(map(re.escape, content.split()))
    found = re.search(words, source)
    if found is None:
        return Code(content, ((first + 1, 1),))
    line = first + 1 + source.count("\n", 0, found.start())
    column = found.start() - (source.rfind("\n", 0, found.start()) + 1) + 1
    places = [(line, column)]
    rows = found[0].split("\n")
    for number, row in enumerate(rows[1:], line + 1):
        places.append((number, len(row) - len(row.lstrip("> \t")) + 1))
    text = " \\\n".join([rows[0], *(row.lstrip("> \t") for row in rows[1:])])
    return Code(text, tuple(places))


def _links(token: Token, lines: Sequence[str], above: Sequence[tuple[int, str]]) -> Iterator[Link]:
    finder = _Finder(token, lines)
    said: bool | None = None
    for child in token.children or ():
        target = child.attrGet("href" if child.type == "link_open" else "src")
        if child.type in ("link_open", "image") and isinstance(target, str) and target:
            place = finder.next(f"]({target}") or finder.next(f"]({unquote(target)}")
            if place:
                line, column = place[0], place[1] + 2
            else:  # of a reference, defined elsewhere
                line, column = (token.map or [0])[0] + 1, 1
            if said is None:
                source = _TARGET.sub("", "\n".join(lines[slice(*(token.map or (0, 0)))]))
                said = any(_OLD.search(text) for text in (source, *(text for _, text in above)))
            yield Link(target, line, column, column + len(target), said)


def _text(token: Token) -> str:
    return "".join(
        child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "image")
    )


def _anchors(headings: Sequence[str], text: str) -> Iterator[str]:
    seen: dict[str, int] = {}
    for heading in headings:
        own = _OWN_ID.search(heading)
        if own:
            yield own[1].lower()
        for slug in slugs(heading[: own.start()] if own else heading):
            yield slug
            number = seen[slug] = seen.get(slug, -1) + 1
            if number:
                yield f"{slug}-{number}"
                yield f"{slug}_{number}"
    for found in _HTML_ANCHOR.finditer(text):
        yield found[1].lower()


def slugs(heading: str) -> set[str]:
    """Return the anchors that GitHub, GitLab, Hugo and Docusaurus make of a heading.

    >>> sorted(slugs("Scale up / down"))
    ['scale-up--down', 'scale-up-down']
    """
    low = heading.strip().lower()
    github = re.sub(r"[^\w\- ]", "", low).replace(" ", "-")
    joined = re.sub(r"-{2,}", "-", re.sub(r"[^\w]+", "-", low))
    gitlab = re.sub(r"-{2,}", "-", github)
    return {github, gitlab, joined, joined.strip("-"), joined.rstrip("-"), github.strip("-")}
