"""Checks an answer's uncited text; each check is a function, and none stops an answer.

They look at wording and distances, so they are hints for a reader;
``benchmarks.guardrails.false_alarms`` measures their false alarms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.guardrails.characters import looks_of
from knowledge_rag.guardrails.draft import Kind, Warned
from knowledge_rag.guardrails.look_alikes import look_alikes
from knowledge_rag.guardrails.references import COUNT
from knowledge_rag.guardrails.searches import (
    NUMBERS,
    find_numbers,
    find_phrases,
    fold,
    matches_at,
    places,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from knowledge_rag.guardrails.draft import Draft

ADMISSIONS: Final = (
    "I don't have",
    "I do not have",
    "no information",
    "no documented guidance",
    "nothing documented",
    "not in the sources",
    "not available in the database",
    "could not be reached",
    "could not be searched",
)
"""Phrases with which an answer admits that it has no source."""

CONFIDENT: Final = (
    "definitely",
    "certainly",
    "without a doubt",
    "it is clear that",
    "obviously",
    "undoubtedly",
)
"""Phrases that claim more than a citation backs."""


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
    for found in find_phrases(settings.confident, draft.text, draft.folded):
        if not _is_backed(draft, found, before=reach, after=reach):
            message = f'"{found[0]}" has no citation within {reach} characters.'
            yield Warned(Kind.CONFIDENT_WORDING, message, *found.span())


def uncited_numbers(draft: Draft, settings: CheckSettings) -> Iterator[Warned]:
    """Warn of numbers without a reference right after them, except in code, identifiers and quoted lines."""
    reach = settings.number_distance
    for found in find_numbers(settings.numbers, draft.text, draft.folded):
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
    folded = draft.folded if look is draft.text else fold(look)
    if folded is None:
        return _UNBRACKETED.finditer(look)
    return matches_at(_UNBRACKETED, look, places(b"source", folded))


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
    return any(find_phrases(settings.admissions, draft.text, draft.folded))
