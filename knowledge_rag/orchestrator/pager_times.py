"""Reads when an alert began from its pager's payload."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.links import fold
from knowledge_rag.orchestrator.pager_formats import first, walk
from knowledge_rag.orchestrator.pager_texts import MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

_STARTED: Final = (
    "startsat", "startedat", "datestarted", "triggeredat", "statechangetime", "fireddatetime", "createdat",
    "datecreated",
)  # fmt: skip
"""Folded names of the time when an alert began, likeliest first."""
_SAID: Final = ("occurredat", "datetime", "timestamp", "time", "date", "lastupdated")
"""Folded names of the time when a payload was sent, used if there is no other."""

_FIRST_YEAR: Final = 2000
"""Earlier times are zeros of some calendar."""
_DIGITS: Final = 13
_MILLISECONDS: Final = 100_000_000_000
"""Numbers from here on are milliseconds since 1970, smaller ones seconds."""


def started(payload: object) -> str:
    """Return when an alert began: the earliest time under such a name, else the outermost time of the payload.

    Args:
        payload: decoded JSON.

    Returns:
        ISO 8601 in UTC to the second, such as ``2026-03-02T08:14:00+00:00``; ``""`` if the payload has no time
        with a known time zone.
    """
    objects = [
        {fold(first(key)): value for key, value in list(facts.items())[:MAX_ITEMS]}
        for _, facts in walk(payload)
    ]
    for name in _STARTED:
        if moments := [it for one in objects if name in one for it in _moment(one[name])]:
            return _text(min(moments))
    # an outer object is about the payload, an inner one may be about anything
    said = (it for one in objects for name in _SAID if name in one for it in _moment(one[name]))
    return next(map(_text, said), "")


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _moment(value: object) -> Iterator[datetime]:
    if isinstance(value, str) and value.isdecimal() and value.isascii():
        value = int(value[:_DIGITS])
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value.strip())
        elif isinstance(value, int) and not isinstance(value, bool):
            moment = datetime.fromtimestamp(
                value / 1000 if value >= _MILLISECONDS else value, tz=UTC
            )
        else:
            return
        moment = moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError, OSError):
        return
    if moment.tzinfo and moment.year >= _FIRST_YEAR:
        yield moment
