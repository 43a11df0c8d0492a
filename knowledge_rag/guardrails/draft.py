"""An answer whose references have been resolved, as the checks see it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.searches import fold

if TYPE_CHECKING:
    from collections.abc import Iterable

Span = tuple[int, int]
"""Offset of the first character, and behind the last one."""


class Kind(StrEnum):
    """What a warning is about."""

    MISSING_CITATIONS = "missing_citations"
    NON_EXISTENT_SOURCE = "non_existent_source"
    UNSOURCED_INFORMATION = "unsourced_information"
    CONFIDENT_WORDING = "confident_wording"
    UNCITED_NUMBER = "uncited_number"
    LOW_DENSITY = "low_density"
    PLACEHOLDER = "placeholder"
    """A reference that says itself that there is nothing behind it."""
    UNCHECKED = "unchecked"
    """Reads like a reference where none can be: a link's text, an index, outside brackets."""


@dataclass(frozen=True, slots=True)
class Warned:
    """Something that a person should look at.

    Args:
        kind: what it is about.
        message: one sentence.
        start: offset in the answer that may be shown.
        end: offset behind it.
    """

    kind: Kind
    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that may be shown, and what is known about its parts.

    Args:
        text: the answer.
        references: spans of the references in it, all of them resolved, in order.
        removed: where references were taken out, and what they were, in order.
        unchecked: spans of brackets that read like references where none can be.
        code: spans of code, in order, none overlapping another.
        sources: how many sources retrieval returned.
    """

    text: str
    references: tuple[Span, ...] = ()
    removed: tuple[tuple[int, str], ...] = ()
    unchecked: tuple[Span, ...] = ()
    code: tuple[Span, ...] = ()
    sources: int = 0
    words: int = field(init=False)
    """How many words the answer has, references not counted."""
    folded: bytes | None = field(init=False, repr=False, compare=False)
    """The text as the checks search it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", _count_words(self.text, self.references))
        object.__setattr__(self, "folded", fold(self.text))

    def is_code(self, offset: int) -> bool:
        """Whether the character at ``offset`` is code."""
        before = bisect_right(self.code, (offset, len(self.text) + 1)) - 1
        return before >= 0 and offset < self.code[before][1]

    def is_in_reference(self, offset: int) -> bool:
        """Whether the character at ``offset`` is part of a reference."""
        before = bisect_right(self.references, (offset, len(self.text) + 1)) - 1
        return before >= 0 and offset < self.references[before][1]

    def is_cited(self, span: Span, *, before: int, after: int) -> bool:
        """Whether a reference is within so many characters before or after a span."""
        start, end = span
        following = bisect_left(self.references, (end, end))
        if following < len(self.references) and self.references[following][0] - end <= after:
            return True
        preceding = bisect_left(self.references, (start, start)) - 1
        return before > 0 and preceding >= 0 and start - self.references[preceding][1] <= before


_ENDS_SENTENCE: Final = frozenset(".,;:!?)")


def _count_words(text: str, references: Iterable[Span]) -> int:
    parts, behind = [], 0
    for start, end in references:
        parts.append(text[behind:start])
        behind = end + (text[end : end + 1] in _ENDS_SENTENCE)
    return len(" ".join([*parts, text[behind:]]).split())
