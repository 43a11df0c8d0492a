"""An answer's Markdown and the references in it; raw HTML, images, entities and link definitions count as words.

A reference travels through Markdown as a mark that can't be forged, since the mark's characters are removed from all
text first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.tree import SyntaxTreeNode

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from markdown_it.rules_inline import StateInline


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as it stands in the answer, e.g. ``[Source 1]``, and its citations ``{"number", "citation"}``."""

    text: str
    citations: tuple[Mapping[str, object], ...]


OPEN: Final = "\ue000"
CLOSE: Final = "\ue001"
"""Around a reference's number, in Markdown and in the HTML made of it; private-use characters."""

MARKS: Final = re.compile(f"[{OPEN}{CLOSE}]")
PLACE: Final = re.compile(rf"\[{OPEN}(\d+){CLOSE}\]")


def plain(text: str) -> str:
    """Remove our marks from a text, and make hidden and direction-changing characters visible."""
    return neutralise(MARKS.sub("\ufffd", text))


def place_of(number: int) -> str:
    """Return the mark of a reference in Markdown: a bracket, as the reference itself was one."""
    return f"[{OPEN}{number}{CLOSE}]"


def places_in(source: str) -> list[int]:
    """Return the numbers of the references in a piece of Markdown."""
    return [int(number) for number in PLACE.findall(source)]


def marked_parts(parts: Iterable[Mapping[str, Any]]) -> tuple[str, list[Reference]]:
    """Return the answer's Markdown with a mark for each reference, and the references."""
    references: list[Reference] = []
    marked = ""
    for part in parts:
        if cited := tuple(part.get("citations") or ()):
            marked += place_of(len(references))
            references.append(Reference(part["text"], cited))
        else:
            marked += plain(part["text"])
    return marked, references


def citations_of(reference: Reference) -> list[Citation]:
    """Return what a reference stands for."""
    cited: list[Any] = [one["citation"] for one in reference.citations]
    return [Citation(**one) for one in cited]


def tree_of(marked: str) -> Sequence[SyntaxTreeNode]:
    """Return the blocks of marked Markdown; a reference in its words is a node ``cite`` with its ``number``."""
    return SyntaxTreeNode(make_parser(RendererHTML).parse(marked, {})).children


def make_parser(renderer_cls: type[RendererHTML]) -> MarkdownIt:
    """Make a Markdown parser of answers, to be configured further."""
    made = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer_cls)
    made.enable(["table", "strikethrough"])
    made.disable(["html_block", "html_inline", "image", "entity", "reference"])
    made.inline.ruler.before("link", "cite", _cite)
    made.validateLink = _is_web_address  # type: ignore[method-assign]
    made.normalizeLinkText = str  # type: ignore[method-assign, assignment]
    return made


def _is_web_address(url: str) -> bool:
    """Whether a browser may be led there, and nothing of ours is in the address."""
    try:
        address = urlsplit(url)
        plain_host = bool(address.hostname) and address.username is None
    except ValueError:
        return False
    has_mark = "%ee%80%80" in url.lower() or MARKS.search(url) is not None
    return address.scheme in ("http", "https") and plain_host and not has_mark


def _cite(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - as the parser calls it
    found = PLACE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        token = state.push("cite", "", 0)
        token.meta = {"number": int(found[1])}
    state.pos = found.end()
    return True
