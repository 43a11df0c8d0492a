"""Whether relative links lead to a file that is used, and their anchors to a heading of it.

A link is followed as GitHub does, and as sites do that leave a document's ending away or put its folder
first. Whatever begins with ``/`` or has a scheme is a matter of the site, not of the folder.
"""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from knowledge_rag.core.metadata import SUPERSEDED_BY, is_out_of_use
from knowledge_rag.drift.findings import Finding, Kind, near

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from knowledge_rag.drift.page import Link, Page

MAX_COMPARED: Final = 100_000
"""Names that are compared with those of a document's dead links."""
_ELSEWHERE: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|/|\?|$")
_TEMPLATE: Final = re.compile(r"\{\{|\}\}|\{%|<|>|\$|\{|\*|\[")
_LINES: Final = re.compile(r"L?\d+(?:-L?\d+)?|:~:text=.*|/.*|[!?].*", re.DOTALL)
"""Anchors that a site makes of a file: numbers of lines, parts of text, routes."""
_PAGE: Final = re.compile(r"(?:^|/)[^/.]*$|\.html?$", re.IGNORECASE)
"""A page of a site, which may be made of a file of any name."""


def check_links(
    page: Page, anchors: Mapping[str, frozenset[str]], exists: Callable[[str], bool]
) -> Iterator[Finding]:
    """Find dead relative links of a page; ``anchors`` are those of each document, by its path."""
    likes = _Likes(anchors)
    for link, path, anchor in _followed(page):
        target = resolved(page.path, path)
        if path and not (target in anchors or _PAGE.search(target) or exists(target)):
            like = likes.path(target)
            fix = posixpath.relpath(like, posixpath.dirname(page.path) or ".") if like else ""
            yield _finding(page, link, Kind.DEAD_LINK, f"{link.target} leads to no file", fix)
        elif anchor and target in anchors and not _has(anchors[target], anchor):
            fix = likes.near(anchor.lower(), anchors[target])
            message = f"{target} has no heading for #{anchor}"
            yield _finding(page, link, Kind.DEAD_ANCHOR, message, f"#{fix}" if fix else "")


def check_superseded(page: Page, retired: Mapping[str, str | None]) -> Iterator[Finding]:
    """Find links from a page that is used to one that isn't: ``retired`` has the status of each, ``None`` if it is used.

    It is no finding where the paragraph or a heading above it says so, or where the page is the other's successor.
    """
    if retired.get(page.path) is not None:
        return
    for link, path, _ in _followed(page):
        target = resolved(page.path, path)
        status = retired.get(target)
        if status is None or link.says_old:
            continue
        successor = resolved(target, status.removeprefix(SUPERSEDED_BY)) if status.startswith(SUPERSEDED_BY) else ""  # fmt: skip
        if successor == page.path:
            continue
        what = f"is {status}" if is_out_of_use("", status) else "isn't used any more"
        fix = posixpath.relpath(successor, posixpath.dirname(page.path) or ".") if retired.get(successor, "") is None else ""  # fmt: skip
        yield _finding(page, link, Kind.SUPERSEDED, f"{target} {what}", fix)


def _followed(page: Page) -> Iterator[tuple[Link, str, str]]:
    """Yield the links that lead to files, each with its path and anchor."""
    for link in page.links:
        if _TEMPLATE.search(link.target) or (_ELSEWHERE.match(link.target) and link.target[:1] != "#"):  # fmt: skip
            continue
        path, _, anchor = link.target.partition("#")
        yield link, unquote(path.partition("?")[0]), unquote(anchor)


def resolved(source: str, path: str) -> str:
    """Return the path relative to the folder that a document's relative path leads to, its own for ``""``."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path)) if path else source


def _has(anchors: frozenset[str], anchor: str) -> bool:
    low = anchor.lower()
    return (
        low in anchors
        or _LINES.fullmatch(anchor) is not None
        or low.removeprefix("user-content-") in anchors
    )


class _Likes:
    """What the targets of one document's dead links may mean."""

    def __init__(self, anchors: Mapping[str, frozenset[str]]) -> None:
        self._paths = anchors
        self._left = MAX_COMPARED

    @cached_property
    def _of_name(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in self._paths:
            found[posixpath.basename(path)].append(path)
        return found

    def near(self, word: str, among: Collection[str], least: float = 0.75) -> str:
        """Return the word that is most like this one, until MAX_COMPARED were compared."""
        self._left -= len(among)
        return near(word, among, least) if self._left >= 0 else ""

    def path(self, target: str) -> str:
        """Return the document that the path of no file may mean."""
        same = self._of_name.get(posixpath.basename(target), [])
        return same[0] if len(same) == 1 else self.near(target, self._paths, 0.85)


def _finding(page: Page, link: Link, kind: Kind, message: str, fix: str) -> Finding:
    return Finding(
        page.path, link.line, link.column, link.end_column, kind, link.target, message, fix
    )
