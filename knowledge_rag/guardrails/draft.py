"""The form of an answer with resolved references that the checks read."""

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
"""Offset of the first character, and after the last one."""


class Kind(StrEnum):
    """The kind of a warning."""

    MISSING_CITATIONS = "missing_citations"
    NON_EXISTENT_SOURCE = "non_existent_source"
    UNSOURCED_INFORMATION = "unsourced_information"
    CONFIDENT_WORDING = "confident_wording"
    UNCITED_NUMBER = "uncited_number"
    LOW_DENSITY = "low_density"
    PLACEHOLDER = "placeholder"
    """A reference says that its source is missing."""
    UNCHECKED = "unchecked"
    """Text reads like a reference where none can be: a link's text, an index, outside brackets."""


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning for a person to check.

    Args:
        kind: of the warning.
        message: one sentence, on one line whatever it quotes, so that no line begins with a model's words.
        start: offset in the answer that may be shown.
        end: offset after it.
    """

    kind: Kind
    message: str
    start: int
    end: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", " ".join(self.message.split()))


@dataclass(frozen=True, slots=True)
class Draft:
    """The answer that may be shown, with the spans of its parts.

    Args:
        text: the answer.
        references: spans of its references, all resolved, in order.
        contents: for each reference, the texts of its lines; optional.
        removed: offset and text of each removed reference, in order.
        unchecked: spans of brackets that read like references where none can be.
        code: spans of code, in order, none overlapping another.
        sources: number of sources that retrieval returned.
    """

    text: str
    references: tuple[Span, ...] = ()
    contents: tuple[tuple[str, ...], ...] = ()
    removed: tuple[tuple[int, str], ...] = ()
    unchecked: tuple[Span, ...] = ()
    code: tuple[Span, ...] = ()
    sources: int = 0
    words: int = field(init=False)
    """Number of words of the answer, without references."""
    folded: bytes | None = field(init=False, repr=False, compare=False)
    """The text in the form that the checks search."""

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
        """Whether a reference is within ``before`` characters before or ``after`` characters after a span."""
        start, end = span
        following = bisect_left(self.references, (end, end))
        if following < len(self.references) and self.references[following][0] - end <= after:
            return True
        preceding = bisect_left(self.references, (start, start)) - 1
        return before > 0 and preceding >= 0 and start - self.references[preceding][1] <= before

    def is_quoted(self, offset: int) -> bool:
        """Whether the line at ``offset`` is, word for word, one that a reference next to it cites.

        List marks and indent don't matter. Next to it are the reference before the line, however far
        away (in a step with inner items it is after the first line), and the one in the line or after
        it in its paragraph; several side by side count as one.
        """
        start, end = self._line_at(offset)
        if end - start > _LONG:
            return False
        line = self._bare_line(start, end)
        return any(line in _bare_lines(content) for content in self._contents_by(start, end))

    def _line_at(self, offset: int) -> Span:
        """Return the line at an offset; of a long one, just enough to show that it is long."""
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
        """Return the lines cited by a reference, and by those that only blanks separate from it."""
        for one in range(at, at + step * _MOST_TOGETHER, step):
            if not 0 <= one < len(self.contents):
                return
            if one != at:
                (_, ends), (begins, _) = sorted((self.references[one - step], self.references[one]))
                if self.text[ends:begins].strip():
                    return
            yield from self.contents[one]


_LONG: Final = 2_000
"""Maximum characters of a line to look up, and between a line and the reference after it."""
_MOST_TOGETHER: Final = 8
"""Maximum references side by side to read."""
_BLANK: Final = re.compile(r"\n[ \t]*(?=\n)")
_MARK: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?:\[[ xX]\][ \t]+)?")
"""The beginning of a list item or a quote."""


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
