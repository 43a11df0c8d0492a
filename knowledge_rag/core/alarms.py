"""What is worth waking someone for: the alarms as data, for the stack and for ``gameday`` alike.

An alarm is a CloudWatch metric-math expression over named metrics and a bound on its value. Rates
count only from a number of samples on, so that one failed query at night is no 100 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Severity(StrEnum):
    """How loudly an alarm speaks: a warning is read in the morning, an alarm now."""

    WARNING = "warning"
    ALARM = "alarm"


class Source(StrEnum):
    """Who emits a metric, and by which dimension it is found."""

    RETRIEVAL = "retrieval"
    """EMF of ``retrieve_knowledge``: our namespace, dimension ``service``."""
    CHUNKING = "chunking"
    """EMF of ``chunk_documents``: our namespace, dimension ``service``."""
    INGESTION = "ingestion"
    """EMF of the ingestion starter: our namespace, dimension ``service``."""
    RETRIEVE_FUNCTION = "retrieve_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``retrieve_knowledge``."""
    CHUNK_FUNCTION = "chunk_function"
    """AWS/Lambda, dimension ``FunctionName`` of ``chunk_documents``."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of an expression.

    Args:
        name: as CloudWatch knows it.
        statistic: ``Sum``, ``Average``, ``Maximum`` or a percentile such as ``p95``.
        source: who emits it.
    """

    name: str
    statistic: str = "Sum"
    source: Source = Source.RETRIEVAL


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The bounds that a deployment may set; the defaults are those of the requirements.

    Args:
        latency_p95_ms: milliseconds of the function's run time, its 95th percentile.
        error_rate_percent: degraded queries of all queries, 0..100.
        zero_result_warning_percent: successful queries that found nothing, 0..100.
        zero_result_alarm_percent: the same, worth an alarm.
        timeouts: queries given up within five minutes.
        min_samples: queries in a period from which a rate is a rate.
    """

    latency_p95_ms: int = 2000
    error_rate_percent: float = 5
    zero_result_warning_percent: float = 20
    zero_result_alarm_percent: float = 50
    timeouts: int = 3
    min_samples: int = 10


@dataclass(frozen=True, slots=True)
class Alarm:
    """One alarm; it fires when ``value > threshold`` in ``datapoints`` of ``periods`` periods.

    Args:
        key: its name below the deployment's, lower case with hyphens; also that of its runbook.
        severity: how loudly it speaks.
        metrics: id in the expression -> metric; ids are lower case.
        expression: metric math over the ids (``IF``, ``+ - * /``, comparisons); a bare id where one
            metric says it all.
        threshold: the value itself is still fine.
        period_seconds: length of one period, seconds.
        periods: how many of the last periods are looked at.
        datapoints: how many of them must be over the threshold.
        summary: what it means, one sentence.
        action: what to do first, one sentence.
    """

    key: str
    severity: Severity
    metrics: Mapping[str, Metric]
    expression: str
    threshold: float
    period_seconds: int
    periods: int
    datapoints: int
    summary: str
    action: str


FIVE_MINUTES: Final = 300
