"""Other libraries that find dates, each behind one small function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import date
from typing import Any, Final

from knowledge_rag.extract.dates import DateOrder

Find = Callable[[str, DateOrder | None], set[date]]
"""Returns the dates in a sentence, given the order of day and month if known."""

_STRICT: Final[dict[str, Any]] = {
    "STRICT_PARSING": True,
    "REQUIRE_PARTS": ["day", "month", "year"],
    "PARSERS": ["absolute-time"],
}
"""Complete dates only, none relative to today: dateparser's best settings for this task."""


def _dateparser(settings: dict[str, Any], languages: list[str] | None) -> Find:
    from dateparser.search import search_dates  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        chosen = settings | ({"DATE_ORDER": order.value.upper()} if order else {})
        found = search_dates(text, languages=languages, settings=chosen or None)
        return {moment.date() for _, moment in found or ()}

    return find


def _datefinder() -> Find:
    import datefinder  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        first = "day" if order is DateOrder.DMY else "month"
        return {moment.date() for moment in datefinder.find_dates(text, first=first)}

    return find


def _dateutil() -> Find:
    from dateutil import parser  # noqa: PLC0415

    def find(text: str, order: DateOrder | None) -> set[date]:
        try:
            with warnings.catch_warnings(action="ignore"):  # words mistaken for time zones
                moment = parser.parse(text, fuzzy=True, dayfirst=order is DateOrder.DMY)
        except (ValueError, OverflowError):
            return set()
        return {moment.date()}

    return find


PEERS: Final[dict[str, Callable[[], Find]]] = {
    "dateparser search_dates": lambda: _dateparser({}, None),
    "dateparser search_dates, strict": lambda: _dateparser(_STRICT, ["en"]),
    "datefinder": _datefinder,
    "dateutil parse, fuzzy": _dateutil,
}
"""Name -> a function that creates the finder; it raises ImportError if the library isn't installed."""
