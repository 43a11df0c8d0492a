"""Finds dates in text, and nothing that merely looks like one.

A date here is a day of a year: ``2026-03-05``, ``03/05/2026``, ``March 5, 2026``, ``5th of March
2026``, both ends of ``28 Feb - 2 Mar 2026``, each day of ``March 3, 4 and 5, 2026``. A wrong date
moves a source for no reason, a missed one leaves it in place: so text that is ambiguous, isn't in
the calendar, or is part of a path, an id or a version is no date.

The patterns name day, month and year, so no parser has to guess afterwards; month names are English
only. Each finds a whole expression, of one day or of several, and has bounded repetitions, so that no
text makes it slow.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.core.metadata import MAX_METADATA_BYTES, metadata_bytes, to_metadata
from knowledge_rag.extract.shaping import fenced, is_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.core.chunks import Chunk


_NAMES: Final = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?",
    "aug(?:ust)?", "sep(?:t(?:ember)?)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
"""Maps the first three letters of a month's English name to its number."""

MONTH: Final = rf"(?:{'|'.join(_NAMES)})(?![^\W_])\.?"
_DAY: Final = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![^\W_])"
_YEAR: Final = r"(?:19|20)\d\d"
_GAP: Final = r"(?:[ \t\u00a0\u202f]{1,3}|[ \t]{0,3}\r?\n[ \t]{0,8})"
"""Between the words of a date: blanks, or the end of a line."""
TO: Final = rf"{_GAP}?(?:-{{1,2}}|[–—]|\.\.|(?<=\s)(?:to|until|till|through|thru)(?=\s)){_GAP}?"
"""Between the ends of a range."""
_AND: Final = rf"(?:,?{_GAP}(?:and|or|&){_GAP}|,{_GAP})"
_JOIN: Final = rf"(?:{TO}|{_AND})"
_AND_WORD: Final = (
    rf"(?:{TO}|,{_GAP}(?=(?:{_DAY},{_GAP})?{_DAY},?{_GAP}(?:and|or|&))|,?{_GAP}(?:and|or|&){_GAP})"
)
"""Before a month, a comma joins days only if an "and" follows: "in 3, 5 May 2026" is one day."""

_NO_LETTER_BEFORE: Final = r"(?<![^\W_])(?<![./\\@#-])"
_NO_LETTER_BEHIND: Final = r"(?![^\W_]|\.\d)(?!\s?(?:%|[kmgt]i?b\b|ms\b|[rq]ps\b))"
_YEAR_GAP: Final = rf"(?:,?{_GAP}|,)"
_CLOCK: Final = rf"{_GAP}\d\d:\d\d(?::\d\d)?(?:{_GAP}[a-z]{{3,4}})?{_GAP}"

_MONTH_SIDE: Final = rf"{MONTH}{_GAP}(?:the{_GAP})?{_DAY}(?:{_JOIN}{_DAY}){{0,6}}"
_DAY_SIDE: Final = rf"{_DAY}(?:{_AND_WORD}{_DAY}){{0,6}}(?:{_GAP}(?:of{_GAP})?){MONTH}"

MONTH_FIRST: Final = re.compile(
    rf"{_NO_LETTER_BEFORE}(?P<sides>(?:{_MONTH_SIDE}{_JOIN}){{0,3}}{_MONTH_SIDE})"
    rf"(?:{_YEAR_GAP}|{_CLOCK})(?P<year>{_YEAR}){_NO_LETTER_BEHIND}",
    re.IGNORECASE,
)
"""``March 5, 2026``, ``Mar 3-5 2026``, ``March 30 - April 2, 2026``, ``Thu Mar  5 13:55:36 2026``."""

DAY_FIRST: Final = re.compile(
    rf"{_NO_LETTER_BEFORE}(?P<sides>(?:{_DAY_SIDE}{_JOIN}){{0,3}}{_DAY_SIDE})"
    rf"{_YEAR_GAP}(?P<year>{_YEAR}){_NO_LETTER_BEHIND}",
    re.IGNORECASE,
)
"""``5 March 2026``, ``the 3rd, 4th and 5th of March, 2026``, ``28 Feb - 2 Mar 2026``."""

DAY_HYPHENS: Final = re.compile(
    rf"{_NO_LETTER_BEFORE}(?P<day>3[01]|[12]\d|0?[1-9])(?P<mark>[-/])(?P<month>{'|'.join(_NAMES)})"
    rf"(?P=mark)(?P<year>{_YEAR})(?![^\W_]|[-/.]\w)",
    re.IGNORECASE,
)
"""``05-Mar-2026``, ``05/Mar/2026:13:55:36``."""

SIDE: Final = re.compile(
    rf"(?P<after>{MONTH}){_GAP}(?:the{_GAP})?(?P<days>{_DAY}(?:{_JOIN}{_DAY}){{0,6}})"
    rf"|(?P<before>{_DAY}(?:{_AND_WORD}{_DAY}){{0,6}})(?:{_GAP}(?:of{_GAP})?)(?P<month>{MONTH})",
    re.IGNORECASE,
)
"""One month with its days, within a match of the patterns above."""

ISO: Final = re.compile(
    r"(?:(?<![\w./#@\\-])|(?<=\.\.)|(?<=\d--)|(?<=-\d\d/))"
    r"(?:(?<!\w:)|(?=.{10}[T ]\d\d:\d\d))"
    r"(?P<year>(?:19|20)\d\d)(?P<mark>-)(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:(?=[Tt]\d\d)|(?=--\d)|(?=/(?:19|20)\d\d-\d\d-\d\d(?![\w/]))|(?![\w\\/-]|\.\w|:\w))"
)
"""``2026-03-05``, with or without a time; both ends of ``2026-03-03/2026-03-05``."""

YEAR_SLASHES: Final = re.compile(
    r"(?<![\w./#@\\:-])(?P<year>(?:19|20)\d\d)/(?P<month>\d\d?)/(?P<day>\d\d?)(?![\w\\/-]|\.\w)"
)
"""``2026/03/05``: nobody writes the day before the month after a year."""

COMPACT: Final = re.compile(
    r"(?<!\w)(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)T\d{6}Z?(?![\w-]|\.\w)"
)
"""``20260305T101530Z``: eight digits are a date only if a time follows."""

SLASHES: Final = re.compile(
    r"(?:(?<![\w./#@\\:-])|(?<=/\d{4}-)|(?<=\d--))"
    r"(?P<first>\d\d?)/(?P<second>\d\d?)/(?P<year>(?:19|20)\d\d)(?![\w\\/]|[.]\w)"
)
"""``03/05/2026``: the setting decides between March and May."""

VERSION_BEFORE: Final = re.compile(
    r"version[\"'`]{0,2}\s{0,2}[:=]?\s{0,2}[\"'`(]{0,2}\Z", re.IGNORECASE
)
"""``"Version": "2012-10-17"``, ``api-version=2021-04-01``: the name of a version, not a day."""

COUNTED_BEFORE: Final = re.compile(
    rf"(?:\b(?:room|flight|section|chapter|step|page|line|gate|level|version|grade|class|unit|part|"
    rf"bus|route|building|floor|item|number|no\.|table|figure|appendix|{MONTH}){_GAP}|#)\Z",
    re.IGNORECASE,
)
"""Text before " - 5 March 2026" whose number isn't a day."""

YEARS: Final = re.compile(r"(?:19|20)\d\d")
"""A text without a four-digit year has no date: the first check of a text."""

MONTH_NAMED: Final = re.compile(rf"(?<![^\W_])(?:{'|'.join(_NAMES)})(?![^\W_])", re.IGNORECASE)
"""Without a month's name, the more expensive patterns are skipped."""


MIN_YEAR: Final = 1990
"""Earlier years are the zero of some clock (1970-01-01, 1980-01-01) or history."""
MAX_YEAR: Final = 2099
"""Later years mean "never" (9999-12-31)."""

_DIGITS: Final = re.compile(r"\d{1,2}")
_RANGE: Final = re.compile(TO, re.IGNORECASE)
_LOOK_BACK: Final = 200
"""Characters before a date in which to look for a path, an id or a version."""


class DateOrder(StrEnum):
    """Which part comes first in ``03/05/2026``."""

    MDY = "mdy"
    DMY = "dmy"


class FoundDate(NamedTuple):
    """One date, and the expression that contains it; the two ends of a range share one."""

    day: date
    start: int
    end: int


def find_dates(text: str, order: DateOrder | None = None) -> list[FoundDate]:
    """Find the dates of a text, from MIN_YEAR to MAX_YEAR, in order and in linear time.

    Args:
        text: of any length.
        order: of day and month between slashes. Without it, ``03/05/2026`` is no date. ``25/12/2026``
        and ``03/03/2026`` are unambiguous, so always dates.
    """
    if not YEARS.search(text):
        return []
    found = sorted(_all(text, order), key=lambda one: (one.start, -one.end))
    kept: list[FoundDate] = []
    for one in found:
        inside = kept and one.start < kept[-1].end and one[1:] != kept[-1][1:]
        if not inside:
            kept.append(one)
    return kept


def _all(text: str, order: DateOrder | None) -> Iterator[FoundDate]:
    if MONTH_NAMED.search(text):
        yield from _with_names(text)
    for pattern in (ISO, COMPACT, YEAR_SLASHES):
        for match in pattern.finditer(text):
            if not _is_part(text, match.start()):
                yield from _one(match, *(int(match[it]) for it in ("year", "month", "day")))
    for match in SLASHES.finditer(text):
        if not _is_part(text, match.start()):
            for day in _slashed(match, order):
                yield FoundDate(day, *match.span())


def _with_names(text: str) -> Iterator[FoundDate]:
    for pattern in (MONTH_FIRST, DAY_FIRST):
        for match in pattern.finditer(text):
            for day in _written(match, text):
                yield FoundDate(day, *match.span())
    for match in DAY_HYPHENS.finditer(text):
        month = MONTHS[match["month"][:3].lower()]
        yield from _one(match, int(match["year"]), month, int(match["day"]))


def _one(match: re.Match[str], year: int, month: int, day: int) -> Iterator[FoundDate]:
    if made := _day(year, month, day):
        yield FoundDate(made, *match.span())


def _day(year: int, month: int, day: int) -> date | None:
    if not MIN_YEAR <= year <= MAX_YEAR:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _slashed(match: re.Match[str], order: DateOrder | None) -> list[date]:
    """Return the only reading, or else the one in the given order."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    by_order = {DateOrder.MDY: _day(year, first, second), DateOrder.DMY: _day(year, second, first)}
    readings = {day for day in by_order.values() if day}
    if len(readings) > 1:
        chosen = by_order.get(order) if order else None
        readings = {chosen} if chosen else set()
    return list(readings)


def _is_part(text: str, start: int) -> bool:
    """Whether the text here belongs to an address, an ARN or the name of a version."""
    before = text[max(0, start - _LOOK_BACK) : start]
    token = before.rpartition(" ")[2].rpartition("\n")[2].lower()
    if "://" in token or "arn:" in token:
        return True
    return bool(VERSION_BEFORE.search(before[-24:]))


def _written(match: re.Match[str], text: str) -> Iterator[date]:
    sides = list(SIDE.finditer(match["sides"]))
    year = int(match["year"])
    last_month = _month(sides[-1])
    for number, side in enumerate(sides):
        month = _month(side)
        own_year = year
        if month > last_month:  # December 28 - January 3, 2027
            between = match["sides"][side.end() : sides[number + 1].start()]
            if not _RANGE.fullmatch(between):
                continue
            own_year -= 1
        counted = number == 0 and _is_counted(text, match.start(), side)
        for day in _days(side["days"] or side["before"], last_only=counted):
            if made := _day(own_year, month, day):
                yield made


def _month(side: re.Match[str]) -> int:
    return MONTHS[(side["after"] or side["month"])[:3].lower()]


def _is_counted(text: str, start: int, side: re.Match[str]) -> bool:
    if side["before"] is None:
        return False
    return bool(COUNTED_BEFORE.search(text[max(0, start - 20) : start]))


def _days(written: str, *, last_only: bool) -> list[int]:
    """Return the days of a list, or the two ends of a range; "12 - 5 March" is no range but the 5th."""
    numbers = list(_DIGITS.finditer(written))
    if last_only:
        numbers = numbers[-1:]
    days: list[int] = []
    for number in numbers:
        day = int(number[0])
        if days and day <= days[-1]:
            days.clear()
        days.append(day)
    return days


MAX_DATES: Final = 8
"""Maximum dates of a chunk; the latest are kept, since they decide whether any is upcoming. They are
dropped, oldest first, before they would take a chunk over MAX_METADATA_BYTES."""

DATES_VERSION: Final = 1
"""Raised with every change that finds other dates in the same text."""


class DocumentDates:
    """The dates of one document, by line."""

    def __init__(self, text: str, order: DateOrder | None = None) -> None:
        code = fenced(text)
        ends = [end.start() for end in re.finditer("\n", text)]
        # an expression belongs to the line that it ends on, which has its year
        found = sorted(
            (bisect_left(ends, one.end) + 1, one.day.isoformat())
            for one in find_dates(text, order)
            if not is_within(one.start, code)
        )
        self._lines = [line for line, _ in found]
        self._days = [day for _, day in found]

    def between(self, start_line: int, end_line: int) -> tuple[str, ...]:
        """Return the latest MAX_DATES of some lines, 1-based and inclusive: ISO, sorted, each once."""
        first, last = bisect_left(self._lines, start_line), bisect_right(self._lines, end_line)
        return tuple(sorted(set(self._days[first:last]))[-MAX_DATES:])


def dated(chunks: Sequence[Chunk], text: str, order: DateOrder | None = None) -> list[Chunk]:
    """Return a document's chunks with the dates in their lines."""
    dates = DocumentDates(text, order)
    return [_with_dates(it, dates.between(it.start_line, it.end_line)) for it in chunks]


def _with_dates(chunk: Chunk, days: tuple[str, ...]) -> Chunk:
    if not days:
        return chunk
    size = _bytes(chunk)
    whole = chunk._replace(dates=days)
    while size <= MAX_METADATA_BYTES < _bytes(whole):
        whole = whole._replace(dates=whole.dates[1:])
    return whole


def _bytes(chunk: Chunk) -> int:
    return metadata_bytes(to_metadata(chunk))
