"""Checks an answer's uncited text; each check is a function, and none stops an answer.

They look at wording and distances, so they are hints for a reader;
``benchmarks.guardrails.false_alarms`` measures their false alarms.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.guardrails.characters import looks_of, outside, overlaps
from knowledge_rag.guardrails.look_alikes import look_alikes
from knowledge_rag.guardrails.references import COUNT
from knowledge_rag.guardrails.rules import Kind, Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from knowledge_rag.guardrails.characters import Span


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
        object.__setattr__(self, "folded", _fold(self.text))

    def is_code(self, offset: int) -> bool:
        """Whether a character is code."""
        return overlaps(offset, offset + 1, self.code)

    def is_in_reference(self, offset: int) -> bool:
        """Whether a character is part of a reference."""
        return overlaps(offset, offset + 1, self.references)

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
        first, behind = (bisect_left(self.references, (at, 0)) for at in (start, end))
        return _bare("".join(outside(self.text, self.references[first:behind], start, end)))

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
    spans = ((start, end + (text[end : end + 1] in _ENDS_SENTENCE)) for start, end in references)
    return len(" ".join(outside(text, spans)).split())


ADMISSIONS: Final = (
    "I don't have", "I do not have", "no information", "no documented guidance", "nothing documented",
    "not in the sources", "not available in the database", "could not be reached", "could not be searched",
)  # fmt: skip
"""Phrases with which an answer admits that it has no source."""

CONFIDENT: Final = (
    "definitely", "certainly", "without a doubt", "it is clear that", "obviously", "undoubtedly",
)  # fmt: skip
"""Phrases that claim more than a citation backs."""


_AMOUNT: Final = r"\d{1,15}(?:[.,]\d{1,15}){0,5}"
_UNITS: Final = (
    "percent|per cent|thousand|million|billion|trillion|dollars|euros|pounds|USD|EUR|GBP"
)
NUMBERS: Final = (
    rf"{_AMOUNT}[ \u00a0]?(?:%|(?:{_UNITS})\b)",
    rf"(?:US\$|[$\u20ac\u00a3])[ \u00a0]?{_AMOUNT}",
)
"""Numbers that need a citation."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Thresholds and wordings of the checks.

    Args:
        confident_distance: characters before and after a confident phrase in which a reference
            backs it.
        number_distance: characters after a number in which a reference backs it.
        min_density: references per 100 words below which an answer is too thinly cited.
        min_words: words from which an answer's density is checked.
        admissions: phrases with which an answer admits that it has no source; any case.
        max_admission: maximum words of an answer that such a phrase excuses; a longer answer, or one
            with code, gives information all the same.
        confident: phrases that need a reference close by; any case.
        numbers: regular expressions of numbers that need one.

    Raises:
        InvalidSettings: a threshold is negative, or a pattern isn't a regular expression.
    """

    confident_distance: int = 50
    number_distance: int = 100
    min_density: float = 1.0
    min_words: int = 60
    admissions: tuple[str, ...] = ADMISSIONS
    max_admission: int = 60
    confident: tuple[str, ...] = CONFIDENT
    numbers: tuple[str, ...] = NUMBERS

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float) and not value >= 0:
                raise InvalidSettings(f"{setting.name} is {value}, allowed: 0 and more")
        for pattern in self.numbers:
            try:
                re.compile(pattern)
            except re.error as error:
                raise InvalidSettings(
                    f"numbers: {pattern!r} is not a valid pattern: {error}"
                ) from error


def check(draft: Draft, settings: CheckSettings) -> tuple[Warned, ...]:
    """Return the warnings of all checks, in the order of the text."""
    found = (warned for one in CHECKS for warned in one(draft, settings))
    return tuple(sorted(found, key=lambda warned: (warned.start, warned.end, warned.kind)))


def missing_citations(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of an answer that cites nothing though there are sources."""
    if draft.sources and not draft.references and draft.words and not _admits(draft, settings):
        message = f"The answer cites none of its {draft.sources} sources."
        yield Warned(Kind.MISSING_CITATIONS, message, 0, len(draft.text))


def non_existent_sources(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:  # noqa: ARG001 - one shape for all checks
    """Warn of each removed reference: nothing that retrieval returned matches it."""
    for offset, reference in draft.removed:
        message = f"{' '.join(reference.split())} refers to nothing that retrieval returned."
        yield Warned(Kind.NON_EXISTENT_SOURCE, message, offset, offset)


def unsourced_information(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of an answer that gives information without any source and doesn't admit it."""
    if not draft.sources and draft.words and not _admits(draft, settings):
        message = "The answer gives information though retrieval returned no source."
        yield Warned(Kind.UNSOURCED_INFORMATION, message, 0, len(draft.text))


def confident_wording(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of confident phrases without a reference close by, except in quoted lines."""
    reach = settings.confident_distance
    for found in _find_phrases(settings.confident, draft.text, draft.folded):
        if not _is_backed(draft, found, before=reach, after=reach):
            message = f'"{found[0]}" has no citation within {reach} characters.'
            yield Warned(Kind.CONFIDENT_WORDING, message, *found.span())


def uncited_numbers(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of numbers without a reference right after them, except in code, identifiers and quoted lines."""
    reach = settings.number_distance
    for found in _find_numbers(settings.numbers, draft.text, draft.folded):
        if not _is_backed(draft, found, before=0, after=reach):
            message = f'"{found[0]}" has no citation within {reach} characters after it.'
            yield Warned(Kind.UNCITED_NUMBER, message, *found.span())


def low_density(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of a long answer with few references; another check covers answers without any."""
    words = draft.words
    if words < settings.min_words or not draft.references:
        return
    density = 100 * len(draft.references) / words
    if density < settings.min_density:
        message = f"{density:.1f} references per 100 words, wanted: {settings.min_density:g}."
        yield Warned(Kind.LOW_DENSITY, message, 0, len(draft.text))


def placeholders(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:  # noqa: ARG001 - one shape for all checks
    """Warn of references that say that their source is missing."""
    ends = [end for _, end in draft.references] + [offset for offset, _ in draft.removed]
    for end in ends:
        if found := _NOT_THERE.match(draft.text, end):
            message = f'A reference is followed by "{found[0].strip()}".'
            yield Warned(Kind.PLACEHOLDER, message, end, found.end())
    for found in _WANTED.finditer(draft.text):
        if not draft.is_code(found.start()):
            yield Warned(Kind.PLACEHOLDER, f"{found[0]} stands for a citation.", *found.span())


def unchecked(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:  # noqa: ARG001 - one shape for all checks
    """Warn of text that a hurried reader may take for a reference, and that was not resolved."""
    for start, end in draft.unchecked:
        message = f"{draft.text[start:end]} is read as a link or an index, not as a reference."
        yield Warned(Kind.UNCHECKED, message, start, end)
    for found in _NOTE.finditer(draft.text):
        if not draft.is_code(found.start()):
            message = f"{found[0]} is read as a note or as an issue's number, not as a reference."
            yield Warned(Kind.UNCHECKED, message, *found.span())
    for found in (*_unbracketed(draft), *_notes(draft)):
        if not draft.is_code(found.start()) and not draft.is_in_reference(found.start()):
            message = "Reads like a reference, but isn't in square brackets."
            yield Warned(Kind.UNCHECKED, message, *found.span())
    for start, end in look_alikes(draft):
        message = f"{draft.text[start:end]} reads like a reference, and nothing proves it."
        yield Warned(Kind.UNCHECKED, message, start, end)


CHECKS: Final[tuple[Callable[[Draft, CheckSettings], Iterator[Warned]], ...]] = (
    missing_citations,
    non_existent_sources,
    unsourced_information,
    confident_wording,
    uncited_numbers,
    low_density,
    placeholders,
    unchecked,
)
"""All checks, in the order in which they run."""

_NOT_THERE: Final = re.compile(
    r"[ \t]{0,4}(?:\.{2,8}|\u2026)?[ \t]{0,4}\((?:not?\b|un(?:available|known|specified)|missing|omitted|n/a)"
    r"[^()\n]{0,60}\)",
    re.IGNORECASE,
)
_WANTED: Final = re.compile(
    r"\[(?:citation|source|reference)s? (?:needed|missing|required|unknown|not \w{1,20})\]",
    re.IGNORECASE,
)
_UNBRACKETED: Final = re.compile(
    r"\bsources?:\s?[^\s,\[\]]{1,200},\s?lines?\s\d+"
    rf"|(?<!\w[*_(])(?<=[^a-z0-9\s])sources?:?\s?#?{COUNT}(?=[^a-z0-9\s])"
    rf"|\b(?-i:S)ources?\s(?:#|no\.?\s)?{COUNT}|\bsources?(?:\s?#|:\s)\d++(?![\w.-])",
    re.IGNORECASE,
)
"""A file and its lines; a source's number between marks, but not in an identifier; "Source" and a number."""
_HIGH: Final = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_SUPERSCRIPT: Final = re.compile(
    rf"[{_HIGH}]{{1,3}}(?!\w)|<sup>[\s#]*\d{{1,3}}\s*</sup>",
    re.IGNORECASE,
)
_BEFORE_NOTE: Final = re.compile(r"(?:[^\W\d_]{3}|\.md|[\s.,;:!?)\]\"'\u201d\u00bb*_`])\Z")
"""The text before the number of a note: a word, or the end of a sentence."""
_NOTE: Final = re.compile(r"\[[\^#]\d{1,3}\](?![(\[:+*?{])")
"""A note's number; not a link, the note's own text or a regular expression's character class."""


def _is_backed(draft: Draft, found: re.Match[str], *, before: int, after: int) -> bool:
    if draft.is_code(found.start()) or draft.is_cited(found.span(), before=before, after=after):
        return True
    return draft.is_quoted(found.start())


def _unbracketed(draft: Draft) -> Iterator[re.Match[str]]:
    look = looks_of(draft.text)
    folded = draft.folded if look is draft.text else _fold(look)
    if folded is None:
        return _UNBRACKETED.finditer(look)
    return _matches_at(_UNBRACKETED, look, _places(b"source", folded))


def _notes(draft: Draft) -> Iterator[re.Match[str]]:
    """Yield superscript numbers in places where a page's notes have theirs."""
    text, folded = draft.text, draft.folded
    # most answers have neither, and the pattern would be tried at every character
    if not (folded is None or b"<sup" in folded or any(one in text for one in _HIGH)):
        return
    for found in _SUPERSCRIPT.finditer(text):
        if _BEFORE_NOTE.search(text, max(0, found.start() - 3), found.start()):
            yield found


def _admits(draft: Draft, settings: CheckSettings) -> bool:
    if draft.code or draft.words > settings.max_admission:
        return False
    return any(_find_phrases(settings.admissions, draft.text, draft.folded))


# searches: a case-insensitive pattern is tried at every character; these try it only where a
# case-folded copy has the literal text of its matches, which is many times faster

_ALSO_ASCII: Final = "\u0130\u0131\u017f\u212a"
"""Characters that match an ASCII letter if case is ignored, besides the letter's own two cases."""


def _fold(text: str) -> bytes | None:
    """Return a text's ASCII characters in lower case, one byte for each character of any kind.

    Returns:
        ``None`` if a character passes for an ASCII letter without being one.
    """
    if not text.isascii() and any(character in text for character in _ALSO_ASCII):
        return None
    return text.encode("ascii", "replace").lower()


def _matches_at(
    pattern: re.Pattern[str], text: str, starts: Iterable[int]
) -> Iterator[re.Match[str]]:
    """Return what ``pattern.finditer(text)`` does; ``starts`` are in order and include all matches."""
    end = 0
    for start in starts:
        if start >= end and (found := pattern.match(text, start)):
            end = found.end()
            yield found


def _places(part: bytes, folded: bytes) -> Iterator[int]:
    at = folded.find(part)
    while at >= 0:
        yield at
        at = folded.find(part, at + 1)


def _find_phrases(
    wordings: Iterable[str], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find phrases; case, white space and the form of apostrophes don't matter, blank ones are ignored."""
    possible = tuple(one for one in wordings if one.strip() and _may_hold(folded, one))
    return _phrases(possible).finditer(text) if possible else iter(())


def _may_hold(folded: bytes | None, wording: str) -> bool:
    if folded is None or not (words := _fold(wording)):
        return True
    return all(part in folded for part in words.replace(b"'", b" ").split())


@lru_cache(maxsize=64)
def _phrases(wordings: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = (
        r"\s+".join(re.escape(word).replace("'", "['\u2019]") for word in one.split())
        for one in wordings
    )
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


def _find_numbers(
    patterns: tuple[str, ...], text: str, folded: bytes | None
) -> Iterator[re.Match[str]]:
    """Find numbers, except those in identifiers."""
    pattern = _numbers(patterns)
    if patterns != NUMBERS or folded is None or not text.isascii():
        return pattern.finditer(text)
    lines = _lines_with_units(folded)
    return (found for line in lines for found in pattern.finditer(text, *line))


_SIGNS: Final = tuple(b"% $ cent thousand illion dollar eur pound usd gbp".split())
"""Each unit of NUMBERS, and each currency's sign in ASCII, contains one of these."""


def _lines_with_units(folded: bytes) -> Iterator[Span]:
    end = 0
    for at in sorted(at for unit in _SIGNS for at in _places(unit, folded)):
        if at >= end:
            start = folded.rfind(b"\n", 0, at) + 1
            end = folded.find(b"\n", at) + 1 or len(folded)
            yield start, end


@lru_cache(maxsize=64)
def _numbers(patterns: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{pattern})" for pattern in patterns) or "(?!)"
    return re.compile(rf"(?<![\w./:=-])(?:{alternatives})", re.IGNORECASE)
