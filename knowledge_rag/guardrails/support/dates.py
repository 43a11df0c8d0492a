"""Dates in one form: ``2024-03-05``, ``5 March 2024`` and ``Mar 5, 2024`` are the same day.

Dates of digits and slashes are left alone: which number is the month can't be told.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES: Final = (
    "January February March April May June July August September October November December"
)
_MONTHS: Final = {
    name: number
    for number, month in enumerate(_NAMES.split(), start=1)
    for name in (month, month[:3])
} | {"Sept": 9}
MONTH_NAMES: Final = frozenset(_MONTHS) | {f"{name}." for name in _MONTHS}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY: Final = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_WRITTEN: Final = re.compile(
    rf"(?<![^\s(\[\"'`*|])(?:(?P<before>{_DAY})(?:\s+of)?\s+)?(?P<month>{_MONTH})\b\.?"
    rf"(?:\s+(?P<after>{_DAY})(?![\w:]))?(?:,?\s+(?P<year>(?:19|20)\d\d)(?!\w))?"
)
_ISO: Final = re.compile(
    r"(?<![\w./-])(?P<year>(?:19|20)\d\d)-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?!\d)"
)


class Date(NamedTuple):
    """A day, or a month of a year; 0 for what is not said."""

    year: int
    month: int
    day: int

    def less_exact(self) -> Iterator[Date]:
        """Give this date and what says less of it: its month, its day of any year."""
        for year, month, day in product(*({part, 0} for part in self)):
            if month and (year or day):
                yield Date(year, month, day)


def iso_date_at(text: str, start: int) -> tuple[int, Date] | None:
    """Read what begins at an offset as an ISO date; give the offset behind it and the date."""
    if found := _ISO.match(text, start):
        return found.end(), Date(int(found["year"]), int(found["month"]), int(found["day"]))
    return None


def written_dates(text: str) -> list[tuple[int, int, Date]]:
    """Find dates with the month's English name: offsets and date, in order."""
    dates = []
    for found in _WRITTEN.finditer(text):
        day = found["before"] or found["after"]
        if day or found["year"]:
            number = int(re.sub(r"\D", "", day)) if day else 0
            date = Date(int(found["year"] or 0), _MONTHS[found["month"]], number)
            dates.append((found.start(), found.end(), date))
    return dates
