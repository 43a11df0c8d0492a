"""An answer's Markdown and the references in it; raw HTML, images, entities and link definitions count as words.

In Markdown, a reference is represented by a mark that can't be forged: the mark's characters are removed from all
text first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.tree import SyntaxTreeNode

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from markdown_it.rules_inline import StateInline


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as in the answer, e.g. ``[Source 1]``, and its citations ``{"number", "citation"}``."""

    text: str
    citations: tuple[Mapping[str, Any], ...]


OPEN: Final = "\ue000"
CLOSE: Final = "\ue001"
"""Delimiters of a reference's number, in Markdown and in the resulting HTML; private-use characters."""

MARKS: Final = re.compile(f"[{OPEN}{CLOSE}]")
PLACE: Final = re.compile(rf"\[{OPEN}(\d+){CLOSE}\]")


def plain(text: str) -> str:
    """Remove our marks from a text, and make hidden and direction-changing characters visible."""
    return neutralise(MARKS.sub("\ufffd", text))


def place_of(number: int) -> str:
    """Return a reference's mark in Markdown: in brackets, like the reference itself."""
    return f"[{OPEN}{number}{CLOSE}]"


def places_in(source: str) -> list[int]:
    """Return the numbers of the references in a part of the Markdown."""
    return list(map(int, PLACE.findall(source)))


def marked_parts(parts: Iterable[Mapping[str, Any]], references: list[Reference]) -> str:
    """Return the answer's Markdown with a mark for each reference; append them to ``references``."""
    marked = ""
    for part in parts:
        if cited := tuple(part.get("citations") or ()):
            marked += place_of(len(references))
            references.append(Reference(part["text"], cited))
        else:
            marked += plain(part["text"])
    return marked


def citations_of(reference: Reference) -> list[Citation]:
    """Return the citations of a reference."""
    return [Citation(**one["citation"]) for one in reference.citations]


Piece = TypeVar("Piece")


class Writer(Generic[Piece]):
    """Walks marked Markdown; subclasses convert its words, code and ``references``, of which ``placed`` are written."""

    breaks: ClassVar[Mapping[str, Any]]
    """The output for a ``softbreak`` and a ``hardbreak``."""

    def __init__(self, references: Sequence[Reference]) -> None:
        self.references = references
        self.placed: set[int] = set()

    def words(self, text: str, **style: bool) -> Iterator[Piece]:
        """Yield words."""
        raise NotImplementedError

    def code(self, text: str, **style: bool) -> Iterator[Piece]:
        """Yield code between words."""
        raise NotImplementedError

    def cited(self, reference: Reference) -> Iterator[Piece]:
        """Yield a reference's citations."""
        raise NotImplementedError

    def in_code(self, reference: Reference) -> str:
        """Return a reference inside code, where links are impossible."""
        raise NotImplementedError

    def emphasised(self, node: SyntaxTreeNode, **style: bool) -> Iterator[Piece]:
        """Yield emphasised or struck-out words."""
        return self.pieces(node.children, **style)

    def pieces(self, nodes: Sequence[SyntaxTreeNode], **style: bool) -> Iterator[Piece]:
        """Yield the pieces of a line."""
        for node in nodes:
            match node.type:
                case "text":
                    yield from self.words(self.as_written(node.content), **style)
                case "code_inline":
                    yield from self.code(self.as_written(node.content), **style)
                case "em" | "strong" | "s":
                    yield from self.emphasised(node, **style)
                case "link":
                    yield from self.pieces(node.children, **style)
                    url = node.attrs["href"]
                    # such links don't open a place in the documents, but a document's path says where to look
                    if is_web_address(url) or (url := document_in(url)):
                        yield from self.words(f" ({url})", **style)
                case "cite":
                    self.placed.add(node.meta["number"])
                    yield from self.cited(self.references[node.meta["number"]])
                case "softbreak" | "hardbreak":
                    yield self.breaks[node.type]
                case _:  # containers of other pieces
                    yield from self.pieces(node.children, **style)

    def as_written(self, text: str) -> str:
        """Return a text with each reference written as in code."""
        for number in places_in(text):
            self.placed.add(number)
            text = text.replace(place_of(number), self.in_code(self.references[number]))
        return text

    def lost(self) -> Iterator[Piece]:
        """Yield the references that haven't been written yet."""
        for number, reference in enumerate(self.references):
            if number not in self.placed:
                yield from self.cited(reference)


class LineWriter(Writer[str]):
    """Writes marked Markdown as lines of text."""

    def written(self, marked: str) -> list[str]:
        """Return the lines; references that none of them contain come last."""
        lines = self.blocks(tree_of(marked))
        lost = " ".join(self.lost())
        return [*lines, "", lost] if lost else lines

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> list[str]:
        """Return the lines of some blocks, separated by empty ones."""
        lines: list[str] = []
        for node in nodes:
            made = self.block(node)
            lines += ["", *made] if lines and made else made
        return lines

    def block(self, node: SyntaxTreeNode) -> list[str]:
        """Return the lines of a block."""
        raise NotImplementedError


def tree_of(marked: str) -> Sequence[SyntaxTreeNode]:
    """Return the blocks of marked Markdown; a reference is a node ``cite`` with its ``number``."""
    parser = make_parser(RendererHTML)
    parser.validateLink = lambda url: _is_link(url) or _is_place(url)  # type: ignore[method-assign]
    return SyntaxTreeNode(parser.parse(marked, {})).children


def units_of(nodes: Sequence[SyntaxTreeNode]) -> Iterator[list[SyntaxTreeNode]]:
    """Yield the blocks and items that belong together: a step, its introduction, and the text below it.

    A paragraph or a command below a step may be its condition or its warning, so neither begins a unit; nor do the
    bullets below a colon.
    """
    unit: list[SyntaxTreeNode] = []
    is_whole = False
    for node in nodes:
        is_list = node.type in ("bullet_list", "ordered_list")
        is_below = node.type == "bullet_list" and bool(unit) and leads(unit[-1])
        begins = is_list and not is_below
        before = node.type in ("heading", "blockquote")
        for part in node.children if is_list else [node]:
            if is_whole and (begins or before):
                yield unit
                unit, is_whole = [], False
            unit.append(part)
            is_whole = is_whole or not (before or leads(part))
    if unit:
        yield unit


def leads(node: SyntaxTreeNode) -> bool:
    """Whether a paragraph ends in a colon, so that it belongs to the next block."""
    inline = node.children[0].content if node.type == "paragraph" and node.children else ""
    return str(inline).rstrip("* ").endswith(":")


def rows_of(table: SyntaxTreeNode) -> Iterator[Sequence[SyntaxTreeNode]]:
    """Yield the cells of each row of a table."""
    for part in table.children:
        for row in part.children:
            yield row.children


def make_parser(renderer_cls: type[RendererHTML]) -> MarkdownIt:
    """Create the Markdown parser for answers, which callers configure further."""
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer_cls)
    made.enable(["table", "strikethrough"])
    made.disable(["html_block", "html_inline", "image", "entity", "reference"])
    made.inline.ruler.before("link", "cite", _cite)
    made.validateLink = _is_link  # type: ignore[method-assign]
    made.normalizeLinkText = str  # type: ignore[method-assign, assignment]
    return made


def is_web_address(url: object) -> bool:
    """Whether a browser may open it: metadata and payloads may contain anything."""
    if not isinstance(url, str):
        return False
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False


def document_in(url: object) -> str:
    """Return the path of the document that a relative link refers to; ``""`` for an anchor or anything else."""
    found = _DOCUMENT.match(unquote(url)) if isinstance(url, str) else None
    return found[1] if found else ""


_DOCUMENT: Final = re.compile(r"((?:\.{0,2}/)?(?:[\w.-]+/)*[\w.-]+\.md)(?:#|\Z)", re.IGNORECASE)
"""Only plain names: with a blank, a colon or a bracket, a path might read as a citation."""


def _is_link(url: str) -> bool:
    """Whether an answer may link there: no credentials, and none of our marks in the address."""
    return is_web_address(url) and urlsplit(url).username is None and not _has_mark(url)


def _is_place(url: str) -> bool:
    """Whether an address is a place in a page, or another page beside it, without our marks."""
    try:
        address = urlsplit(url)
    except ValueError:
        return False
    return not address.scheme and not address.netloc and not _has_mark(url)


def _has_mark(url: str) -> bool:
    return "%ee%80%80" in url.lower() or MARKS.search(url) is not None


def _cite(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
    found = PLACE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("cite", "", 0)
        token.meta = {"number": int(found[1])}
    state.pos = found.end()
    return True
