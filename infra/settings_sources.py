"""Settings of sources: which come first, where else to look, how their dates are written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from infra.setting_types import choice

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from infra.setting_types import Problems


class SourcePolicy(StrEnum):
    """Which sources come first."""

    OFF = "off"
    WEBSITE_FIRST = "website-first"


class DateOrder(StrEnum):
    """What comes first in a date of digits and slashes."""

    UNSET = ""
    MDY = "mdy"
    DMY = "dmy"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings:
    """Sources of evidence.

    Args:
        policy: which of them come first.
        secondary_scope: metadata filter, JSON, that is searched in addition; ``""`` for none.
        date_order: of day and month in documents.
    """

    policy: SourcePolicy
    secondary_scope: str
    date_order: DateOrder


def date_order(value: object) -> DateOrder:
    """``mdy`` or ``dmy``, or nothing."""
    if not isinstance(value, str) or value.strip().lower() not in tuple(DateOrder):
        raise ValueError("mdy or dmy, or nothing")
    return DateOrder(value.strip().lower())


def metadata_filter(value: object) -> str:
    """A metadata filter: an object with one operator, or its JSON text, or nothing.

    The function checks the rest when it reads its settings.
    """
    expected = "a metadata filter: an object with one operator, or nothing"
    if isinstance(value, str):
        if not value.strip():
            return ""
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(expected) from None
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(expected)
    return json.dumps(value, separators=(",", ":"))


SOURCE_SETTINGS: Final[dict[str, tuple[Callable[[Any], Any], Any, Any]]] = {
    "source_policy": (choice(SourcePolicy), *(SourcePolicy.OFF,) * 2),
    "secondary_scope": (metadata_filter, "", ""),
    "date_order": (date_order, *(DateOrder.UNSET,) * 2),
}
"""As ``settings.SETTINGS``, of which they are a part."""


def source_settings(values: Mapping[str, Any]) -> SourceSettings:
    """Give the settings of sources out of all values."""
    return SourceSettings(
        policy=values["source_policy"],
        secondary_scope=values["secondary_scope"],
        date_order=values["date_order"],
    )


def check_sources(values: Mapping[str, Any], problems: Problems) -> None:
    """Check what no value can be blamed for alone."""
    policy = values["source_policy"]
    if policy is SourcePolicy.OFF and values["secondary_scope"]:
        problems.add(
            "secondary_scope", values["secondary_scope"], "unset unless source_policy=website-first"
        )
    if policy is SourcePolicy.WEBSITE_FIRST and values["search_type"] != "HYBRID":
        problems.add("source_policy", policy, "off unless search_type=HYBRID")
