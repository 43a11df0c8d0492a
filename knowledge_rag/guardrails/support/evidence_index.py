"""Indexes the names, numbers and dates of some lines.

Each table is made on first use: most claims need one or two of them.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.stemming import stem
from knowledge_rag.guardrails.support.alignment import Stream
from knowledge_rag.guardrails.support.lexemes import (
    LEXEME,
    PLACEHOLDER,
    SEPARATORS,
    folded,
    has_numbers_in_brackets,
    holds_placeholder,
    literals,
    plain,
    trimmed,
    unescaped,
)
from knowledge_rag.guardrails.support.quantities import (
    NUMBER_WORDS,
    iso_date_at,
    quantity_at,
    quantity_of_word,
    written_dates,
)
from knowledge_rag.guardrails.support.score import Bag
from knowledge_rag.guardrails.support.wording import (
    STOP_WORDS,
    Stance,
    denials,
    foreign,
    may_deny,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from knowledge_rag.guardrails.support.quantities import Date, Measured

_PARTS: Final = re.compile(r"[/:@=T-]+")
_NUMBER_PART: Final = re.compile(r"\d{1,40}(?:\.\d{1,40})?$")
_DIGIT: Final = re.compile(r"\d")
_ONE_NUMBER_WORD: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b"
)


class EvidenceIndex:
    """The lines that a claim cites.

    Args:
        lines: as in the file.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        # a line counts as one even with a line break in it: only its start may have a list mark
        joined = "\n".join([line.replace("\n", " ") for line in lines])
        self.lines = unescaped(plain(joined)).split("\n") if lines else []
        self.words = set(chain.from_iterable(map(words, self.lines)))
        """All words, in lower case."""
        self.may_deny = may_deny(self.words)
        """Whether any line may deny anything."""

    @cached_property
    def has_indices(self) -> bool:
        """Whether any line has a number in brackets behind a word: those of claims may be indices, too, not references."""
        return any(map(has_numbers_in_brackets, self.lines))

    @cached_property
    def stream(self) -> Stream:
        """The lines as one row of tokens."""
        return Stream(self.lines)

    @cached_property
    def bag(self) -> Bag:
        """The words, and those that are near each other."""
        return Bag(self.stream.text)

    @cached_property
    def language(self) -> str:
        """ISO 639-1 code of the lines' language if it certainly isn't English, otherwise ``""``."""
        return foreign("\n".join(self.lines), self.words)

    @cached_property
    def names(self) -> Mapping[str, int]:
        """Every lexeme with and without the punctuation around it, and the first line of each."""
        first: dict[str, int] = {}
        for number in range(len(self.lines) - 1, -1, -1):
            first.update(dict.fromkeys(LEXEME.findall(self.lines[number]), number))
        for lexeme, number in list(first.items()):
            bare = trimmed(lexeme)
            first[bare] = min(number, first.get(bare, number))
        return first

    @cached_property
    def parts(self) -> Mapping[str, int]:
        """Parts between separators in lexemes, in their own case: a file's name, a key, a host."""
        first: dict[str, int] = {}
        for name, number in self.names.items():
            if "/" in name or ":" in name or "@" in name or "=" in name:
                for part in SEPARATORS.split(name):
                    if part:
                        first.setdefault(trimmed(part), number)
        return first

    @cached_property
    def folded(self) -> Mapping[str, int]:
        """Names and parts with case ignored."""
        first: dict[str, int] = {}
        for table in (self.names, self.parts):
            for name, number in table.items():
                first.setdefault(folded(name), number)
        return first

    @cached_property
    def _measured(self) -> Sequence[tuple[Measured, int]]:
        spelled = not NUMBER_WORDS.isdisjoint(self.words)
        return [
            (found, number)
            for number, line in enumerate(self.lines)
            for found in _measured(line, spelled=spelled)
        ]

    @cached_property
    def quantities(self) -> Mapping[tuple[Fraction, str], Mapping[str, int]]:
        """Numbers with units, the directions of their comparisons, and the first line of each."""
        first: dict[tuple[Fraction, str], dict[str, int]] = {}
        for measured, number in self._measured:
            for quantity in measured.quantities:
                first.setdefault(quantity.key, {}).setdefault(measured.direction, number)
        return first

    @cached_property
    def written_numbers(self) -> Mapping[Fraction, int]:
        """Numbers as written, whatever their units."""
        first: dict[Fraction, int] = {}
        for measured, number in self._measured:
            for quantity in measured.quantities:
                first.setdefault(quantity.written, number)
        return first

    @cached_property
    def counted(self) -> set[str]:
        """Stems of the words right after a number."""
        return {
            stem(behind[0])
            for measured, number in self._measured
            if (behind := words(self.lines[number][measured.end : measured.end + 40]))
        }

    @cached_property
    def dates(self) -> Mapping[Date, int]:
        """Dates and their less exact forms."""
        first: dict[Date, int] = {}
        for number, line in enumerate(self.lines):
            for date in _dates(line):
                for less in date.less_exact():
                    first.setdefault(less, number)
        return first

    @cached_property
    def stems(self) -> set[str]:
        """Stems of all words."""
        return set(map(stem, self.words))

    @cached_property
    def stances(self) -> Mapping[str, Stance]:
        """The lines' use of each word, by its stem."""
        stances: dict[str, Stance] = {}
        for number, line in enumerate(self.lines):
            said = set(words(line))
            denied = {found.stem for found in denials(line)} if may_deny(said) else set()
            for word in set(map(stem, said)):
                first, any_denied, all_denied = stances.get(word, (number, False, True))
                denies = word in denied
                stances[word] = Stance(first, any_denied or denies, all_denied and denies)
        return stances

    @cached_property
    def denied(self) -> set[str]:
        """Stems of words that any line denies."""
        return {word for word, stance in self.stances.items() if stance.denied}

    @cached_property
    def slots(self) -> Mapping[str, tuple[int, str]]:
        """For each name before a placeholder (``--region <region>``), the line and the placeholder."""
        behind: dict[str, tuple[int, str]] = {}
        for number, line in enumerate(self.lines):
            before = ""
            for lexeme in LEXEME.findall(line) if holds_placeholder(line) else ():
                open_value = holds_placeholder(lexeme) and not literals(lexeme)
                if open_value and before and before not in STOP_WORDS:
                    behind.setdefault(before, (number, lexeme))
                before = folded(lexeme)
        return behind

    @cached_property
    def templates(self) -> Sequence[tuple[str, str, int, str]]:
        """Names with placeholders: the text before and after these, the line, the name."""
        templates = []
        for name, number in self.names.items():
            if holds_placeholder(name):
                first, *_, last = [*(found := list(PLACEHOLDER.finditer(name))), found[-1]]
                before, behind = name[: first.start()], name[last.end() :]
                if len(before) + len(behind) >= 2:
                    templates.append((before, behind, number, name))
        return templates

    def uncovered(self, claimed: set[str]) -> set[str]:
        """Return the claimed words of which the lines have no form."""
        unmatched = claimed - self.words
        return {word for word in unmatched if stem(word) not in self.stems} if unmatched else set()

    def line_with(self, text: str) -> int | None:
        """Return the first line that contains a text, letter for letter."""
        return next((number for number, line in enumerate(self.lines) if text in line), None)


def _with_digits(line: str) -> Iterator[tuple[int, str]]:
    """Return the lexemes with a digit, with their offsets."""
    if _DIGIT.search(line):
        for found in LEXEME.finditer(line):
            if _DIGIT.search(found[0]):
                yield found.start(), found[0]


def _dates(line: str) -> Iterator[Date]:
    for _, _, date in written_dates(line):
        yield date
    if "-" in line:
        for start, _ in _with_digits(line):
            if dated := iso_date_at(line, start):
                yield dated[1]


def _measured(line: str, *, spelled: bool) -> Iterator[Measured]:
    end = 0
    for start, lexeme in _with_digits(line):
        if start >= end:
            if measured := quantity_at(line, start):
                end = measured.end
                yield measured
            else:
                yield from _numbers_within(lexeme)
    for found in _ONE_NUMBER_WORD.finditer(line) if spelled else ():
        yield quantity_of_word(line, found.start(), found.end())


def _numbers_within(lexeme: str) -> Iterator[Measured]:
    """Return the numbers in a name: ``9090`` in ``host:9090``."""
    for part in _PARTS.split(trimmed(lexeme)):
        if _NUMBER_PART.match(part) and (measured := quantity_at(part, 0)):
            yield measured
