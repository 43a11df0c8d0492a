"""How dates are written: the patterns that gate what is read as one.

Each pattern finds a whole expression, of one day or of several (``March 3-5, 2026``), and is bounded
everywhere, so that no text makes it slow. What a date can't stand next to (a letter, a slash, a dot,
a hyphen) is part of the pattern: that is what tells one from a path, an id or a version.
"""

from __future__ import annotations

import re
from typing import Final

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
"""From the first three letters of a month's English name to its number."""

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
"""One month with its days, within what the patterns above found."""

ISO: Final = re.compile(
    r"(?:(?<![\w./#@\\-])|(?<=\.\.)|(?<=\d--)|(?<=-\d\d/))"
    r"(?:(?<!\w:)|(?=.{10}[T ]\d\d:\d\d))"
    r"(?P<year>(?:19|20)\d\d)(?P<mark>-)(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:(?=[Tt]\d\d)|(?=--\d)|(?=/(?:19|20)\d\d-\d\d-\d\d(?![\w/]))|(?![\w\\/-]|\.\w|:\w))"
)
"""``2026-03-05``, with a time or without; both ends of ``2026-03-03/2026-03-05``."""

YEAR_SLASHES: Final = re.compile(
    r"(?<![\w./#@\\:-])(?P<year>(?:19|20)\d\d)/(?P<month>\d\d?)/(?P<day>\d\d?)(?![\w\\/-]|\.\w)"
)
"""``2026/03/05``: nobody writes the day before the month behind a year."""

COMPACT: Final = re.compile(
    r"(?<!\w)(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)T\d{6}Z?(?![\w-]|\.\w)"
)
"""``20260305T101530Z``: eight digits are a date only where a time follows."""

SLASHES: Final = re.compile(
    r"(?:(?<![\w./#@\\:-])|(?<=/\d{4}-)|(?<=\d--))"
    r"(?P<first>\d\d?)/(?P<second>\d\d?)/(?P<year>(?:19|20)\d\d)(?![\w\\/]|[.]\w)"
)
"""``03/05/2026``: whether March or May, the setting says."""

VERSION_BEFORE: Final = re.compile(
    r"version[\"'`]{0,2}\s{0,2}[:=]?\s{0,2}[\"'`(]{0,2}\Z", re.IGNORECASE
)
"""``"Version": "2012-10-17"``, ``api-version=2021-04-01``: the name of a version, not a day."""

COUNTED_BEFORE: Final = re.compile(
    rf"(?:\b(?:room|flight|section|chapter|step|page|line|gate|level|version|grade|class|unit|part|"
    rf"bus|route|building|floor|item|number|no\.|table|figure|appendix|{MONTH}){_GAP}|#)\Z",
    re.IGNORECASE,
)
"""What a number before " - 5 March 2026" may belong to in place of the date."""

YEARS: Final = re.compile(r"(?:19|20)\d\d")
"""Without four digits of a year there is no date: the first look at a text."""

MONTH_NAMED: Final = re.compile(rf"(?<![^\W_])(?:{'|'.join(_NAMES)})(?![^\W_])", re.IGNORECASE)
"""Without a month's name the costlier patterns need not be tried."""
