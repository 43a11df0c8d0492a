"""Code, links and headings of a Markdown text, with exact places.

Block structure is CommonMark's (markdown-it). Comments and HTML are no part of what is checked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_inline import autolink, backtick, image, link

from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.documents import describe, parse_front_matter
from knowledge_rag.core.lines import split_lines
from knowledge_rag.core.metadata import status_of
from knowledge_rag.guardrails.retired import HEAD, is_retired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping, Sequence

    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

MAX_CHARACTERS: Final = 2_000_000
"""Of a document that are looked at."""
MAX_HEADING: Final = 300
"""Characters of a heading by which what is below it is judged."""
MAX_STEPS: Final = 100_000
"""More than a document has characters that tokens are skipped in search of brackets' ends; brackets behind are text."""
_HTML_ANCHOR: Final = re.compile(r"<\w[^<>]*?\b(?:id|name)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_OWN_ID: Final = re.compile(r"\{:?\s*#([\w.:-]++)[^{}]*+\}\s*$")

_COMMENT: Final = re.compile(r"\s*<!--(?:(?!-->).)*-->\s*", re.DOTALL)
_SET_OFF: Final = re.compile(r"[(\[]|^\W*\w+(?: \w+)?\s*(?:[:–—]|- |$)")
"""How a title says that its page is deprecated, and not what it is about: ``Deprecated APIs``."""
_TARGET: Final = re.compile(r"\]\([^()\s]*\)?|^ *\[(?:[^\[\]\\]|\\.)*+\]:.*$", re.MULTILINE)
_OPENED: Final = re.compile(r"\]\(\s*")
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
    """

    text: str
    places: tuple[tuple[int, int], ...]
    language: str = ""
    is_block: bool = False

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column in the document of a character of ``text``."""
        row, column = row_of(self.text, offset)
        line, first = self.places[min(row, len(self.places) - 1)]
        return line, first + column


@dataclass(frozen=True, slots=True)
class Link:
    """A link or image: its target as written, line and columns (1-based, the last exclusive).

    ``says_old``: its paragraph, or a heading above it, speaks of what isn't used any more.
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

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column in the document of a character of ``text``."""
        row, column = row_of(self.text, offset)
        return self.line + row, column + 1


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its line (1-based), the heads of the columns, and the cells as Markdown."""

    line: int
    heads: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """What of a document is checked, in its order; ``is_report``: it is a postmortem.

    Args:
        path: relative to the folder, ``/``-separated.
        anchors: that a link may name: slugs of headings and ids of elements.
        headings: line, level and text of each.
        front_matter_lines: how many lines at the beginning are front matter.
        retired: its status if it isn't used any more, else ``None``.
        sections: line of each heading, and its text and those of the sections that hold it, the innermost first, each up to MAX_HEADING.
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


def row_of(text: str, offset: int) -> tuple[int, int]:
    """Return the row of a character and its offset in it, both 0-based."""
    starts = _starts(text)
    row = bisect_right(starts, offset) - 1
    return row, offset - starts[row]


@lru_cache(maxsize=8)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(found.end() for found in re.finditer("\n", text)))


class _Inline(ParserInline):
    """Gives up on brackets after a number of steps, as an end is searched again from each of them."""

    left = 0

    def skipToken(self, state: StateInline) -> None:  # noqa: N802 - markdown-it's name
        self.left -= 1
        if self.left < 0:
            state.pos = state.posMax
        else:
            super().skipToken(state)


class _Parser(MarkdownIt):
    """CommonMark with tables, whose code spans and links have their place in the text of their block.

    In ``meta``: ``start`` and ``end`` of the whole, and ``label``, where the bracket of its text closes.
    """

    inline: _Inline

    def __init__(self) -> None:
        super().__init__("commonmark")
        self.inline = _Inline()
        self.configure("commonmark").enable(["table", "strikethrough"])
        for name, rule, kind in (
            ("backticks", backtick, "code_inline"),
            ("link", link, "link_open"),
            ("image", image, "image"),
            ("autolink", autolink, "link_open"),
        ):
            self.inline.ruler.at(name, _placed(rule, kind))

    def parse(self, src: str, env: MutableMapping[str, object] | None = None) -> list[Token]:
        self.inline.left = len(src) + MAX_STEPS
        return super().parse(src, env)


def _placed(
    rule: Callable[[StateInline, bool], bool], kind: str
) -> Callable[[StateInline, bool], bool]:
    """Return a rule that also notes where its token stands."""

    def placed(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's call
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        # the text before it may become a token first
        made = () if silent else state.tokens[before : before + 2]
        for token in made:
            if token.type == kind:
                token.meta |= {"start": start, "end": state.pos}
                if state.src[start] in "![":
                    is_image = state.src[start] == "!"
                    find = state.md.helpers.parseLinkLabel
                    token.meta["label"] = find(state, start + is_image, not is_image)
        return True

    return placed


@cache
def _parser() -> _Parser:
    return _Parser()


def read_page(path: str, text: str) -> Page:
    """Read a document, of which nothing is looked at beyond MAX_CHARACTERS."""
    text = text[:MAX_CHARACTERS]
    fields, body = parse_front_matter(text)
    # the lines keep their numbers, and end where CommonMark has them end
    shown = "\n" * text.count("\n", 0, body) + text[body:] if body else text
    shown = shown.replace("\r\n", "\n").replace("\r", " ")
    lines, written = split_lines(text), split_lines(shown)
    codes: list[Code] = []
    links: list[Link] = []
    headings: list[tuple[int, int, str]] = []
    paragraphs: list[Paragraph] = []
    sections: list[tuple[int, tuple[str, ...]]] = []
    above: list[tuple[int, str, bool]] = []
    says_old: bool | None = None
    cell = 0
    tokens = _parser().parse(shown)
    for before, token in pairwise([None, *tokens]):
        if token is None or not token.map:
            continue
        if token.type in ("fence", "code_block"):
            codes.append(_block(token, written))
        elif token.type == "tr_open":
            cell, says_old = 0, None
            paragraphs.append(Paragraph(token.map[0] + 1, lines[token.map[0]]))
        elif token.type == "inline":
            is_cell = before is not None and before.type in ("th_open", "td_open")
            is_heading = before is not None and before.type == "heading_open"
            text_of = _Text(token, written, cell if is_cell else None)
            cell = text_of.end
            codes += _spans(token, text_of)
            found = list(_links(token, text_of))
            if not is_cell:
                says_old = None
            if found and says_old is None:
                source = "\n".join(lines[slice(*token.map)])
                says_old = any(it for *_, it in above) or _says_old(_TARGET.sub("", source))
            links += (replace(link, says_old=bool(says_old)) for link in found)
            if is_heading and before is not None:
                level, words = int(before.tag[1:]), _text(token)
                headings.append((token.map[0] + 1, level, words))
                above = [(level, words, _says_old(words)), *(it for it in above if it[0] < level)]
                sections.append(
                    (token.map[0] + 1, tuple(text[:MAX_HEADING] for _, text, _ in above))
                )
            elif not is_cell:
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


def _says_old(text: str) -> bool:
    return _OLD.search(text) is not None


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


class _Text:
    """The text of a block as Markdown has it, and where each of its characters stands in the document.

    ``cell`` is, for one of a table, where the one before it ends in its line.
    """

    def __init__(self, token: Token, lines: Sequence[str], cell: int | None) -> None:
        self.text = token.content
        self._first = (token.map or [0])[0]
        self._lines = lines
        self._bases: dict[int, int] = {}
        self._is_cell = cell is not None
        self.end = cell or 0
        if cell is not None:
            raw = self.text.replace("|", "\\|")
            self._bases[0] = max(cell, self._line(0).find(raw, cell))
            self.end = self._bases[0] + len(raw)

    def _line(self, row: int) -> str:
        number = self._first + row
        return self._lines[number] if number < len(self._lines) else ""

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of a character."""
        row, column = row_of(self.text, offset)
        if row not in self._bases:
            start = offset - column
            text = self.text[start : (self.text + "\n").index("\n", start)]
            written, line = text.strip(), self._line(row).rstrip()
            # indentation may be tabs, of which a part is the text's
            base = (
                len(line) - len(written) if line.endswith(written) else max(0, line.find(written))
            )
            self._bases[row] = base - (len(text) - len(text.lstrip()))
        if self._is_cell:
            column += self.text.count("|", 0, offset)
        return self._first + row + 1, max(0, self._bases[row] + column) + 1


def _spans(token: Token, of: _Text) -> Iterator[Code]:
    for child in token.children or ():
        if child.type == "code_inline" and child.content.strip():
            marks = len(child.markup)
            inner = of.text[child.meta["start"] + marks : child.meta["end"] - marks]
            start = child.meta["start"] + marks + len(inner) - len(inner.lstrip())
            rows = inner.strip().split("\n")
            places = []
            for row in rows:
                places.append(of.place(start + len(row) - len(row.lstrip())))
                start += len(row) + 1
            # a span goes on in the next line as a shell does behind a backslash
            text = " \\\n".join([rows[0], *(row.lstrip() for row in rows[1:])])
            yield Code(text, tuple(places))


def _links(token: Token, of: _Text) -> Iterator[Link]:
    for child in token.children or ():
        target = child.attrGet("href" if child.type == "link_open" else "src")
        if child.type in ("link_open", "image") and isinstance(target, str) and target:
            start, end = _target(child, of.text)
            line, column = of.place(start)
            yield Link(target, line, column, column + end - start)


def _target(child: Token, text: str) -> tuple[int, int]:
    """Return where a link's target begins and ends in its text, or of a reference the link itself, in one line."""
    start, end = child.meta["start"], child.meta["end"]
    if "label" not in child.meta:  # <https://...>
        return start + 1, end - 1
    opened = _OPENED.match(text, child.meta["label"], end)
    if opened is None:
        return start, (text[start:end] + "\n").index("\n") + start
    found = parseLinkDestination(text, opened.end(), end)
    bracket = text.startswith("<", opened.end())
    return opened.end() + bracket, found.pos - bracket


def _text(token: Token) -> str:
    return "".join(
        child.content
        for child in token.children or ()
        if child.type in ("text", "code_inline", "image")
    )


def _anchors(headings: Sequence[str], text: str) -> Iterator[str]:
    seen: dict[str, int] = {}
    for heading in headings:
        own = _OWN_ID.match(heading, max(0, heading.rfind("{")))
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
