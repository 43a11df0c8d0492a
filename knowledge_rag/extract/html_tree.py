"""Which parts of a page are its text: not its furniture, nothing that runs, nothing hidden."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.html_hidden import is_hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

_LEFT_OUT: Final = frozenset(
    ("head", "script", "style", "noscript", "nav", "footer", "aside", "iframe", "frame",
     "frameset", "object", "embed", "applet", "svg", "canvas", "audio", "video", "map",
     "select", "button", "input", "textarea", "datalist", "meter", "progress", "title", "meta", "link",
     "img", "picture", "search")
)  # fmt: skip
_UNRENDERED: Final = frozenset(
    ("template", "noframes", "noembed", "annotation", "annotation-xml", "rp")
)
"""What browsers show nothing of, though it may hold text: left out like what is hidden."""
_BRACKET: Final = 2
"""Characters of an ``rp`` that are what it is for."""
_LEFT_OUT_ROLES: Final = frozenset(
    ("navigation", "banner", "contentinfo", "search", "complementary")
)
_CONTENT: Final = "main, article, h1, h2"
"""What makes a form the whole page, as some servers write it, instead of fields to fill in."""

_ANCHORS: Final = frozenset(("\u00a7", "\u00b6", "#", "\U0001f517"))
"""What documentation puts beside a heading to link to it: section, pilcrow, hash, chain."""
_LOOKED_AT: Final = 20
"""Elements that are looked at for the page's main part."""


class Selection:
    """Tells the parts of a page that are text from those that are not, and counts hidden text.

    Args:
        root: the element whose text is wanted.
    """

    def __init__(self, root: LexborNode) -> None:
        self._whole = root.tag in ("main", "article")
        self.hidden: dict[int, int] = {}
        """Characters of hidden text, by element."""

    def takes(self, node: LexborNode) -> bool:
        """Whether an element's text belongs to the page's."""
        if self._is_furniture(node):
            return False
        attributes = node.attributes
        if _is_unseen(node, attributes):
            self._count(node)
            return False
        if (attributes.get("role") or "").strip().lower() in _LEFT_OUT_ROLES:
            return False
        return node.tag != "dialog" or "open" in attributes

    def _is_furniture(self, node: LexborNode) -> bool:
        tag = node.tag
        if tag == "a":
            return _is_anchor(node)
        if tag == "form":
            return node.css_first(_CONTENT) is None
        return tag in _LEFT_OUT or (tag == "header" and not self._whole)

    def _count(self, node: LexborNode) -> None:
        characters = sum(
            len((part.text_content or "").strip()) for part in _texts(node) if part.is_text_node
        )
        if characters > (_BRACKET if node.tag == "rp" else 0):
            self.hidden[node.mem_id] = characters


def _is_anchor(link: LexborNode) -> bool:
    """Whether a link is the sign beside a heading that leads to the heading itself."""
    inside = link.child
    return (
        inside is not None
        and inside.is_text_node
        and inside.next is None
        and (inside.text_content or "").strip() in _ANCHORS
    )


def _is_unseen(node: LexborNode, attributes: dict[str, str | None]) -> bool:
    """Whether browsers show nothing of an element, by what it is or by its own attributes."""
    return node.tag in _UNRENDERED or is_hidden(attributes)


def main_part(page: LexborHTMLParser) -> LexborNode | None:
    """Give the element that holds what the page is about: main, a lone article, else all of it."""
    for selector in ("main, [role=main]", "article"):
        named = islice(page.css(selector), _LOOKED_AT)
        found = [node for node in named if _is_shown(node) and _has_text(node)]
        if found and (len(found) == 1 or selector != "article"):
            return found[0]
    return page.body


def _is_shown(node: LexborNode) -> bool:
    above: LexborNode | None = node
    while above is not None and above.tag != "-document":
        if above.tag in _LEFT_OUT or _is_unseen(above, above.attributes):
            return False
        above = above.parent
    return True


def _has_text(node: LexborNode) -> bool:
    return any(part.is_text_node and (part.text_content or "").strip() for part in _texts(node))


def _texts(node: LexborNode) -> Iterator[LexborNode]:
    """Give an element's text nodes, leaving out scripts and styles."""
    stack = [node.child]
    while stack:
        part = stack.pop()
        if part is None:
            continue
        stack.append(part.next)
        if part.tag not in _LEFT_OUT:
            yield part
            stack.append(part.child)


def walk(
    root: LexborNode,
    enter: Callable[[LexborNode], bool],
    leave: Callable[[LexborNode], None],
) -> None:
    """Visit what is below an element in the order of the page, however deep.

    Args:
        root: not visited itself.
        enter: called with each node; whether what is below it is to be visited too.
        leave: called behind what is below a node that was entered.
    """
    above: list[LexborNode] = []
    node = root.child
    while node is not None:
        if enter(node):
            child = node.child
            if child is not None:
                above.append(node)
                node = child
                continue
            leave(node)
        following = node.next
        while following is None and above:
            node = above.pop()
            leave(node)
            following = node.next
        node = following
