"""Charts of the queries: how many, how they ended, how long they took, what they found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from infra.dashboards.charts import (
    BAD,
    DOUBTFUL,
    GOOD,
    HALF,
    NEUTRAL,
    THIRD,
    bound,
    chart,
    computed,
)
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Metric, Source

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from infra.emitters import Emitters
    from knowledge_rag.core.alarms import Thresholds

WITH_RESULTS: Final = "n - e - FILL(z, 0)"
ERROR_RATE: Final = "IF(n > 0, 100 * e / n, 0)"
ZERO_RESULT_RATE: Final = "IF(n - e > 0, 100 * FILL(z, 0) / (n - e), 0)"
"""Over ``n`` queries, ``e`` unanswered and ``z`` answered with nothing; no guard for few samples, as
a chart shows what was, and an alarm what matters."""


def counts(emitters: Emitters) -> dict[str, cloudwatch.Metric]:
    """Give the three counts that the expressions above are over."""
    lines = {
        "n": (telemetry.RETRIEVAL_COUNT, "queries", NEUTRAL),
        "e": (telemetry.RETRIEVAL_ERRORS, "unanswered (degraded)", BAD),
        "z": (telemetry.RETRIEVAL_ZERO_RESULTS, "found nothing", DOUBTFUL),
    }
    return {
        id_: emitters.metric(Metric(name), label=label, color=color)
        for id_, (name, label, color) in lines.items()
    }


def traffic(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show how many queries there were and how they ended."""
    metrics = counts(emitters)
    return chart(
        "Queries by how they ended, in five minutes",
        [
            computed(WITH_RESULTS, metrics, label="found something", color=GOOD),
            metrics["z"],
            metrics["e"],
        ],
        unit="queries",
        width=HALF,
        stacked=True,
    )


def rates(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show the shares that the alarms are about, with their bounds."""
    metrics = counts(emitters)
    return chart(
        "Unanswered and empty, as shares",
        [
            computed(ERROR_RATE, metrics, label="unanswered, of all", color=BAD),
            computed(ZERO_RESULT_RATE, metrics, label="found nothing, of answered", color=DOUBTFUL),
        ],
        unit="%",
        width=HALF,
        most=100,
        lines=[
            bound(thresholds.error_rate_percent, "alarm: unanswered"),
            bound(thresholds.zero_result_warning_percent, "warning: found nothing", DOUBTFUL),
            bound(thresholds.zero_result_alarm_percent, "alarm: found nothing", DOUBTFUL),
        ],
    )


def latency(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show how long answered queries took; given-up ones are not in it, so they can't flatter it."""
    return chart(
        "Latency of answered queries",
        _percentiles(emitters, telemetry.RETRIEVAL_LATENCY, Source.RETRIEVAL),
        unit="ms",
        width=HALF,
        lines=[bound(thresholds.latency_p95_ms, "budget of a query")],
    )


def duration(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show how long the function ran, whatever came of it; this is what the alarm looks at."""
    return chart(
        "Run time of the function, every call",
        _percentiles(emitters, "Duration", Source.RETRIEVE_FUNCTION),
        unit="ms",
        width=HALF,
        lines=[bound(thresholds.latency_p95_ms, "alarm: p95")],
    )


def _percentiles(emitters: Emitters, name: str, source: Source) -> list[cloudwatch.Metric]:
    colors = {"p50": GOOD, "p95": DOUBTFUL, "p99": BAD}
    return [
        emitters.metric(Metric(name, statistic, source), label=statistic, color=color)
        for statistic, color in colors.items()
    ]


def results(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show how much an answered query found."""
    name = telemetry.RETRIEVAL_RESULT_COUNT
    return chart(
        "Results of an answered query",
        [
            emitters.metric(Metric(name, "Average"), label="average", color=NEUTRAL),
            emitters.metric(Metric(name, "Minimum"), label="least", color=DOUBTFUL),
        ],
        unit="results",
        width=THIRD,
    )


def withheld(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show what was found and not shown, and why."""
    dropped = telemetry.RETRIEVAL_DROPPED_RESULTS
    guardrail = telemetry.RETRIEVAL_GUARDRAIL_INTERVENED
    return chart(
        "Withheld, in five minutes",
        [
            emitters.metric(Metric(dropped), label="results that can't be proven", color=BAD),
            emitters.metric(Metric(guardrail), label="queries a guardrail stopped", color=DOUBTFUL),
            emitters.metric(
                Metric(telemetry.RETRIEVAL_TIMEOUTS), label="queries given up", color=NEUTRAL
            ),
        ],
        unit="count",
        width=THIRD,
    )


def function(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show what Lambda says of the function: what it emits itself ends with it."""
    source = Source.RETRIEVE_FUNCTION
    starts = Metric(telemetry.RETRIEVAL_INIT_FAILURES, "Sum", Source.RETRIEVE_LOG)
    return chart(
        "The retrieval function, in five minutes",
        [
            emitters.metric(Metric("Invocations", "Sum", source), label="calls", color=GOOD),
            emitters.metric(
                Metric("ConcurrentExecutions", "Maximum", source),
                label="at the same time",
                color=NEUTRAL,
            ),
            emitters.metric(
                Metric("Throttles", "Sum", source), label="turned away", color=DOUBTFUL
            ),
            emitters.metric(Metric("Errors", "Sum", source), label="crashed", color=BAD),
            emitters.metric(starts, label="could not start", color="#9467bd"),
        ],
        unit="calls",
        width=THIRD,
    )
