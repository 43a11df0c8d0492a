"""Logs and metrics of every function: JSON lines on standard output, which Lambda collects.

The deployment's name is the ``service`` of each log line and the dimension of each metric, which separates
two deployments in one account. It comes from ``POWERTOOLS_SERVICE_NAME``.

Powertools reads its own switches from the environment during import and raises an error for an unknown
value. The function would then not start at all, so such values are removed first.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO

from knowledge_rag.core import telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

_TRUTHS: Final = frozenset(
    ["1", "y", "yes", "t", "true", "on", "0", "n", "no", "f", "false", "off"]
)
_SWITCHES: Final = ("POWERTOOLS_DEV", "POWERTOOLS_DEBUG", "POWERTOOLS_LOG_DEDUPLICATION_DISABLED")
_RATE: Final = "POWERTOOLS_LOGGER_SAMPLE_RATE"
_LEVELS: Final = frozenset({"DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL"})
"""Python's own levels; other packages in a process may have added theirs."""


def ignore_nonsense(environ: MutableMapping[str, str]) -> list[str]:
    """Remove the variables that would make Powertools raise an error; return a sentence for each."""
    wrong = [name for name in _SWITCHES if environ.get(name, "0").lower() not in _TRUTHS]
    try:
        float(environ.get(_RATE) or "0")
    except ValueError:
        wrong.append(_RATE)
    return [f"{name}={environ.pop(name)[:40]!r} is invalid and ignored" for name in wrong]


IGNORED: Final = tuple(ignore_nonsense(os.environ))
"""A sentence for each variable that was removed when this process started."""

from aws_lambda_powertools import Logger  # noqa: E402 - see above
from aws_lambda_powertools.metrics import MetricUnit  # noqa: E402 - see above
from aws_lambda_powertools.metrics.functions import is_metrics_disabled  # noqa: E402 - see above

__all__ = ["MetricRecord", "MetricUnit", "begin", "logger", "metric_record"]


class LogLevel(NamedTuple):
    """A level of :mod:`logging`, ``None`` for the default, and the error in the environment, if any."""

    name: str | None
    problem: str = ""


def log_level(environ: Mapping[str, str]) -> LogLevel:
    """Choose the level as Powertools would: ``POWERTOOLS_LOG_LEVEL``, then ``LOG_LEVEL``.

    Powertools itself raises an error for an unknown level. Many programs read ``LOG_LEVEL``, and
    some have levels of their own.
    """
    for variable in ("POWERTOOLS_LOG_LEVEL", "LOG_LEVEL"):
        text = environ.get(variable, "")
        if not text:
            continue
        if text.strip().upper() in _LEVELS:
            return LogLevel(text.strip().upper())
        return LogLevel("INFO", f"{variable}={text[:40]!r} is not a log level; INFO is used")
    # Powertools treats an empty LOG_LEVEL as a level, and raises
    return LogLevel("INFO" if "LOG_LEVEL" in environ else None)


class StandardOutput(logging.StreamHandler[TextIO]):
    """Writes to the current ``sys.stdout``, so that callers can redirect it."""

    @property
    def stream(self) -> TextIO:
        """The current standard output."""
        return sys.stdout

    @stream.setter
    def stream(self, _: TextIO) -> None: ...


def ascii_json(record: Mapping[str, Any]) -> str:
    """Return one log record as JSON in ASCII; values that JSON lacks become text.

    A record stays one line for every reader (many treat U+2028 as a line's end), and an id from a
    caller can't control a terminal.
    """
    return json.dumps(record, default=str, separators=(",", ":"))


def _service() -> str:
    return os.environ.get("POWERTOOLS_SERVICE_NAME", "").strip() or telemetry.SERVICE


_LEVEL: Final = log_level(os.environ)

logger: Final = Logger(
    service=_service(),
    level=_LEVEL.name,
    logger_handler=StandardOutput(),
    json_serializer=ascii_json,
    log_uncaught_exceptions=False,
)


@lru_cache(maxsize=1)
def begin() -> None:
    """Log the errors in the log's own settings, once, at the first call."""
    if _LEVEL.problem:
        logger.warning("log level is wrong", problems=_LEVEL.problem)
    if IGNORED:
        logger.warning("log settings are wrong", problems="; ".join(IGNORED))


class MetricRecord:
    """The metrics and properties of one event, as one line in CloudWatch's embedded metric format.

    It writes the same as Powertools' ``EphemeralMetrics`` (a test compares the two) in a third of the
    time: the latter checks each metric anew, which took a twentieth of a whole call of the function.
    ``service`` is the value of the metrics' only dimension.
    """

    def __init__(self, namespace: str, service: str) -> None:
        self._namespace = namespace
        self._service = service
        self._units: list[dict[str, str]] = []
        self._values: dict[str, object] = {}

    def add_metric(self, name: str, unit: MetricUnit, value: float) -> None:
        """Add a metric, whose name must be new."""
        self._units.append({"Name": name, "Unit": unit.value})
        self._values[name] = [float(value)]

    def add_metadata(self, key: str, value: object) -> None:
        """Add a property, which can be searched for but isn't a metric."""
        self._values[key] = value

    def to_dict(self) -> dict[str, object]:
        """Return the record, with the current time."""
        directive = {
            "Namespace": self._namespace,
            "Dimensions": [["service"]],
            "Metrics": self._units,
        }
        embedded = {"Timestamp": int(time.time() * 1000), "CloudWatchMetrics": [directive]}
        return {"_aws": embedded, "service": self._service, **self._values}

    def write(self) -> None:
        """Write the record to standard output, unless ``POWERTOOLS_METRICS_DISABLED`` is true.

        It is written in one call, so that records of two threads don't mix. Errors of the output are
        ignored, so that they don't prevent an answer.
        """
        if _is_wanted():
            line = json.dumps(self.to_dict(), separators=(",", ":"), default=str) + "\n"
            with suppress(OSError, ValueError):
                sys.stdout.write(line)


def _is_wanted() -> bool:
    try:
        return not is_metrics_disabled()
    except ValueError:  # neither true nor false, so metrics aren't disabled
        return True


def metric_record() -> MetricRecord:
    """Start one metric record of this deployment."""
    return MetricRecord(telemetry.NAMESPACE, _service())
