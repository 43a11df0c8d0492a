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

_WORD: Final = re.compile(rf"[^\W_]|{CODE}")
_BETWEEN: Final = re.compile(r"(?:[\s,;.()*_]|\band\b|&){0,40}")
"""What may stand between two references that back one claim together."""
_MARK: Final = re.compile(r"[ \t>]*(?:\d{1,9}[.)]|[-*+#|]+)?")
_SENTENCE_END: Final = re.compile(
    rf"[.!?]{{1,3}}[\"'\u201d\u2019)\]*_]{{0,3}}(?:\s{{0,3}}{REFERENCE}++[.!?*_]{{0,3}})*+"
    r"(?=\s+[^a-z\s])"
)
_ABBREVIATIONS: Final = frozenset({"e.g", "i.e", "etc", "vs", "cf", "approx", "no", "fig", "resp"})
_LAST_WORD: Final = re.compile(r"[\w.]{1,10}$")


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
    """Whether a masked text has a word or code between two offsets."""
    return _WORD.search(text, start, end) is not None


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
        start = behind
        if unit.kind is UnitKind.PARAGRAPH and (before := bisect_right(ends, group.start)):
            start = max(behind, ends[before - 1])
        after = bisect_left(ends, group.end)
        stop = ends[after] if after < len(ends) else unit.end
        is_last = number + 1 == len(groups) or groups[number + 1].start >= stop
        behind = stop if is_last else group.end
        yield Part((start, behind), group.citations)


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
    return word is not None and word[0].lower() in _ABBREVIATIONS
