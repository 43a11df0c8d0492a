"""Whether a question asks when something is to be: the rule, word by word.

``docs/source-policy.md`` says it for people. Words that a runbook's questions are full of count only
where they ask for a time: "what to do when replication lags" and "the next step" do not. A question
about the past does not either, because no date to come can answer it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import date

_MONTHS: Final = "january|february|april|june|july|august|september|october|november|december"
_UNSURE_MONTHS: Final = r"may|march|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_ORDINAL: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_WEEKDAYS: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_SPANS: Final = (
    rf"day|week|weekend|month|year|quarter|semester|term|spring|summer|autumn|fall|winter|night|"
    rf"morning|evening|{_WEEKDAYS}|{_MONTHS}|may|march"
)
_IS: Final = r"is|are|do|does|will|would|can|could|should|shall|must|might|has|have"

_FORWARD: Final = re.compile(
    rf"""
    \bupcoming\b | \bdeadlines?\b | \bcalendar\b | \btomorrow\b | \btonight\b
    | \bhow\ (?:soon|long\ until)\b
    | (?<!since\ )\b(?:this|coming|following)\ (?:{_SPANS})\b
    | \bnext\ (?!(?:steps?|actions?|commands?|hops?|tokens?|lines?|pages?|questions?|sections?
                   |things?|items?|to|in|is|are|and|or|after|if|when)\b)\w
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Words that look ahead, whatever else a question says."""

_WHEN: Final = re.compile(
    rf"""
    \bwhen(?:['’]s|['’]ll|\s+(?:{_IS})\b(?!\s+not\b))
    | \b(?:know|tell\ (?:me|us)|ask|says?|find\ out|check|remember|see|wonder(?:ing)?)\ when\b
    | \b(?:since|until|till|by|and)\ when\b | \bwhen\s*\?*\s*\Z
    | \b(?:what|which|at\ what)\ (?:time|days?|dates?|months?|weeks?|weekdays?)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_NAMED: Final = re.compile(
    rf"""
    \btoday\b | \b{_WEEKDAYS}\b | \b(?:{_MONTHS})\b
    | \b(?:in|on|by|until|till|before|after|since|from|during|through|of|early|mid|late)
      \ (?:may|march)\b(?!\ (?:be|not|have|fail|on)\b)
    | \b(?:{_UNSURE_MONTHS})\.?\ {_ORDINAL}\b | \b{_ORDINAL}\ (?:of\ )?(?:{_UNSURE_MONTHS})\b
    | \b(?:{_UNSURE_MONTHS})\.?,?\ (?:19|20)\d\d\b
    | (?<!up\ to\ )(?<!up-to-)(?<!out\ of\ )(?<!out-of-)(?<![\w_-])dates?\b
      (?![_-]|\ (?:formats?|fields?|columns?|types?|pars\w+|functions?|strings?|headers?)\b)
    | (?<!to\ )(?<!can't\ )(?<!cannot\ )(?<!not\ )(?<!\ can\ )\bschedules?\b | \bscheduled\ (?:for|on)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

_YEAR: Final = re.compile(
    r"(?<![\w./:#-])(?<!port )(?<!error )(?<!code )(?<!line )(?<!exit )(?<!status )(?<!rfc )"
    r"(?<!event )(?<!errno )(20\d\d)"
    r"(?!\w|[./:%]\w|-\d{3}|\s*(?:ms|seconds|requests|connections|hosts|pods|errors|times|[kmg]i?b)\b)",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<![\w./-])(20\d\d)-(\d\d)-(\d\d)(?!\d)")

_PAST: Final = re.compile(
    rf"\bwhen\s+(?:did|was|were|had)\b|\byesterday\b|\bago\b|\b(?:last|previous|past)\ (?:time|{_SPANS})\b",
    re.IGNORECASE,
)
_MONTH_NUMBERS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_MONTH_BEFORE: Final = re.compile(
    rf"\b({_MONTHS}|{_UNSURE_MONTHS})\.?,?\s(?:\d{{1,2}},?\s)?\Z", re.IGNORECASE
)
MAX_QUESTION_CHARACTERS: Final = 1_000
"""What is looked at: a question; what is longer is a pasted log, full of dates that ask nothing."""


def asks_for_a_date(question: str, today: date) -> bool:
    """Tell whether a question asks for a time that is not yet past.

    Args:
        question: as the user wrote it; the first MAX_QUESTION_CHARACTERS are looked at.
        today: by which a year or a date that it names is past.
    """
    asked = " ".join(question[:MAX_QUESTION_CHARACTERS].split())
    if _FORWARD.search(asked):
        return True
    if _PAST.search(asked) or _names_the_past(asked, today):
        return False
    return any(rule.search(asked) for rule in (_WHEN, _NAMED, _YEAR, _ISO))


def _names_the_past(asked: str, today: date) -> bool:
    """Whether every day, month and year that is named is over."""
    named = [tuple(map(int, found.groups())) for found in _ISO.finditer(asked)]
    rest = _ISO.sub(" ", asked)
    for found in _YEAR.finditer(rest):
        month = _MONTH_BEFORE.search(rest[: found.start()])
        number = _MONTH_NUMBERS.index(month[1][:3].lower()) + 1 if month else 12
        named.append((int(found[1]), number, 31))
    return bool(named) and max(named) < (today.year, today.month, today.day)
