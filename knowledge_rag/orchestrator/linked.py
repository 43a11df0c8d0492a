"""The runbook that an alert's author links: what to ask for it, and which retrieved document it is.

A link is no citation and never becomes one. It says which of the retrieved documents to draw on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.chunks import split_words
from knowledge_rag.core.metadata import SOURCE_URL
from knowledge_rag.orchestrator.headings import tells_only_kind
from knowledge_rag.orchestrator.links import INDEXES, Link, contradicts, fit
from knowledge_rag.orchestrator.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.core.outcome import RetrievalResult

MAX_WORDS: Final = 80
"""Characters of a link that are asked for or shown."""

_PARTS: Final = 2
"""Of a path that say which page it is: the page and its folder."""

_BRANCHES: Final = frozenset({"blob", "tree", "raw", "main", "master", "-"})
"""What sites of repositories put in front of a path."""

_SUFFIX: Final = re.compile(r"\.[a-z]{2,8}$", re.IGNORECASE)
_LINES: Final = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?|:~:.*", re.DOTALL)
"""Anchors of lines, or of a text to mark, which say nothing of a section."""
_NO_WORDS: Final = re.compile(r"[^\w\s]+")


def words_of_link(links: Sequence[str]) -> str:
    """Give the words that the first link names its page with, its folder and its section.

    They are for a search and for a person, and letters, digits and spaces alone, whatever the link
    is; ``""`` if it has no letters there.

    >>> words_of_link(["https://wiki.example/db/rds-failover.md#promote-a-replica"])
    'db rds failover promote a replica'
    """
    for link in map(Link.said_in, links):
        named = [_SUFFIX.sub("", part) for part in link.parts]
        told = [it for it in named if it not in _BRANCHES and fold(it) not in INDEXES]
        parts = (*told[-_PARTS:], link.anchor)
        words = " ".join(_NO_WORDS.sub(" ", split_words(it)) for it in parts)
        if any(letter.isalpha() for letter in words):
            return " ".join(words.replace("_", " ").split())[:MAX_WORDS].rstrip()
    return ""


@dataclass(frozen=True, slots=True)
class Followed:
    """Where one link leads among the documents that were retrieved.

    Args:
        files: that fit it, several only where they fit equally well.
        anchor: of the matter's section, ``""`` without one.
    """

    files: tuple[str, ...]
    anchor: str


def followed(results: Iterable[RetrievalResult], links: Iterable[str]) -> tuple[Followed, ...]:
    """Give the retrieved documents that an alert's author means, or the authors of several alerts.

    Args:
        results: what was retrieved.
        links: the likeliest first.

    Returns:
        One for each link that leads to any, in their order; each document for the first such link, but
        again for each of its sections that is linked.
    """
    addresses = {it.citation.source_file: _address(it) for it in results}
    given: list[Followed] = []
    for text in links:
        for link in Link.readings(text):
            if files := _meant(link, addresses):
                it = Followed(tuple(files), _matter(link.anchor))
                known = [one for one in given if one.files == it.files]
                if it.anchor not in ("", *(one.anchor for one in known)) or not known:
                    given.append(it)
                break
    return tuple(given)


def anchored(links: Iterable[Followed]) -> dict[str, list[str]]:
    """Give the documents that links lead to, in their order, with the anchors of their sections."""
    anchors: dict[str, list[str]] = {}
    for it in links:
        for file in it.files:
            anchors.setdefault(file, []).extend(filter(None, [it.anchor]))
    return anchors


def called_alike(results: Iterable[RetrievalResult], links: Iterable[str]) -> list[str]:
    """Give the retrieved documents that have a link's name and stand in another folder than it says."""
    files = dict.fromkeys(it.citation.source_file for it in results)
    read = [link for text in links for link in Link.readings(text) if link.parts]
    return [file for file in files if any(contradicts(link, file, root="") for link in read)]


def _matter(anchor: str) -> str:
    """Leave out an anchor that says what a section is for, or a line: a link to ``#symptoms`` means more."""
    if _LINES.fullmatch(anchor) or tells_only_kind(split_words(anchor)):
        return ""
    return anchor


def _meant(link: Link, addresses: dict[str, str]) -> list[str]:
    """Give the files that have a link's address on the web, else those that fit its path best."""
    for address in link.addresses:
        if files := [file for file, its in addresses.items() if its == address]:
            return files
    if not link.parts:
        return []
    fits = {file: found for file in addresses if (found := fit(link, file, root=""))}
    return [file for file, found in fits.items() if found == max(fits.values())]


def _address(result: RetrievalResult) -> str:
    url = result.metadata.get(SOURCE_URL)
    return next(iter(Link.of(url).addresses), "") if isinstance(url, str) else ""
