"""Whether relative links lead to a file, and their anchors to a heading of it.

A link is followed as GitHub does, and as sites do that leave a document's ending away or put its folder
first. Whatever begins with ``/`` or has a scheme is a matter of the site, not of the folder.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from knowledge_rag.drift.findings import Finding, Kind, near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from knowledge_rag.drift.page import Link, Page

_ELSEWHERE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|/|\?|$")
_TEMPLATE: Final = re.compile(r"\{\{|\}\}|\{%|<|>|\$|\{|\*|\[")
_LINES: Final = re.compile(r"L?\d+(?:-L?\d+)?|:~:text=.*|/.*|[!?].*", re.DOTALL)
"""Anchors that a site makes of a file: numbers of lines, parts of text, routes."""
_PAGE: Final = re.compile(r"(?:^|/)[^/.]*$|\.html?$", re.IGNORECASE)
"""A page of a site, which may be made of a file of any name."""


def check_links(
    page: Page, anchors: Mapping[str, frozenset[str]], exists: Callable[[str], bool]
) -> Iterator[Finding]:
    """Find dead relative links.

    Args:
        page: the document.
        anchors: of each document, by its path.
        exists: whether there is, or may be, a file or folder of a path relative to the folder.
    """
    for link in page.links:
        if _TEMPLATE.search(link.target) or (
            _ELSEWHERE.match(link.target) and link.target[:1] != "#"
        ):
            continue
        path, _, anchor = link.target.partition("#")
        path, anchor = unquote(path.partition("?")[0]), unquote(anchor)
        target = (
            posixpath.normpath(posixpath.join(posixpath.dirname(page.path), path))
            if path
            else page.path
        )
        if path and not (target in anchors or _PAGE.search(target) or exists(target)):
            yield _dead(page, link, target, anchors)
        elif anchor and target in anchors and not _has(anchors[target], anchor):
            fix = near(anchor.lower(), anchors[target])
            message = f"{target} has no heading for #{anchor}"
            yield _finding(page, link, Kind.DEAD_ANCHOR, message, f"#{fix}" if fix else "")


def _has(anchors: frozenset[str], anchor: str) -> bool:
    low = anchor.lower()
    return (
        low in anchors
        or _LINES.fullmatch(anchor) is not None
        or low.removeprefix("user-content-") in anchors
    )


def _dead(page: Page, link: Link, target: str, anchors: Mapping[str, frozenset[str]]) -> Finding:
    name = posixpath.basename(target)
    same = [path for path in anchors if posixpath.basename(path) == name]
    like = same[0] if len(same) == 1 else near(target, anchors, 0.85)
    fix = posixpath.relpath(like, posixpath.dirname(page.path) or ".") if like else ""
    return _finding(page, link, Kind.DEAD_LINK, f"{link.target} leads to no file", fix)


def _finding(page: Page, link: Link, kind: Kind, message: str, fix: str) -> Finding:
    return Finding(
        page.path, link.line, link.column, link.end_column, kind, link.target, message, fix
    )
