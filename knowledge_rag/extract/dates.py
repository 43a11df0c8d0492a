"""Dates in text, and nothing that merely looks like one.

A date here is a day of a year: ``2026-03-05``, ``03/05/2026``, ``March 5, 2026``, ``5th of March
2026``, both ends of ``28 Feb - 2 Mar 2026``, each day of ``March 3, 4 and 5, 2026``. A wrong date
moves a source for a reason that does not exist, a missed one leaves it where it was: so what can be
read in two ways, does not exist in the calendar, or is part of a path, an id or a version is no date.

The patterns name day, month and year, so no parser has to guess afterwards; English month names only.
"""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.extract import dates_grammar as grammar

if TYPE_CHECKING:
    from collections.abc import Iterator

MIN_YEAR: Final = 1990
"""Earlier years are zeros of some clock (1970-01-01, 1980-01-01) or history."""
MAX_YEAR: Final = 2099
"""Later ones mean "never" (9999-12-31)."""

_DIGITS: Final = re.compile(r"\d{1,2}")
_RANGE: Final = re.compile(grammar.TO, re.IGNORECASE)
_LOOK_BACK: Final = 200
"""Characters before a date that are looked at for what it may be part of."""


class DateOrder(StrEnum):
    """What comes first in ``03/05/2026``."""

    MDY = "mdy"
    DMY = "dmy"


class FoundDate(NamedTuple):
    """One date in a text.

    Args:
        day: the date.
        start: offset of the expression that it is from.
        end: offset behind it; the two ends of a range have the same expression.
    """

    day: date
    start: int
    end: int


def find_dates(text: str, order: DateOrder | None = None) -> list[FoundDate]:
    """Find the dates of a text, in their order.

    Args:
        text: of any length; time grows with it and with nothing else.
        order: of day and month between slashes. Without it, ``03/05/2026`` is no date. Whatever it
            is, ``25/12/2026`` and ``03/03/2026`` can be read in one way only and are dates.

    Returns:
        Dates from MIN_YEAR to MAX_YEAR that the calendar has.
    """
    if not grammar.YEARS.search(text):
        return []
    found = sorted(_all(text, order), key=lambda one: (one.start, -one.end))
    kept: list[FoundDate] = []
    for one in found:
        inside = kept and one.start < kept[-1].end and one[1:] != kept[-1][1:]
        if not inside:
            kept.append(one)
    return kept


def _all(text: str, order: DateOrder | None) -> Iterator[FoundDate]:
    if grammar.MONTH_NAMED.search(text):
        yield from _with_names(text)
    for pattern in (grammar.ISO, grammar.COMPACT, grammar.YEAR_SLASHES):
        for match in pattern.finditer(text):
            if not _is_part(text, match.start()):
                yield from _one(match, *(int(match[it]) for it in ("year", "month", "day")))
    for match in grammar.SLASHES.finditer(text):
        if not _is_part(text, match.start()):
            for day in _slashed(match, order):
                yield FoundDate(day, *match.span())


def _with_names(text: str) -> Iterator[FoundDate]:
    for pattern in (grammar.MONTH_FIRST, grammar.DAY_FIRST):
        for match in pattern.finditer(text):
            for day in _written(match, text):
                yield FoundDate(day, *match.span())
    for match in grammar.DAY_HYPHENS.finditer(text):
        month = grammar.MONTHS[match["month"][:3].lower()]
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
    """Give the only reading, or else the one that the order names."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    by_order = {DateOrder.MDY: _day(year, first, second), DateOrder.DMY: _day(year, second, first)}
    readings = {day for day in by_order.values() if day}
    if len(readings) > 1:
        chosen = by_order.get(order) if order else None
        readings = {chosen} if chosen else set()
    return list(readings)


def _is_part(text: str, start: int) -> bool:
    """Whether what begins here belongs to an address, an ARN or the name of a version."""
    before = text[max(0, start - _LOOK_BACK) : start]
    token = before.rpartition(" ")[2].rpartition("\n")[2].lower()
    if "://" in token or "arn:" in token:
        return True
    return bool(grammar.VERSION_BEFORE.search(before[-24:]))


def _written(match: re.Match[str], text: str) -> Iterator[date]:
    sides = list(grammar.SIDE.finditer(match["sides"]))
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
    return grammar.MONTHS[(side["after"] or side["month"])[:3].lower()]


def _is_counted(text: str, start: int, side: re.Match[str]) -> bool:
    if side["before"] is None:
        return False
    return bool(grammar.COUNTED_BEFORE.search(text[max(0, start - 20) : start]))


def _days(written: str, *, last_only: bool) -> list[int]:
    """Give the days of a list, of a range its two ends; "12 - 5 March" is no range but the 5th."""
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
