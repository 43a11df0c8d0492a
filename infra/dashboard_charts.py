"""The dashboard's charts over time: queries, ingestion, and the vector store's capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import FIVE_MINUTES, Metric, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from infra.alarms import Emitters
    from infra.settings import StoreSettings
    from knowledge_rag.core.alarms import Thresholds

GOOD: Final = "#2ca02c"
DOUBTFUL: Final = "#ff7f0e"
BAD: Final = "#d62728"
NEUTRAL: Final = "#1f77b4"
_CRASH: Final = "#9467bd"

THIRD: Final = 8
HALF: Final = 12
"""Widths; a dashboard has 24 columns."""
HEIGHT: Final = 6

WITH_RESULTS: Final = "n - e - FILL(z, 0)"
ERROR_RATE: Final = "IF(n > 0, 100 * e / n, 0)"
ZERO_RESULT_RATE: Final = "IF(n - e > 0, 100 * FILL(z, 0) / (n - e), 0)"
"""Over ``n`` queries, ``e`` unanswered and ``z`` answered with nothing. Unlike the alarms they have no
guard for few samples: a chart shows everything."""

STORE_NAMESPACE: Final = "AWS/AOSS"
"""OpenSearch Serverless reports capacity by account (dimension ``ClientId``) and searches by collection,
see "Monitoring OpenSearch Serverless with Amazon CloudWatch" in its developer guide."""
USD_AN_OCU_HOUR: Final = 0.24
"""List price in us-east-1, 2026."""
HOURS_A_MONTH: Final = 730
SEARCH_OCU: Final = "60 * FILL(s, 0) / PERIOD(s)"
INDEXING_OCU: Final = "60 * FILL(i, 0) / PERIOD(i)"
"""Capacity is reported each minute and summed, so a longer period has a multiple of it."""
USD_AN_HOUR: Final = f"{USD_AN_OCU_HOUR} * 60 * (FILL(s, 0) + FILL(i, 0)) / PERIOD(s)"
USD_A_MONTH: Final = f"{HOURS_A_MONTH} * {USD_AN_HOUR}"


def chart(  # noqa: PLR0913 - a chart's own parts
    title: str,
    metrics: Sequence[cloudwatch.IMetric],
    *,
    unit: str,
    width: int,
    lines: Sequence[cloudwatch.HorizontalAnnotation] = (),
    stacked: bool = False,
    most: float | None = None,
) -> cloudwatch.GraphWidget:
    """Return a chart over time whose axis begins at 0.

    Args:
        title: of the chart.
        metrics: one a line of the chart.
        unit: of the axis.
        width: columns.
        lines: bounds that are drawn across it.
        stacked: whether its lines add up.
        most: end of the axis, where it is known.
    """
    return cloudwatch.GraphWidget(
        title=title,
        left=list(metrics),
        left_annotations=list(lines),
        left_y_axis=cloudwatch.YAxisProps(label=unit, min=0, max=most, show_units=False),
        stacked=stacked,
        width=width,
        height=HEIGHT,
    )


def bound(value: float, label: str, color: str = BAD) -> cloudwatch.HorizontalAnnotation:
    """Return a line across a chart."""
    return cloudwatch.HorizontalAnnotation(value=value, label=label, color=color)


def computed(
    expression: str,
    metrics: Mapping[str, cloudwatch.IMetric],
    label: str,
    color: str | None = None,
) -> cloudwatch.MathExpression:
    """Return a line that is computed from metrics, which are named by their ids."""
    return cloudwatch.MathExpression(
        expression=expression,
        using_metrics=dict(metrics),
        label=label,
        color=color,
        period=Duration.seconds(FIVE_MINUTES),
    )


def _lines(
    emitters: Emitters, metrics: Iterable[tuple[Metric, str, str]]
) -> list[cloudwatch.Metric]:
    return [emitters.metric(metric, label=label, color=color) for metric, label, color in metrics]


def counts(emitters: Emitters) -> dict[str, cloudwatch.Metric]:
    """Return the three counts that the expressions above are over."""
    lines = (
        (Metric(telemetry.RETRIEVAL_COUNT), "queries", NEUTRAL),
        (Metric(telemetry.RETRIEVAL_ERRORS), "unanswered (degraded)", BAD),
        (Metric(telemetry.RETRIEVAL_ZERO_RESULTS), "found nothing", DOUBTFUL),
    )
    return dict(zip("nez", _lines(emitters, lines), strict=True))


def traffic(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show how many queries there were and how they ended."""
    metrics = counts(emitters)
    found = computed(WITH_RESULTS, metrics, "found something", GOOD)
    return chart(
        "Queries by how they ended, in five minutes",
        [found, metrics["z"], metrics["e"]],
        unit="queries",
        width=HALF,
        stacked=True,
    )


def rates(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show the rates that alarms watch, with their thresholds."""
    metrics = counts(emitters)
    return chart(
        "Unanswered and empty, as shares",
        [
            computed(ERROR_RATE, metrics, "unanswered, of all", BAD),
            computed(ZERO_RESULT_RATE, metrics, "found nothing, of answered", DOUBTFUL),
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
    """Show how long answered queries took; those that timed out are not in it."""
    return chart(
        "Latency of answered queries",
        _percentiles(emitters, telemetry.RETRIEVAL_LATENCY, Source.RETRIEVAL),
        unit="ms",
        width=HALF,
        lines=[bound(thresholds.latency_p95_ms, "budget of a query")],
    )


def duration(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show the run time of every call, which the alarm watches."""
    return chart(
        "Run time of the function, every call",
        _percentiles(emitters, "Duration", Source.RETRIEVE_FUNCTION),
        unit="ms",
        width=HALF,
        lines=[bound(thresholds.latency_p95_ms, "alarm: p95")],
    )


def _percentiles(emitters: Emitters, name: str, source: Source) -> list[cloudwatch.Metric]:
    colors = {"p50": GOOD, "p95": DOUBTFUL, "p99": BAD}
    return _lines(
        emitters,
        ((Metric(name, statistic, source), statistic, colors[statistic]) for statistic in colors),
    )


def results(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show how much an answered query found."""
    name = telemetry.RETRIEVAL_RESULT_COUNT
    lines = (
        (Metric(name, "Average"), "average", NEUTRAL),
        (Metric(name, "Minimum"), "least", DOUBTFUL),
    )
    return chart(
        "Results of an answered query", _lines(emitters, lines), unit="results", width=THIRD
    )


def withheld(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show what was found and not shown, and why."""
    lines = (
        (Metric(telemetry.RETRIEVAL_DROPPED_RESULTS), "results that can't be proven", BAD),
        (
            Metric(telemetry.RETRIEVAL_GUARDRAIL_INTERVENED),
            "queries a guardrail stopped",
            DOUBTFUL,
        ),
        (Metric(telemetry.RETRIEVAL_TIMEOUTS), "queries given up", NEUTRAL),
    )
    return chart("Withheld, in five minutes", _lines(emitters, lines), unit="count", width=THIRD)


def function(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show what Lambda reports of the function."""
    source = Source.RETRIEVE_FUNCTION
    starts = Metric(telemetry.RETRIEVAL_INIT_FAILURES, "Sum", Source.RETRIEVE_LOG)
    lines = (
        (Metric("Invocations", "Sum", source), "calls", GOOD),
        (Metric("ConcurrentExecutions", "Maximum", source), "at the same time", NEUTRAL),
        (Metric("Throttles", "Sum", source), "turned away", DOUBTFUL),
        (Metric("Errors", "Sum", source), "crashed", BAD),
        (starts, "could not start", _CRASH),
    )
    return chart(
        "The retrieval function, in five minutes",
        _lines(emitters, lines),
        unit="calls",
        width=THIRD,
    )


def jobs(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show the ingestion jobs and the documents that they indexed."""
    lines = (
        (telemetry.INGESTION_JOBS, "jobs", NEUTRAL),
        (telemetry.INGESTION_FAILED_JOBS, "failed jobs", BAD),
        (telemetry.INGESTION_DOCUMENTS, "documents indexed", GOOD),
        (telemetry.INGESTION_FAILED_DOCUMENTS, "documents that failed", DOUBTFUL),
    )
    counted = (
        (Metric(name, "Sum", Source.INGESTION), label, color) for name, label, color in lines
    )
    return chart("Ingestion jobs", _lines(emitters, counted), unit="count", width=THIRD)


def chunking(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show how many files were cut into chunks, and how many could not be."""
    source = Source.CHUNKING
    lines = (
        (Metric(telemetry.CHUNKED_FILES, "Sum", source), "files", NEUTRAL),
        (Metric(telemetry.CHUNKED_CHUNKS, "Sum", source), "chunks", GOOD),
        (Metric(telemetry.CHUNKING_FAILED_FILES, "Sum", source), "files without chunks", BAD),
        (
            Metric(telemetry.CHUNKING_MISMATCHES, "Sum", source),
            "files the parser changed",
            DOUBTFUL,
        ),
        (Metric("Errors", "Sum", Source.CHUNK_FUNCTION), "crashed calls", _CRASH),
    )
    return chart("Chunking", _lines(emitters, lines), unit="count", width=THIRD)


def _ocu() -> dict[str, cloudwatch.Metric]:
    names = {"s": "SearchOCU", "i": "IndexingOCU"}
    return {
        id_: cloudwatch.Metric(
            namespace=STORE_NAMESPACE,
            metric_name=name,
            dimensions_map={"ClientId": Aws.ACCOUNT_ID},
            statistic="Sum",
            period=Duration.minutes(5),
        )
        for id_, name in names.items()
    }


def capacity(store: StoreSettings) -> cloudwatch.GraphWidget:
    """Show the capacity in use, with this deployment's bounds."""
    search, indexing = _ocu()["s"], _ocu()["i"]
    lines = [bound(store.max_ocu, "max_ocu, each")]
    if store.min_search_ocu:
        lines.append(bound(store.min_search_ocu, "min_search_ocu", NEUTRAL))
    return chart(
        "Vector store capacity, all of this account's collections",
        [
            computed(SEARCH_OCU, {"s": search}, "search", NEUTRAL),
            computed(INDEXING_OCU, {"i": indexing}, "indexing", "#8c564b"),
        ],
        unit="OCU",
        width=THIRD,
        lines=lines,
    )


def cost() -> cloudwatch.GraphWidget:
    """Show the cost of that capacity."""
    price = f"${USD_AN_OCU_HOUR} an OCU-hour, us-east-1, 2026"
    return cloudwatch.GraphWidget(
        title=f"Cost of that capacity ({price})",
        left=[computed(USD_AN_HOUR, _ocu(), "USD an hour", NEUTRAL)],
        left_y_axis=cloudwatch.YAxisProps(label="USD an hour", min=0, show_units=False),
        right=[computed(USD_A_MONTH, _ocu(), "USD a month at that rate", "#c7c7c7")],
        right_y_axis=cloudwatch.YAxisProps(label="USD a month", min=0, show_units=False),
        width=THIRD,
        height=HEIGHT,
    )


def store_searches(collection: str) -> list[cloudwatch.IWidget]:
    """Show the collection's own view of its searches, to tell its faults from Bedrock's."""
    return [
        chart(
            "Searches, as the vector store sees them: latency",
            [_search(collection, "SearchRequestLatency", "Average")],
            unit="ms",
            width=HALF,
        ),
        chart(
            "Searches, as the vector store sees them: errors in five minutes",
            [_search(collection, "SearchRequestErrors", "Sum", BAD)],
            unit="errors",
            width=HALF,
        ),
    ]


def _search(
    collection: str, metric: str, statistic: str, color: str = NEUTRAL
) -> cloudwatch.MathExpression:
    # the collection's id is a dimension too, and known to the data stack only: search by name
    dimensions = f"{STORE_NAMESPACE},ClientId,CollectionId,CollectionName"
    place = f'{{{dimensions}}} CollectionName="{collection}"'
    expression = f"SEARCH('{place} MetricName=\"{metric}\"', '{statistic}', 300)"
    return computed(expression, {}, metric, color)
