"""An answer whose references have been resolved, as the checks see it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.searches import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
        message: one sentence, on one line whatever it quotes, so that no surface begins a line with a model's words.
        start: offset in the answer that may be shown.
        end: offset behind it.
    """

    kind: Kind
    message: str
    start: int
    end: int

    def __post_init__(self) -> None:
        """Put the message on one line."""
        object.__setattr__(self, "message", " ".join(self.message.split()))


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that may be shown, and what is known about its parts.

    Args:
        text: the answer.
        references: spans of the references in it, all of them resolved, in order.
        contents: of each reference the texts of its lines; may be left out.
        removed: where references were removed, and what they were, in order.
        unchecked: spans of brackets that read like references where none can be.
        code: spans of code, in order, none overlapping another.
        sources: how many sources retrieval returned.
    """

    text: str
    references: tuple[Span, ...] = ()
    contents: tuple[tuple[str, ...], ...] = ()
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

    def is_quoted(self, offset: int) -> bool:
        """Whether the line at ``offset`` is one of those that a reference next to it cites.

        Word for word, list marks and indent aside. Next to it are the reference before the line,
        however far it is (in a step with inner items it stands behind the first line), and the one in
        it or behind it in its paragraph; several side by side count as one.
        """
        start, end = self._line_at(offset)
        if end - start > _LONG:
            return False
        line = self._bare_line(start, end)
        return any(line in _bare_lines(content) for content in self._contents_by(start, end))

    def _line_at(self, offset: int) -> Span:
        """Return the line at an offset; of a long one so much that it shows to be long."""
        start = self.text.rfind("\n", max(0, offset - _LONG - 1), offset) + 1
        end = self.text.find("\n", offset, offset + _LONG + 1)
        return start or max(0, offset - _LONG - 1), end if end >= 0 else len(self.text)

    def _bare_line(self, start: int, end: int) -> str:
        parts, behind = [], start
        for at in range(bisect_left(self.references, (start, start)), len(self.references)):
            begins, ends = self.references[at]
            if begins >= end:
                break
            parts.append(self.text[behind:begins])
            behind = ends
        return _bare("".join([*parts, self.text[behind:end]]))

    def _contents_by(self, start: int, end: int) -> Iterator[str]:
        first = bisect_left(self.references, (start, start))
        yield from self._side_by_side(first - 1, -1)
        if first >= len(self.contents):
            return
        between = end, self.references[first][0]
        if between[1] - end <= _LONG and not _BLANK.search(self.text, *between):
            yield from self._side_by_side(first, 1)

    def _side_by_side(self, at: int, step: int) -> Iterator[str]:
        """Return what a reference cites, and those that nothing but blanks parts from it."""
        for one in range(at, at + step * _MOST_TOGETHER, step):
            if not 0 <= one < len(self.contents):
                return
            if one != at:
                (_, ends), (begins, _) = sorted((self.references[one - step], self.references[one]))
                if self.text[ends:begins].strip():
                    return
            yield from self.contents[one]


_LONG: Final = 2_000
"""Characters of a line that is looked up, and between a line and the reference behind it."""
_MOST_TOGETHER: Final = 8
"""References side by side that are looked at."""
_BLANK: Final = re.compile(r"\n[ \t]*(?=\n)")
_MARK: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")
"""What a list item or a quote begins with."""


def _bare(line: str) -> str:
    return _MARK.sub("", line, count=1).rstrip()


@lru_cache(maxsize=256)
def _bare_lines(content: str) -> frozenset[str]:
    return frozenset(map(_bare, content.split("\n"))) - {""}


_ENDS_SENTENCE: Final = frozenset(".,;:!?)")


def _count_words(text: str, references: Iterable[Span]) -> int:
    parts, behind = [], 0
    for start, end in references:
        parts.append(text[behind:start])
        behind = end + (text[end : end + 1] in _ENDS_SENTENCE)
    return len(" ".join([*parts, text[behind:]]).split())
