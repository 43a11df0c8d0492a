"""The one door to Powertools: what it would raise at when it is imported is taken away first.

Powertools reads switches of its own from the environment while it is imported and raises at a value
that it does not know, before anybody can be told: the function would then not start at all, and every
query would fail for a variable that only says how much is logged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_TRUTHS: Final = frozenset(
    ["1", "y", "yes", "t", "true", "on", "0", "n", "no", "f", "false", "off"]
)
_SWITCHES: Final = ("POWERTOOLS_DEV", "POWERTOOLS_DEBUG", "POWERTOOLS_LOG_DEDUPLICATION_DISABLED")
_RATE: Final = "POWERTOOLS_LOGGER_SAMPLE_RATE"


def ignore_nonsense(environ: MutableMapping[str, str]) -> list[str]:
    """Take away what Powertools would raise at.

    Args:
        environ: of the process; changed.

    Returns:
        A sentence for each variable that is ignored.
    """
    wrong = [name for name in _SWITCHES if environ.get(name, "0").lower() not in _TRUTHS]
    if not _is_number(environ.get(_RATE) or "0"):
        wrong.append(_RATE)
    return [f"{name}={environ.pop(name)[:40]!r} means nothing and is ignored" for name in wrong]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


IGNORED: Final = tuple(ignore_nonsense(os.environ))
"""What was taken away when this process started."""

from aws_lambda_powertools import Logger  # noqa: E402 - see above
from aws_lambda_powertools.metrics import MetricUnit  # noqa: E402 - see above
from aws_lambda_powertools.metrics.functions import is_metrics_disabled  # noqa: E402 - see above

__all__ = ["IGNORED", "Logger", "MetricUnit", "ignore_nonsense", "is_metrics_disabled"]
