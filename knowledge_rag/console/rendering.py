"""An answer in HTML while it is written: in blocks, of which only the last ones are rendered again.

A block stands at the outermost level of the Markdown: a paragraph, a list, a table. Text behind a finished block can't
change it, so it is rendered once more and then left. The sanitiser's list has no citation in it: citations are put in
afterwards, from the verified answer's own references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import nh3

from knowledge_rag.console.addresses import document_url
from knowledge_rag.console.markup import (
    CLOSE,
    HELD,
    LABEL,
    OPEN,
    PLACED,
    WRITTEN,
    Reference,
    make_parser,
    mark_of,
    parser,
    place_of,
    places_in,
    plain,
    prepare,
    without_places,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TAGS: Final = frozenset(
    {
        "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "em", "strong",
        "s", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "span",
    }
)  # fmt: skip
_ATTRIBUTES: Final[Mapping[str, set[str]]] = {
    "a": {"href"},
    "code": {"class"},
    "li": {"class"},
    "ol": {"start"},
    "p": {"class"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
}
_VALUES: Final = {
    ("code", "class"): re.compile(r"language-[a-z0-9+#-]{1,20}"),
    ("li", "class"): re.compile(HELD),
    ("ol", "start"): re.compile(r"[0-9]{1,9}"),
    ("p", "class"): re.compile(LABEL),
    ("span", "class"): re.compile(r"host"),
    ("td", "class"): re.compile(r"left|center|right"),
    ("th", "class"): re.compile(r"left|center|right"),
}
_REFERENCE: Final = re.compile(f"{OPEN}([0-9]+){CLOSE}")


def _kept(tag: str, attribute: str, value: str) -> str | None:
    allowed = _VALUES.get((tag, attribute))
    return value if allowed is None or allowed.fullmatch(value) else None


_CLEANER: Final = nh3.Cleaner(
    tags=set(_TAGS),
    attributes=dict(_ATTRIBUTES),
    attribute_filter=_kept,
    url_schemes={"http", "https"},
    url_relative="deny",
    link_rel="noopener noreferrer",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def sanitised(html: str, references: Sequence[Reference]) -> str:
    """Clean HTML, then put in the references that its marks stand for."""
    return _REFERENCE.sub(lambda mark: _linked(references[int(mark[1])]), _CLEANER.clean(html))


def _linked(reference: Reference) -> str:
    return f"<sup>{''.join(map(_link, reference.citations))}</sup>"


def _link(cited: Mapping[str, object]) -> str:
    """Return one citation as a link to its lines."""
    number, citation = cited["number"], cited["citation"]
    assert isinstance(number, int)  # noqa: S101 - tells the type checker what the orchestrator gives
    assert isinstance(citation, dict)  # noqa: S101 - likewise
    file, first, last = (citation[key] for key in ("source_file", "start_line", "end_line"))
    label = f"[{number}] {file}, lines {first}-{last}"
    return (
        f'<a class="cite" data-number="{number}" data-lines="{first}-{last}" '
        f'href="{escape(document_url(file, first, last))}" aria-label="{escape(label)}">[{number}]</a>'
    )


_LIST_MARK: Final = re.compile(
    r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)){1,9}(?:\[[ xX]\][ \t]+)?"
)
"""What a list item begins with."""


class Contents:
    """The lines behind an answer's references."""

    def __init__(self, sources: Iterable[Mapping[str, Any]] = ()) -> None:
        self._sources = {one["number"]: one for one in sources}
        self._made: dict[tuple[int, int, int], _Passage] = {}

    def of(self, references: Iterable[Reference]) -> Iterator[_Passage]:
        """Return what references cite, as far as the evidence has it."""
        for reference in references:
            for one in reference.citations:
                yield from self._cited(one)

    def _cited(self, cited: Mapping[str, Any]) -> Iterator[_Passage]:
        citation, source = cited["citation"], self._sources.get(cited["number"])
        if source is None or source["source"] != citation["source_file"]:
            return
        first, last = citation["start_line"], citation["end_line"]
        start, end = source["citation"]["start_line"], source["citation"]["end_line"]
        if not start <= first <= last <= end:
            return
        key = (cited["number"], first, last)
        if key not in self._made:
            lines = source["content"].split("\n")[first - start : last - start + 1]
            self._made[key] = _Passage(lines)
        yield self._made[key]


class _Passage:
    """Lines that are cited, as they are compared: blank ones left out."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines: list[str] = []
        self._starts: dict[str, list[int]] = {}
        self._begun = set()  # where an item or a paragraph begins
        is_new = True
        for line in (plain(one).strip() for one in lines):
            if not line:
                is_new = True
                continue
            bare = _bare(line)
            if is_new or bare != line:
                self._begun.add(len(self._lines))
                self._starts.setdefault(bare, []).append(len(self._lines))
            self._lines.append(line)
            is_new = False
        self._begun.add(len(self._lines))

    def holds(self, run: Sequence[str]) -> bool:
        """Whether lines are an item or paragraphs in it, whole: half a sentence may mean the contrary."""
        rest = list(run[1:])
        return any(
            self._lines[at + 1 : at + len(run)] == rest and at + len(run) in self._begun
            for at in self._starts.get(run[0], ())
        )


@dataclass(slots=True)
class _Item:
    """One list item: its token, the items around it, its references, the lines of items in it."""

    token: Token
    around: tuple[_Item, ...]
    cited: list[int] = field(default_factory=list)
    inner: list[range] = field(default_factory=list)

    @property
    def lines(self) -> range:
        return range(*(self.token.map or (0, 0)))


def mark_cited_items(
    tokens: Sequence[Token], source: str, references: Sequence[Reference], contents: Contents
) -> None:
    """Mark each inner item whose lines a citation of an item around it contains."""
    inner = [item for item in _items(tokens) if any(one.cited for one in item.around)]
    if not inner:  # as of most blocks, each of which is rendered many times while it is written
        return
    first = (tokens[0].map or [0])[0]
    lines = [without_places(line).strip() for line in source.split("\n")]
    for item in inner:
        cited = [references[number] for one in item.around for number in one.cited]
        runs = list(_runs(item, lines, first))
        if all(any(it.holds(run) for it in contents.of(cited)) for run in runs):
            item.token.attrs |= {"class": HELD}


def _items(tokens: Iterable[Token]) -> list[_Item]:
    found: list[_Item] = []
    around: list[_Item] = []
    for token in tokens:
        if token.type == "list_item_open":
            item = _Item(token, tuple(around))
            if around:
                around[-1].inner.append(item.lines)
            around.append(item)
            found.append(item)
        elif token.type == "list_item_close":
            around.pop()
        elif token.type == "inline" and around:
            children = token.children or ()
            around[-1].cited += [one.meta["number"] for one in children if one.type == "cite"]
    return found


def _runs(item: _Item, lines: Sequence[str], first: int) -> Iterator[list[str]]:
    """Return an item's own lines, those between two items in it as one run; blank ones left out."""
    run: list[str] = []
    for at in item.lines:
        if any(at in inner for inner in item.inner):
            if run:
                yield run
            run = []
            continue
        line = lines[at - first] if at - first < len(lines) else ""
        if line := _bare(line) if at == item.lines.start else line:
            run.append(line)
    if run:
        yield run


def _bare(line: str) -> str:
    found = _LIST_MARK.match(line)
    return line[found.end() :] if found else line


PATIENT_CHARACTERS: Final = 4_096
"""Of open blocks that are rendered again at once; longer ones wait until a good part has come."""

PATIENT_SHARE: Final = 16
"""Which part of them that is: one in so many, so that all renderings together stay linear."""


@dataclass(frozen=True, slots=True)
class Block:
    """A rendered block.

    Args:
        number: 0-based; a later block of the same number replaces it.
        html: sanitised; ``""`` where what was one block for a while is none.
    """

    number: int
    html: str


class AnswerRenderer:
    """Renders one answer, piece by piece."""

    def __init__(self) -> None:
        self._references: list[Reference] = []
        self._contents = Contents()
        self._open = ""
        self._rendered = 0  # how long the open part was when it was rendered last
        self._closed = 0
        self._shown: list[str] = []

    def know(self, sources: Iterable[Mapping[str, Any]]) -> None:
        """Set the source cards that the answer refers to."""
        self._contents = Contents(sources)

    def feed(self, parts: Iterable[Mapping[str, Any]]) -> None:
        """Add parts of the verified answer: ``{"text"}``, and ``{"text", "citations"}`` for a reference."""
        for part in parts:
            cited = tuple(part.get("citations") or ())
            if cited:
                self._references.append(Reference(part["text"], cited))
                self._open += place_of(len(self._references) - 1)
            else:
                self._open += plain(part["text"])

    def is_due(self) -> bool:
        """Whether enough has come since the last rendering to make the next one."""
        grown = len(self._open) - self._rendered
        return grown > 0 and (
            len(self._open) <= PATIENT_CHARACTERS or grown * PATIENT_SHARE >= len(self._open)
        )

    def render(self) -> list[Block]:
        """Return the blocks that have changed since the last time, and close those that are over."""
        blocks = list(_blocks(self._open, parser()))
        html = [self._html(block) for block in blocks]
        changed = [
            Block(self._closed + at, now)
            for at, now in enumerate(html)
            if at >= len(self._shown) or self._shown[at] != now
        ]
        changed += [
            Block(self._closed + at, "")
            for at in range(len(html), len(self._shown))
            if self._shown[at]
        ]
        self._shown = html
        self._close()
        self._rendered = len(self._open)
        return changed

    def _close(self) -> None:
        """Leave the blocks that no further line can change: all before the last of whole lines."""
        if len(self._shown) < 2:
            return
        whole = self._open[: self._open.rfind("\n") + 1]
        over = list(_blocks(whole, _outliner()))[:-1]
        if over and len(over) < len(self._shown):
            self._closed += len(over)
            self._shown = self._shown[len(over) :]
            self._open = self._open[over[-1].end :]

    def _html(self, block: _Parsed) -> str:
        """Render a block, every reference of its source in it: in its place, or else at the end."""
        meant = places_in(block.source)
        env: dict[str, Any] = {
            PLACED: set(),
            WRITTEN: {number: plain(self._references[number].text) for number in meant},
        }
        prepare(block.tokens)
        mark_cited_items(block.tokens, block.source, self._references, self._contents)
        html = parser().renderer.render(block.tokens, parser().options, env)
        lost = "".join(mark_of(number) for number in meant if number not in env[PLACED])
        return sanitised(f"{html}<p>{lost}</p>" if lost else html, self._references)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """One block: its tokens, its Markdown, and the offset behind it."""

    tokens: Sequence[Token]
    source: str
    end: int


def _blocks(source: str, parse: MarkdownIt) -> Iterator[_Parsed]:
    """Cut Markdown into its outermost blocks; blank lines belong to the block above them."""
    tokens = parse.parse(source, {})
    opening = [at for at, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    lines = [0, *(at + 1 for at, character in enumerate(source) if character == "\n")]
    starts = [lines[(tokens[at].map or [0])[0]] for at in opening]
    for n, (first, last) in enumerate(pairwise([*opening, len(tokens)])):
        start, end = starts[n], starts[n + 1] if n + 1 < len(starts) else len(source)
        yield _Parsed(tokens[first:last], source[start:end], end)


@cache
def _outliner() -> MarkdownIt:
    """Return a parser that finds blocks only."""
    return make_parser().disable("inline")
