r"""Finds text that a reader may take for a reference though it has none of a reference's notations.

A document with lines of it in other words (``a.md > Drain, line 5``, ``"a.md":5``, ``line no. 5 of a.md``), a citation in
another system's markup, text that is turned around. None of it can become a citation. It remains, with a warning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.characters import looks_of
from knowledge_rag.guardrails.references import A_DOCUMENT, COUNT, SCHEME, Lines, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.checks import Draft

MAX_NAME: Final = 256
"""Maximum characters to read of a document's name."""
BEHIND: Final = 320
"""Maximum characters to read after a name: a link's address may be in between."""
BEFORE: Final = 64
"""Maximum characters to read before a name."""

_DASH = r"[-\u2010-\u2015\u2212~]"
_TO = rf"\s?(?:{_DASH}|\.\.|\bto\b|\bthrough\b)\s?L?\d{{1,6}}"
_RANGE = rf"L?\d{{1,6}}{_TO}"
_NUMBER = rf"L?\d{{1,6}}(?:{_TO})?+"
_UNIT = (
    r"(?:lines?|lns?|ll?\.|rows?|pages?|pp?\.|zeilen?|l[i\xed]neas?|lignes?|linhas?|righ?[ae]|regels?|\u7b2c)"
    r"[\"']?(?:\s?(?:[.=:\#]|nos?\.?|numbers?))*+\s?"
)
_WORDED = rf"(?:\b|(?<=_))(?:{_UNIT}(?:{_NUMBER}|{COUNT})|(?-i:L)\d{{1,6}})"
"""Line numbers with the word "line"."""
_CLOSED = r"(?:\]\([^()\s]{0,200}\)|\]\[[^\[\]]{0,40}\]|<[^<>]{0,80}>|[\])}>*_`~\"'\u2019\u201d\xbb]){0,8}+"
"""Anything that may close after a name: a link with its address, brackets, tags, marks, quotes."""
_SIGN = r"(?:`?\s?`?[:;@^=\#\xa7\u2192\xbb\u2236\ua789\uff1a]|[-=]>)"
_OVER = r"(?!\w|[-.,/:]\d|%)"
_ALONE = rf"{_OVER}(?!\s[^\W\d_])(?<!\d\d\d\d-\d\d)"
"""No unit follows the number, and it isn't a date."""
_COUNTED = r"(?:[a-z]{1,2}|min|sec|hour|day|week|month|time|pod|node|step|percent)[a-z]{0,5}\b(?<!\bfor)(?<!\b(?:to|is|in|on|at|as|or|by))"
"""A short word after a range names the things counted (``a.md: 5-9 minutes``), unless it only joins."""
_BEHIND: Final = re.compile(
    rf"{_CLOSED}(?:\s?{_SIGN}[*_`]{{0,3}}(?:{_NUMBER}{_OVER}|\s(?:{_RANGE}{_OVER}(?!\s{_COUNTED})|{_NUMBER}{_ALONE}))"
    rf"|\s?@\s{_RANGE}{_OVER}"
    rf"|\s?[({{<\[\u27e8]\s?{_NUMBER}\s?[)}}>\]\u27e9]"
    rf"|(?:{_DASH}|[\s,;|]){{0,9}}{_CLOSED}[\s|*_`>]{{0,9}}{_RANGE}{_ALONE}"
    rf"|(?:[^.;!?\n\d]{{0,48}}?|['\u2019]s\s|[\s:*_#>+-]{{0,12}}){_WORDED}"
    rf"|\s?{_NUMBER}\s?\u884c)",
    re.IGNORECASE,
)
_BEFORE: Final = re.compile(
    rf"(?:{_WORDED}|\b\d{{1,6}}(?:st|nd|rd|th)\slines?|\b{_RANGE}\s(?=(?:of|in|from)\b))"
    r"[^.;!?\n\w]{0,6}(?:[a-z]{1,8}[^.;!?\n\w]{1,4}){0,4}\Z",
    re.IGNORECASE,
)
_NAME_BACKWARDS: Final = re.compile(r"[^\s|<>()\[\]{}\"'`*,;\u201c\u2018\xab]++")
_POSITION: Final = re.compile(rf"\.[A-Za-z]{{1,8}}:\d{{1,6}}{_DASH}\d{{1,6}}(?!\w)")
"""Lines of any other file, as this product writes them."""
_DIGIT: Final = re.compile(r"\d")
_TURNED: Final = re.compile("[\u202d\u202e][^\u202c\n]{0,400}")
_OWN_ADDRESS: Final = re.compile(
    rf"{SCHEME}:/{{2,3}}[^\s?#]{{1,{MAX_NAME}}}[?#]\S{{0,80}}?\d[^\s<>()\"']{{0,80}}", re.IGNORECASE
)
"""This product's own address with numbers in a form other than that of lines."""
_BRACKETED: Final = re.compile(r"[`~\s]*\[([^\[\]]{1,400})\][`~\s]*")
_CITE: Final = re.compile(
    r"\\(?:foot|paren)?cite[a-z]*\{[^{}\n]{0,80}\}?|\{\{\s?cite\b[^{}\n]{0,200}|<(?:cite|ref)\b[^<>]{0,80}>",
    re.IGNORECASE,
)
"""A citation in LaTeX, wikis and HTML."""


def look_alikes(draft: Draft) -> Iterator[Span]:
    """Yield the places in an answer that read like a reference and aren't one, in order, none overlapping another.

    Code, and places already known to be unchecked, are left out.
    """
    behind = 0
    for start, end in sorted(_found(draft)):
        is_known = any(first < end and start < last for first, last in draft.unchecked)
        if start >= behind and not is_known:
            yield start, end
            behind = end


def _found(draft: Draft) -> Iterator[Span]:
    text, folded = draft.text, draft.folded
    if "\u202d" in text or "\u202e" in text:
        yield from (it.span() for it in _TURNED.finditer(text) if _DIGIT.search(it[0]))
    if folded is None or any(it in folded for it in (b"cite", b"<ref")):
        yield from (it.span() for it in _CITE.finditer(text) if not draft.is_code(it.start()))
    for start, end in draft.code:
        alone = _BRACKETED.fullmatch(text, start, end)
        said = parse(alone[1]) if alone else None
        if isinstance(said, tuple) and any(isinstance(part, Lines) for part in said):
            yield start, end  # code that is a reference, and nothing else
    for look in dict.fromkeys((text, looks_of(text))):
        for start, end in _of_documents(look, draft):
            if draft.is_in_reference(start) or draft.is_in_reference(end - 1):
                continue
            if not all(map(draft.is_code, range(start, end))):
                yield start, end


def _of_documents(look: str, draft: Draft) -> Iterator[Span]:
    for found in _POSITION.finditer(look):
        yield _name_start(look, found.start()), found.end()
    if ":/" in look:
        yield from (found.span() for found in _OWN_ADDRESS.finditer(look))
    for document in A_DOCUMENT.finditer(look):
        end = document.end()
        if draft.is_in_reference(end - 1):
            continue
        start = _name_start(look, end)
        if "//" in look[start:end]:
            continue  # an address
        if behind := _BEHIND.match(look, end, end + BEHIND):
            yield start, behind.end()
        elif before := _BEFORE.search(look, max(0, start - BEFORE), start):
            yield before.start(), end


def _name_start(look: str, end: int) -> int:
    name = _NAME_BACKWARDS.match(look[max(0, end - MAX_NAME) : end][::-1])
    return end - len(name[0]) if name else end
