"""The dashboard's charts over time: queries, ingestion, and the vector store's capacity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import FIVE_MINUTES, Metric, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class Doors:
    """ARNs of what stands in front of the function, and of its guardrail; ``""`` for what there is not."""

    gateway_arn: str = ""
    agent_alias_arn: str = ""
    guardrail_arn: str = ""


class MetricChart(NamedTuple):
    """A chart whose lines are metrics as they are emitted, each with a label and a color."""

    title: str
    unit: str
    width: int
    lines: tuple[tuple[Metric, str, str], ...]


def _sums(source: Source, *lines: tuple[str, str, str]) -> tuple[tuple[Metric, str, str], ...]:
    return tuple((Metric(name, "Sum", source), label, color) for name, label, color in lines)


def _percentiles(title: str, name: str, source: Source) -> MetricChart:
    colors = {"p50": GOOD, "p95": DOUBTFUL, "p99": BAD}
    lines = ((Metric(name, each, source), each, color) for each, color in colors.items())
    return MetricChart(title, "ms", HALF, tuple(lines))


LATENCY: Final = _percentiles(
    "Latency of answered queries", telemetry.RETRIEVAL_LATENCY, Source.RETRIEVAL
)
"""Queries that timed out are not in it."""
DURATION: Final = _percentiles(
    "Run time of the function, every call", "Duration", Source.RETRIEVE_FUNCTION
)
"""Every call, as the alarm watches it."""
RESULTS: Final = MetricChart(
    "Results of an answered query",
    "results",
    THIRD,
    (
        (Metric(telemetry.RETRIEVAL_RESULT_COUNT, "Average"), "average", NEUTRAL),
        (Metric(telemetry.RETRIEVAL_RESULT_COUNT, "Minimum"), "least", DOUBTFUL),
    ),
)
WITHHELD: Final = MetricChart(
    "Withheld, in five minutes",
    "count",
    THIRD,
    _sums(
        Source.RETRIEVAL,
        (telemetry.RETRIEVAL_DROPPED_RESULTS, "results that can't be proven", BAD),
        (telemetry.RETRIEVAL_GUARDRAIL_INTERVENED, "queries a guardrail stopped", DOUBTFUL),
        (telemetry.RETRIEVAL_TIMEOUTS, "queries given up", NEUTRAL),
    ),
)
FUNCTION: Final = MetricChart(
    "The retrieval function, in five minutes",
    "calls",
    THIRD,
    (
        *_sums(Source.RETRIEVE_FUNCTION, ("Invocations", "calls", GOOD)),
        (
            Metric("ConcurrentExecutions", "Maximum", Source.RETRIEVE_FUNCTION),
            "at the same time",
            NEUTRAL,
        ),
        *_sums(
            Source.RETRIEVE_FUNCTION,
            ("Throttles", "turned away", DOUBTFUL),
            ("Errors", "crashed", BAD),
        ),
        *_sums(Source.RETRIEVE_LOG, (telemetry.RETRIEVAL_INIT_FAILURES, "could not start", _CRASH)),
    ),
)
JOBS: Final = MetricChart(
    "Ingestion jobs",
    "count",
    THIRD,
    _sums(
        Source.INGESTION,
        (telemetry.INGESTION_JOBS, "jobs", NEUTRAL),
        (telemetry.INGESTION_FAILED_JOBS, "failed jobs", BAD),
        (telemetry.INGESTION_DOCUMENTS, "documents indexed", GOOD),
        (telemetry.INGESTION_FAILED_DOCUMENTS, "documents that failed", DOUBTFUL),
    ),
)
CHUNKING: Final = MetricChart(
    "Chunking",
    "count",
    THIRD,
    (
        *_sums(
            Source.CHUNKING,
            (telemetry.CHUNKED_FILES, "files", NEUTRAL),
            (telemetry.CHUNKED_CHUNKS, "chunks", GOOD),
            (telemetry.CHUNKING_FAILED_FILES, "files without chunks", BAD),
            (telemetry.CHUNKING_MISMATCHES, "files the parser changed", DOUBTFUL),
            (telemetry.CHUNKING_DRIFT_FINDINGS, "commands that don't work", DOUBTFUL),
        ),
        *_sums(Source.CHUNK_FUNCTION, ("Errors", "crashed calls", _CRASH)),
    ),
)


def metric_chart(
    emitters: Emitters, of: MetricChart, bounds: Sequence[cloudwatch.HorizontalAnnotation] = ()
) -> cloudwatch.GraphWidget:
    """Return a chart of metrics as they are emitted."""
    lines = [emitters.metric(metric, label=label, color=color) for metric, label, color in of.lines]
    return _chart(of.title, lines, unit=of.unit, width=of.width, bounds=bounds)


def _chart(  # noqa: PLR0913 - a chart's own parts
    title: str,
    lines: Sequence[cloudwatch.IMetric],
    *,
    unit: str,
    width: int,
    bounds: Sequence[cloudwatch.HorizontalAnnotation] = (),
    stacked: bool = False,
    most: float | None = None,
) -> cloudwatch.GraphWidget:
    """Return a chart over time whose axis begins at 0 and ends at ``most``, where that is known."""
    return cloudwatch.GraphWidget(
        title=title,
        left=list(lines),
        left_annotations=list(bounds),
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


def counts(emitters: Emitters) -> dict[str, cloudwatch.Metric]:
    """Return the three counts that the expressions above are over."""
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
    found = computed(WITH_RESULTS, metrics, "found something", GOOD)
    return _chart(
        "Queries by how they ended, in five minutes",
        [found, metrics["z"], metrics["e"]],
        unit="queries",
        width=HALF,
        stacked=True,
    )


def rates(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show the rates that alarms watch, with their thresholds."""
    metrics = counts(emitters)
    return _chart(
        "Unanswered and empty, as shares",
        [
            computed(ERROR_RATE, metrics, "unanswered, of all", BAD),
            computed(ZERO_RESULT_RATE, metrics, "found nothing, of answered", DOUBTFUL),
        ],
        unit="%",
        width=HALF,
        most=100,
        bounds=[
            bound(thresholds.error_rate_percent, "alarm: unanswered"),
            bound(thresholds.zero_result_warning_percent, "warning: found nothing", DOUBTFUL),
            bound(thresholds.zero_result_alarm_percent, "alarm: found nothing", DOUBTFUL),
        ],
    )


def _ocu(**names: str) -> dict[str, cloudwatch.Metric]:
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
    bounds = [bound(store.max_ocu, "max_ocu, each")]
    if store.min_search_ocu:
        bounds.append(bound(store.min_search_ocu, "min_search_ocu", NEUTRAL))
    return _chart(
        "Vector store capacity, all of this account's collections",
        [
            computed(SEARCH_OCU, _ocu(s="SearchOCU"), "search", NEUTRAL),
            computed(INDEXING_OCU, _ocu(i="IndexingOCU"), "indexing", "#8c564b"),
        ],
        unit="OCU",
        width=THIRD,
        bounds=bounds,
    )


def cost() -> cloudwatch.GraphWidget:
    """Show the cost of that capacity."""
    price = f"${USD_AN_OCU_HOUR} an OCU-hour, us-east-1, 2026"
    both = _ocu(s="SearchOCU", i="IndexingOCU")
    return cloudwatch.GraphWidget(
        title=f"Cost of that capacity ({price})",
        left=[computed(USD_AN_HOUR, both, "USD an hour", NEUTRAL)],
        left_y_axis=cloudwatch.YAxisProps(label="USD an hour", min=0, show_units=False),
        right=[computed(USD_A_MONTH, both, "USD a month at that rate", "#c7c7c7")],
        right_y_axis=cloudwatch.YAxisProps(label="USD a month", min=0, show_units=False),
        width=THIRD,
        height=HEIGHT,
    )


def store_searches(collection: str) -> list[cloudwatch.IWidget]:
    """Show the collection's own view of its searches, to tell its faults from Bedrock's."""
    return [
        _chart(
            "Searches, as the vector store sees them: latency",
            [_search(collection, "SearchRequestLatency", "Average")],
            unit="ms",
            width=HALF,
        ),
        _chart(
            "Searches, as the vector store sees them: errors in five minutes",
            [_search(collection, "SearchRequestErrors", "Sum", BAD)],
            unit="errors",
            width=HALF,
        ),
    ]


def door_rows(doors: Doors) -> list[list[cloudwatch.IWidget]]:
    """Show each door's calls and times, and what the guardrail stopped, as their services count them.

    They are searched for by one dimension: which others a metric has isn't documented for all.
    """
    charts = []
    if doors.gateway_arn:
        of = partial(_of_service, "Resource", doors.gateway_arn)
        charts += [
            of(
                "Gateway, in five minutes",
                "calls",
                ("Invocations", "Throttles", "SystemErrors", "UserErrors"),
            ),
            of(
                "Gateway: time of calls, and of its target",
                "ms",
                ("Latency", "TargetExecutionTime"),
            ),
        ]
    if doors.agent_alias_arn:
        of = partial(_of_service, "AgentAliasArn", doors.agent_alias_arn)
        charts += [
            of(
                "Agent, in five minutes",
                "calls",
                (
                    "InvocationCount",
                    "InvocationThrottles",
                    "InvocationServerErrors",
                    "InvocationClientErrors",
                ),
            ),
            of("Agent: time of answers", "ms", ("TotalTime",)),
        ]
    if doors.guardrail_arn:
        of = partial(_of_service, "GuardrailArn", doors.guardrail_arn)
        charts.append(
            of(
                "Guardrail, in five minutes",
                "calls",
                ("Invocations", "InvocationsIntervened", "InvocationThrottles"),
            )
        )
    return [charts[at : at + 2] for at in range(0, len(charts), 2)]


def _of_service(
    dimension: str, value: str, title: str, unit: str, metrics: Sequence[str]
) -> cloudwatch.IWidget:
    statistic = "p95" if unit == "ms" else "Sum"
    colors = (GOOD, DOUBTFUL, BAD, _CRASH)
    lines = [
        computed(
            f"SEARCH('{dimension}=\"{value}\" MetricName=\"{name}\"', '{statistic}', {FIVE_MINUTES})",
            {},
            name,
            color,
        )
        for name, color in zip(metrics, colors, strict=False)
    ]
    return _chart(title, lines, unit=unit, width=HALF)


def _search(
    collection: str, metric: str, statistic: str, color: str = NEUTRAL
) -> cloudwatch.MathExpression:
    # the collection's id is a dimension too, and known to the data stack only: search by name
    dimensions = f"{STORE_NAMESPACE},ClientId,CollectionId,CollectionName"
    place = f'{{{dimensions}}} CollectionName="{collection}"'
    expression = f"SEARCH('{place} MetricName=\"{metric}\"', '{statistic}', 300)"
    return computed(expression, {}, metric, color)
