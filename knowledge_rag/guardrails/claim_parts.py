"""Which part of a paragraph, an item or a row each of its references backs."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.guardrails.support.markup import code_stretches
from knowledge_rag.guardrails.units import UnitKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.draft import Span
    from knowledge_rag.guardrails.units import Unit
    from knowledge_rag.guardrails.verify import Cited

REFERENCE: Final = "\0"
"""Stands for each character of a reference in a masked text."""
CODE: Final = "\1"
"""Stands for each character of code there: its dots end no sentence."""

_WORD: Final = re.compile(rf"[^\W_]+|{CODE}")
_BETWEEN: Final = re.compile(r"(?:[\s,;.()*_]|\band\b|&){0,40}")
"""What may stand between two references that back one claim together."""
_MARK: Final = re.compile(r"[ \t>]*(?:\d{1,9}[.)]|[-*+#|]+)?")
_SENTENCE_END: Final = re.compile(
    rf"[.!?]{{1,3}}[\"'\u201d\u2019)\]*_]{{0,3}}(?:\s{{0,3}}{REFERENCE}++[.!?*_]{{0,3}})*+"
    r"(?=\s+[^a-z\s])"
)
_ABBREVIATIONS: Final = frozenset(
    {"etc", "vs", "cf", "approx", "no", "fig", "resp", "inc", "dr", "mr", "mrs", "ca", "bzw"}
)
_LETTERS: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
"""Abbreviations of single letters: e.g, i.e, U.S, a.m, z.B; the last dot is not looked at."""
_LAST_WORD: Final = re.compile(r"[\w.]{1,10}$")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,40}>")
_LISTED: Final = re.compile(r"\W{0,10}(?:sources|references|citations|quellen)\b", re.IGNORECASE)
"""Begins a list of all sources of an answer, which backs no claim above all others."""
_LABELS: Final = frozenset(
    {"source", "sources", "see", "reference", "references", "ref", "refs", "citation", "citations",
     "cf", "via", "from", "per", "quelle", "quellen", "siehe"}
)  # fmt: skip
"""Words that people put before a reference; alone with it, they say nothing."""


class Group(NamedTuple):
    """References that stand together and back one claim."""

    start: int
    end: int
    citations: tuple[Cited, ...]


class Part(NamedTuple):
    """A part of a unit, and what is to back it."""

    span: Span
    citations: tuple[Cited, ...]


def masked(text: str, references: Sequence[Span]) -> str:
    """Give the text with references and code masked; of the same length."""
    spans = [(start, end, REFERENCE) for start, end in references]
    spans += [(start, end, CODE) for start, end in code_stretches(text)]
    parts, behind = [], 0
    for start, end, filler in sorted(spans):
        if start >= behind:
            parts += [text[behind:start], filler * (end - start)]
            behind = end
    return "".join([*parts, text[behind:]])


def groups_of(citations: Sequence[Cited], text: str) -> list[Group]:
    """Put citations together that stand next to one another, in their order."""
    together: list[list[Cited]] = []
    for cited in citations:
        last = together[-1][-1] if together else None
        if last and (last.end > cited.start or _BETWEEN.fullmatch(text, last.end, cited.start)):
            together[-1].append(cited)
        else:
            together.append([cited])
    return [Group(some[0].start, some[-1].end, tuple(some)) for some in together]


def says_something(text: str, start: int, end: int) -> bool:
    """Whether a masked text has code, or a word that is no label, between two offsets."""
    found = _WORD.search(text, start, end)
    while found:
        before = max(start, found.start() - 1)
        tag = _TAG.match(text, before - (text[before] == "/" and before > start), end)
        if tag is None and found[0].lower() not in _LABELS:
            return True
        found = _WORD.search(text, tag.end() if tag else found.end(), end)
    return False


def says_only_where(unit: Unit, text: str) -> bool:
    """Whether a unit of a masked text is but references: "[1]", "Source: [1]"; no list of sources."""
    mark = _MARK.match(text, unit.start, unit.end)
    start = mark.end() if mark else unit.start
    return (
        unit.kind in (UnitKind.PARAGRAPH, UnitKind.ITEM)
        and not says_something(text, start, unit.end)
        and not _LISTED.match(text, start, unit.end)
    )


def parts_of(unit: Unit, groups: Sequence[Group], text: str) -> Iterator[Part]:
    """Give the part of a unit that each group of its references backs.

    Args:
        unit: with at least one group.
        groups: those in it, in order.
        text: the answer, masked.
    """
    mark = _MARK.match(text, unit.start, unit.end)
    behind = mark.end() if mark else unit.start
    if _leads(unit, groups, text, behind):
        stops = [group.start for group in groups[1:]] + [unit.end]
        for group, stop in zip(groups, stops, strict=True):
            yield Part((group.start, stop), group.citations)
        return
    ends = [] if unit.kind is UnitKind.ROW else _sentence_ends(text, behind, unit.end)
    behind = unit.start
    for number, group in enumerate(groups):
        after = bisect_left(ends, group.end)
        stop = ends[after] if after < len(ends) else unit.end
        is_last = number + 1 == len(groups) or groups[number + 1].start >= stop
        start = behind
        if unit.kind is UnitKind.PARAGRAPH and (before := bisect_right(ends, group.start)):
            said = stop if is_last else groups[number + 1].start
            start = _of_something(text, ends, before, said, behind)
        behind = stop if is_last else group.end
        yield Part((start, behind), group.citations)


def _of_something(text: str, ends: Sequence[int], before: int, end: int, behind: int) -> int:
    """Give where the sentence begins that a reference backs; one that says only "See" is none.

    Args:
        text: the answer, masked.
        ends: of its sentences.
        before: how many of them end before the reference.
        end: of what its own sentence says.
        behind: others back what stands before this.
    """
    start = ends[before - 1]
    while start > behind and not says_something(text, start, end):
        before, end = before - 1, start
        start = ends[before - 1] if before else behind
    return max(behind, start)


def _leads(unit: Unit, groups: Sequence[Group], text: str, behind_mark: int) -> bool:
    """Whether a unit begins with a reference, and does not end with one too."""
    return not says_something(text, behind_mark, groups[0].start) and says_something(
        text, groups[-1].end, unit.end
    )


def _sentence_ends(text: str, start: int, end: int) -> list[int]:
    return [
        found.end()
        for found in _SENTENCE_END.finditer(text, start, end)
        if not _is_abbreviation(text, found.start())
    ]


def _is_abbreviation(text: str, dot: int) -> bool:
    word = _LAST_WORD.search(text[max(0, dot - 10) : dot])
    return word is not None and (
        word[0].lower() in _ABBREVIATIONS or _LETTERS.fullmatch(word[0]) is not None
    )
