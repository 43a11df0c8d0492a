"""Recognises pages that aren't used any more, by their status, folder, title or first words."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.metadata import is_out_of_use

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST: Final = 2
"""Number of blocks at a page's head that may say so."""
HEAD: Final = 4
"""Number of blocks to pass as the head, since a table of contents may come before those."""
_SUPERSEDED: Final = re.compile(
    r"^[\W_]*+(?:(?:note|warning|important|attention)\W++)?(?:(?:this|the) (?:page|runbook|document|procedure|playbook|guide|section)\b[^.]{0,40}?\b)?"
    r"(?:superseded|out of date|outdated|obsolete|deprecated|archived|replaced by|kept for|no longer (?:maintained|valid|used|in use))\b"
    r"|.{0,80}\((?:(?:superseded|obsolete|deprecated|outdated|archived|replaced by)\b"
    r"|(?:old|copy)(?:\W*\)|[,;:]| (?:of|from|version|copy|page)\b))"
    r"|(?s:.{0,200}?)\bcurrent(?: (?:page|version|one))?(?: is)?: *\[",
    re.IGNORECASE,
)
"""Titles and first words of pages that aren't used any more."""
_OUT_OF_USE: Final = re.compile(
    r"^(?:[^\S\n]|[>*_#|])*+(?:status|state|lifecycle|labels?|tags?)\b[\s:*_|]++(?:[^\n]{0,40}[\s,])?[*_]*+"
    r"(?:deprecated|obsolete|retired|withdrawn|superseded|archived|outdated|out of service|end of life|decommissioned)\b"
    r"|^(?:[^\S\n]|[>*_#])*+(?:draft\W{1,4})?(?:do not|don[’']?t) (?:use|follow)(?: this (?:page|runbook|document|procedure))?(?: any ?more)?[\s.!*_]*(?:$|[.!] )"
    r"|^(?:[^\S\n]|[>*_#])*+this (?:page|runbook|document) (?:is (?:not valid|not used|not maintained|no longer maintained)(?: any ?more)?|has (?:been )?(?:moved|withdrawn))\b"
    r"|^(?:[^\S\n]|[>*_#])*+\[?!\[[^\]\n]*\b(?:deprecated|obsolete|retired|do not use)\b",
    re.IGNORECASE | re.MULTILINE,
)
"""Lines at a page's head that say so, such as a row of a table of facts or the words of a badge."""
_ADDRESS: Final = re.compile(r"\]\([^()\n]*\)")
_CONTENTS: Final = re.compile(
    r"\s*(?:[*_#]*(?:table of )?contents[*_:]*|\[{1,2}_?toc_?\]{1,2}|\{:toc\})\s*", re.IGNORECASE
)
"""A block that only announces the table of contents."""


def is_retired(
    source_file: str, status: object, titles: Iterable[str], blocks: Iterable[tuple[bool, str]]
) -> bool:
    """Whether a page isn't used any more.

    Args:
        source_file: its path, ``/``-separated.
        status: from its metadata.
        titles: its title and first heading.
        blocks: those at its head except code, of which the first FIRST count; whether each is a paragraph or quote, and its text.
    """
    if is_out_of_use(source_file, status) or any(map(_SUPERSEDED.match, titles)):
        return True
    shown = ((is_prose, _ADDRESS.sub("]", text)) for is_prose, text in blocks)
    first = islice((it for it in shown if not _CONTENTS.fullmatch(it[1])), FIRST)
    return any(
        _OUT_OF_USE.search(text) or (is_prose and _SUPERSEDED.match(text))
        for is_prose, text in first
    )
