"""Numbers with their units, and dates, in one form.

``60s``, ``60 seconds`` and ``1 min`` are the same. Times, sizes in bytes and percentages are
converted; after any other number (``3 replicas``) comes a word, not a unit. ``2024-03-05``,
``5 March 2024`` and ``Mar 5, 2024`` are the same day; dates of digits and slashes are left alone,
since the month is ambiguous.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNITS: Final[dict[str, tuple[str, Fraction]]] = {}


def _define(dimension: str, factor: int | Fraction, *names: str) -> None:
    _UNITS.update(dict.fromkeys(names, (dimension, Fraction(factor))))


_define("s", Fraction(1, 10**9), "ns", "nanosecond", "nanoseconds")
_define("s", Fraction(1, 10**6), "us", "microsecond", "microseconds")
_define("s", Fraction(1, 1000), "ms", "msec", "msecs", "millis", "millisecond", "milliseconds")
_define("s", 1, "s", "sec", "secs", "second", "seconds")
_define("s", 60, "m", "min", "mins", "minute", "minutes")
_define("s", 3600, "h", "hr", "hrs", "hour", "hours")
_define("s", 86_400, "d", "day", "days")
_define("s", 604_800, "w", "wk", "week", "weeks")
_define("month", 1, "month", "months")
_define("month", 12, "year", "years", "yr", "yrs")
_define("%", 1, "%", "percent", "pct")
for _power, _letter in enumerate("KMGTP", start=1):
    _define("B", 1000**_power, _letter + "B")
    _define("B", 1024**_power, _letter + "i", _letter + "iB")
_define("B", 1000, "kB")
_define("B", 1, "byte", "bytes")

_NUMBER: Final = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])|\d+(?:\.\d+)?"
_UNIT: Final = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_QUANTITY: Final = re.compile(
    rf"[-+~]?(?P<low>{_NUMBER})(?P<unit>\s?-?(?:{_UNIT})(?![\w%]))?"
    rf"(?:\s?-\s?(?P<high>{_NUMBER})(?P<both>\s?-?(?:{_UNIT})(?![\w%]))?)?"
    r"(?:-(?=[A-Za-z]+(?![\w.-]))|(?![\w%]|[.:/@+-]\w))"
)
_COMPOUND: Final = re.compile(r"(?:\d{1,9}(?:ms|[wdhms])){2,6}(?!\w)")
_PART: Final = re.compile(r"(\d+)([a-z]+)")
_WORDS_FROM_TWO: Final = "two three four five six seven eight nine ten eleven twelve"
_WORDS: Final = {
    **{word: Fraction(n) for n, word in enumerate(_WORDS_FROM_TWO.split(), start=2)},
    "fifteen": Fraction(15),
    "twenty": Fraction(20),
    "thirty": Fraction(30),
}
NUMBER_WORDS: Final = frozenset({*_WORDS, *map(str.capitalize, _WORDS)})
"""``one`` and ``a hundred`` are left out: they are seldom meant as numbers."""
_UNIT_BEHIND: Final = re.compile(rf"[ -]({_UNIT})(?![\w%])")
_MORE: Final = (
    ">", ">=", " above", " over", " exceed", " exceeds", " exceeding", " exceeded", " more than",
    " greater than", " higher than", " longer than", " larger than", " at least",
)  # fmt: skip
_LESS: Final = (
    "<", "<=", " below", " under", " less than", " fewer than", " lower than", " shorter than",
    " smaller than", " at most", " up to",
)  # fmt: skip
_LOOK_BACK: Final = 16


class Quantity(NamedTuple):
    """A number with its unit.

    Args:
        value: in the dimension's base unit: seconds, bytes, months, percent; as written without one.
        dimension: ``s``, ``B``, ``month``, ``%``, or ``""`` for a bare number.
        written: the number as written; for a compound, which has none, its value.
    """

    value: Fraction
    dimension: str
    written: Fraction

    @property
    def key(self) -> tuple[Fraction, str]:
        """A key that is the same for equal quantities, however they are written."""
        return self.value, self.dimension


class Measured(NamedTuple):
    """Quantities of a text.

    Args:
        end: offset after them.
        quantities: one, or the two ends of a range.
        direction: ``>`` or ``<`` for a stated comparison, otherwise ``""``.
    """

    end: int
    quantities: tuple[Quantity, ...]
    direction: str


def quantity_at(text: str, start: int) -> Measured | None:
    """Read a quantity that begins at an offset; ``None`` if there is none.

    A range has both its ends, in the unit after the second one if only that has one.
    """
    if found := _COMPOUND.match(text, start):
        parts = _PART.findall(found[0])
        total = sum((int(number) * _UNITS[unit][1] for number, unit in parts), Fraction())
        return Measured(found.end(), (Quantity(total, "s", total),), _direction(text, start))
    found = _QUANTITY.match(text, start)
    if found is None or max(len(found["low"]), len(found["high"] or "")) > 40:
        return None
    unit = found["unit"] or found["both"]
    quantities = [_quantity(found["low"], unit)]
    if found["high"]:
        quantities.append(_quantity(found["high"], found["both"] or found["unit"]))
    return Measured(found.end(), tuple(quantities), _direction(text, start))


def quantity_of_word(text: str, start: int, end: int) -> Measured:
    """Read a number written as one of :data:`NUMBER_WORDS`, with the unit after it."""
    unit = _UNIT_BEHIND.match(text, end)
    value = _WORDS[text[start:end].casefold()]
    dimension, factor = _UNITS[unit[1]] if unit else ("", Fraction(1))
    quantity = Quantity(value * factor, dimension, value)
    return Measured(unit.end() if unit else end, (quantity,), _direction(text, start))


@lru_cache(maxsize=4096)
def _quantity(number: str, unit: str | None) -> Quantity:
    value = Fraction(number.replace(",", ""))
    dimension, factor = _UNITS[unit.lstrip().lstrip("-")] if unit else ("", Fraction(1))
    return Quantity(value * factor, dimension, value)


def _direction(text: str, start: int) -> str:
    before = " " + text[max(start - _LOOK_BACK, 0) : start].rstrip().lower()
    if before.endswith(_MORE):
        return ">"
    return "<" if before.endswith(_LESS) else ""


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
    """A day, a month of a year, or a day of any year; parts that aren't given are 0."""

    year: int
    month: int
    day: int

    def less_exact(self) -> Iterator[Date]:
        """Return this date and its less exact forms: its month, its day of any year."""
        for year, month, day in product(*({part, 0} for part in self)):
            if month and (year or day):
                yield Date(year, month, day)


def iso_date_at(text: str, start: int) -> tuple[int, Date] | None:
    """Read an ISO date that begins at an offset; return the offset after it and the date."""
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
