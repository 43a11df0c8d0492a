"""Settings of the source policy: whether it is on, the secondary scope, and the current date."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

PRIMARY_RESULTS: Final = 60
"""Results to request regardless of the caller's number, so that a low-ranked source can be preferred."""

SECONDARY_RESULTS: Final = 10
"""Additional results to request in the secondary scope."""

_LATEST_ZONE: Final = timedelta(hours=-12)
"""The zone where a day ends last: a day is over once it is over everywhere."""


class SourcePolicy(StrEnum):
    """Values of the setting ``SOURCE_POLICY``."""

    OFF = "off"
    WEBSITE_FIRST = "website-first"


def present_day() -> date:
    """Return the date in the zone where the day ends last, so that no date is past too early."""
    return (datetime.now(UTC) + _LATEST_ZONE).date()


class SourcePriority(NamedTuple):
    """The source policy's settings when it is on.

    Up to SECONDARY_RESULTS results that match the secondary scope, a metadata filter in Bedrock's
    language, are considered even if they rank below the first PRIMARY_RESULTS.
    """

    secondary_scope: Mapping[str, object] | None = None
    today: Callable[[], date] = present_day


def read_scope(text: str) -> dict[str, Any]:
    """Read a filter such as ``{"equals": {"key": "service", "value": "north-school"}}``.

    Its form is checked, so that a typing error shows when the settings are read and not when the
    service refuses a query.

    Raises:
        ValueError: it isn't such a filter; the message says why.
    """
    # imported where it is used: a function without a scope starts without it
    from knowledge_rag.core.filters import parse_filter  # noqa: PLC0415

    try:
        scope = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("must be a metadata filter in JSON") from None
    parse_filter(scope)
    checked: dict[str, Any] = scope
    return checked
