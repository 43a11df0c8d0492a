"""The dashboard: state at the top left, causes of failures below it, costs at the bottom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms import HANDBOOK, handbook
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import (
    FIVE_MINUTES,
    LATE_SECONDS,
    Metric,
    Severity,
    Source,
    retrieval_alarms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from infra.alarms import Alarms, Emitters
    from infra.settings import Settings, StoreSettings
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
"""Over ``n`` queries, ``e`` unanswered and ``z`` answered without results. Unlike the alarms they don't
require a minimum of samples: a chart shows everything."""

STORE_NAMESPACE: Final = "AWS/AOSS"
"""OpenSearch Serverless reports capacity by account (dimension ``ClientId``) and searches by collection,
see "Monitoring OpenSearch Serverless with Amazon CloudWatch" in its developer guide."""
USD_AN_OCU_HOUR: Final = 0.24
"""List price in us-east-1, 2026."""
HOURS_A_MONTH: Final = 730
SEARCH_OCU: Final = "60 * FILL(s, 0) / PERIOD(s)"
INDEXING_OCU: Final = "60 * FILL(i, 0) / PERIOD(i)"
"""Capacity is reported each minute and summed, so the sum of a longer period is a multiple of it."""
USD_AN_HOUR: Final = f"{USD_AN_OCU_HOUR} * 60 * (FILL(s, 0) + FILL(i, 0)) / PERIOD(s)"
USD_A_MONTH: Final = f"{HOURS_A_MONTH} * {USD_AN_HOUR}"

STATUS_HEIGHT: Final = 12
ROWS: Final = 20

HONEST: Final = (
    "**Degraded answers are honest**: callers are told that the knowledge base could not be reached,"
    " and can open the runbooks by hand. No answer is wrong because of a red light here."
)

REASONS: Final = (
    'filter message = "query degraded"',
    "stats count(*) as queries by reason, code",
    "sort queries desc",
)
LAST_DEGRADED: Final = (
    f"fields @timestamp, reason, code, permanent, latency_ms, request_id, {telemetry.INCIDENT_ID}",
    'filter message = "query degraded"',
    "sort @timestamp desc",
    f"limit {ROWS}",
)
_ENDS: Final = (
    'sum(strcontains(status, "no_match")) as found_nothing,'
    ' sum(strcontains(status, "degraded")) as unanswered'
)
INCIDENTS: Final = (
    f"fields coalesce({telemetry.INCIDENT_ID}, {telemetry.SESSION_ID}) as incident",
    'filter message in ["query answered", "query degraded"] and ispresent(incident)',
    f"stats count(*) as queries, sum(results) as passages, {_ENDS} by incident",
    "sort queries desc",
    f"limit {ROWS}",
)
VERSIONS: Final = (
    'filter type = "platform.start"',
    "stats count(*) as calls by bin(1h) as hour, record.version as version",
    "sort hour desc",
    f"limit {ROWS}",
)
"""A change of the version means that a deployment or a rollback moved the alias. Lambda logs the version."""
INGESTION_PROBLEMS: Final = (
    "fields @timestamp, message, document, coalesce(reason, difference) as why, job",
    'filter level in ["ERROR", "WARNING"]',
    "sort @timestamp desc",
    f"limit {ROWS}",
)


@dataclass(frozen=True, slots=True)
class Doors:
    """ARNs of the function's entry points and of its guardrail; ``""`` for those that don't exist."""

    gateway_arn: str = ""
    agent_alias_arn: str = ""
    guardrail_arn: str = ""


_Lines = tuple[tuple[Metric, str, str], ...]


class MetricChart(NamedTuple):
    """A chart of unmodified metrics: each line is a metric, its label and its color."""

    title: str
    unit: str
    width: int
    lines: _Lines


def _sums(source: Source, *lines: tuple[str, str, str]) -> _Lines:
    return tuple((Metric(name, "Sum", source), label, color) for name, label, color in lines)


def _percentiles(title: str, name: str, source: Source) -> MetricChart:
    colors = {"p50": GOOD, "p95": DOUBTFUL, "p99": BAD}
    lines = ((Metric(name, each, source), each, color) for each, color in colors.items())
    return MetricChart(title, "ms", HALF, tuple(lines))


LATENCY: Final = _percentiles(
    "Latency of answered queries", telemetry.RETRIEVAL_LATENCY, Source.RETRIEVAL
)
"""Without queries that timed out."""
DURATION: Final = _percentiles(
    "Run time of the function, every call", "Duration", Source.RETRIEVE_FUNCTION
)
"""Every call, like the alarm."""
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
_CONCURRENT: Final = Metric("ConcurrentExecutions", "Maximum", Source.RETRIEVE_FUNCTION)
FUNCTION: Final = MetricChart(
    "The retrieval function, in five minutes",
    "calls",
    THIRD,
    (
        *_sums(Source.RETRIEVE_FUNCTION, ("Invocations", "calls", GOOD)),
        (_CONCURRENT, "at the same time", NEUTRAL),
        *_sums(Source.RETRIEVE_FUNCTION, ("Throttles", "turned away", DOUBTFUL)),
        *_sums(Source.RETRIEVE_FUNCTION, ("Errors", "crashed", BAD)),
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
ADVICE: Final = MetricChart(
    "Steps posted for alerts",
    "count",
    HALF,
    _sums(
        Source.ADVICE,
        (telemetry.ADVICE_ALERTS, "alerts", NEUTRAL),
        (telemetry.ADVICE_POSTS, "posts", GOOD),
        (telemetry.ADVICE_GIVEN_UP, "posts given up", BAD),
    ),
)
ADVICE_WAIT: Final = MetricChart(
    "Oldest post that waits",
    "seconds",
    HALF,
    ((Metric(telemetry.ADVICE_WAITING_SECONDS, "Maximum", Source.ADVICE), "waiting", DOUBTFUL),),
)
GATEWAY: Final = (
    ("Gateway, in five minutes", "calls", "Invocations Throttles SystemErrors UserErrors"),
    ("Gateway: time of calls, and of its target", "ms", "Latency TargetExecutionTime"),
)
_AGENT_CALLS: Final = (
    "InvocationCount InvocationThrottles InvocationServerErrors InvocationClientErrors"
)
AGENT: Final = (
    ("Agent, in five minutes", "calls", _AGENT_CALLS),
    ("Agent: time of answers", "ms", "TotalTime"),
)
_GUARDED: Final = "Invocations InvocationsIntervened InvocationThrottles"
GUARDRAIL: Final = (("Guardrail, in five minutes", "calls", _GUARDED),)
"""Charts of the entry points and the guardrail: title, unit, and metrics of their services."""


class Dashboard(Construct):
    """One page for people on call.

    Args:
        emitters: the sources of the metrics.
        alarms: the alarms whose states are shown.
        retrieve_log_group_name: log group of the retrieval function.
        collection_name: name of the vector store's collection, ``""`` without one.
        doors: the function's entry points and its guardrail.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        emitters: Emitters,
        alarms: Alarms,
        retrieve_log_group_name: str,
        collection_name: str,
        doors: Doors,
    ) -> None:
        super().__init__(scope, construct_id)
        log, thresholds = [retrieve_log_group_name], settings.thresholds
        most_ms = thresholds.latency_p95_ms
        # the functions of the other stack log under Lambda's conventional names
        ingestion_logs = [
            f"/aws/lambda/{name}" for name in (emitters.chunk_function, emitters.ingestion_function)
        ]
        rows: list[list[cloudwatch.IWidget]] = [
            [_is_it_working(alarms), _figures(emitters), _what_to_do(settings)],
            [_traffic(emitters), _rates(emitters, thresholds)],
            [
                _table("Unanswered queries by reason", REASONS, log, THIRD),
                _table("Last unanswered queries", LAST_DEGRADED, log, 2 * THIRD),
            ],
            [
                _metric_chart(emitters, LATENCY, [_bound(most_ms, "budget of a query")]),
                _metric_chart(emitters, DURATION, [_bound(most_ms, "alarm: p95")]),
            ],
            [
                _metric_chart(emitters, RESULTS),
                _metric_chart(emitters, WITHHELD),
                _table("Queries by incident", INCIDENTS, log, THIRD),
            ],
        ]
        if emitters.ingestion_function:
            problems = _table("Ingestion problems", INGESTION_PROBLEMS, ingestion_logs, THIRD)
            rows.append(
                [_metric_chart(emitters, JOBS), _metric_chart(emitters, CHUNKING), problems]
            )
        if emitters.advice_function:
            wait = _metric_chart(emitters, ADVICE_WAIT, [_bound(LATE_SECONDS, "alarm")])
            rows.append([_metric_chart(emitters, ADVICE), wait])
        rows.append([_table("Versions that answered, hour by hour", VERSIONS, log, 3 * THIRD)])
        rows += _door_rows(doors)
        rows.append([_metric_chart(emitters, FUNCTION)])
        if collection_name:
            rows[-1] += [_capacity(settings.store), _cost()]
            rows.append(_store_searches(collection_name))
        cloudwatch.Dashboard(
            self,
            "Resource",
            dashboard_name=settings.name,
            default_interval=Duration.hours(12),
            period_override=cloudwatch.PeriodOverride.INHERIT,
            widgets=rows,
        )
        self.name = settings.name
        self.url = (
            f"https://{Aws.REGION}.console.aws.amazon.com/cloudwatch/home?region={Aws.REGION}"
            f"#dashboards/dashboard/{self.name}"
        )


def _is_it_working(alarms: Alarms) -> cloudwatch.IWidget:
    """Show the states of the alarms, then those of the warnings; red ones come first."""

    def states(title: str, shown: Sequence[cloudwatch.IAlarm], height: int) -> cloudwatch.IWidget:
        return cloudwatch.AlarmStatusWidget(
            title=title,
            alarms=list(shown),
            sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
            width=8,
            height=height,
        )

    column = cloudwatch.Column(
        states("Is it working?", [alarms.health, *alarms.loud], 7),
        states("Warnings, for the morning", alarms.quiet, STATUS_HEIGHT - 7),
    )
    return cast("cloudwatch.IWidget", column)  # it is one; its type stub lacks optional members


def _figures(emitters: Emitters) -> cloudwatch.SingleValueWidget:
    """Show four figures over the page's whole time range.

    Not over the last hour, because periods begin on the hour and the last one is mostly incomplete.
    """
    metrics = _counts(emitters)
    p95 = Metric(telemetry.RETRIEVAL_LATENCY, "p95")
    return cloudwatch.SingleValueWidget(
        title="In the time shown",
        metrics=[
            metrics["n"],
            _computed(ERROR_RATE, metrics, "unanswered, %"),
            _computed(ZERO_RESULT_RATE, metrics, "found nothing, %"),
            emitters.metric(p95, label="p95 of answered, ms"),
        ],
        set_period_to_time_range=True,
        width=4,
        height=STATUS_HEIGHT,
    )


def _what_to_do(settings: Settings) -> cloudwatch.TextWidget:
    """Show the first action for each alarm, from the alarm's definition."""
    rows = [
        f"| `{alarm.key}` | {alarm.action} |"
        for alarm in retrieval_alarms(settings.thresholds)
        if alarm.severity is Severity.ALARM
    ]
    found = handbook(settings)
    where = f"`{HANDBOOK}` in the project" if found == HANDBOOK else f"[the handbook]({found})"
    text = [
        f"## {settings.name}: what to do",
        HONEST,
        "",
        f"More on each alarm: {where}.",
        "",
        "| red | first |",
        "|---|---|",
        *rows,
    ]
    return cloudwatch.TextWidget(markdown="\n".join(text), width=12, height=STATUS_HEIGHT)


def _table(
    title: str, query: Sequence[str], log_groups: Sequence[str], width: int
) -> cloudwatch.LogQueryWidget:
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=list(log_groups),
        query_lines=list(query),
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=width,
        height=HEIGHT,
    )


def _metric_chart(
    emitters: Emitters, of: MetricChart, bounds: Sequence[cloudwatch.HorizontalAnnotation] = ()
) -> cloudwatch.GraphWidget:
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
    """Return a chart over time whose axis begins at 0 and ends at ``most``, if given."""
    return cloudwatch.GraphWidget(
        title=title,
        left=list(lines),
        left_annotations=list(bounds),
        left_y_axis=cloudwatch.YAxisProps(label=unit, min=0, max=most, show_units=False),
        stacked=stacked,
        width=width,
        height=HEIGHT,
    )


def _bound(value: float, label: str, color: str = BAD) -> cloudwatch.HorizontalAnnotation:
    return cloudwatch.HorizontalAnnotation(value=value, label=label, color=color)


def _computed(
    expression: str, metrics: Mapping[str, cloudwatch.IMetric], label: str, color: str | None = None
) -> cloudwatch.MathExpression:
    """Return a line that is computed from metrics, by their ids in the expression."""
    return cloudwatch.MathExpression(
        expression=expression,
        using_metrics=dict(metrics),
        label=label,
        color=color,
        period=Duration.seconds(FIVE_MINUTES),
    )


def _counts(emitters: Emitters) -> dict[str, cloudwatch.Metric]:
    """Return the three counts that the expressions above use."""
    lines = {
        "n": (telemetry.RETRIEVAL_COUNT, "queries", NEUTRAL),
        "e": (telemetry.RETRIEVAL_ERRORS, "unanswered (degraded)", BAD),
        "z": (telemetry.RETRIEVAL_ZERO_RESULTS, "found nothing", DOUBTFUL),
    }
    return {
        id_: emitters.metric(Metric(name), label=label, color=color)
        for id_, (name, label, color) in lines.items()
    }


def _traffic(emitters: Emitters) -> cloudwatch.GraphWidget:
    metrics = _counts(emitters)
    found = _computed(WITH_RESULTS, metrics, "found something", GOOD)
    return _chart(
        "Queries by how they ended, in five minutes",
        [found, metrics["z"], metrics["e"]],
        unit="queries",
        width=HALF,
        stacked=True,
    )


def _rates(emitters: Emitters, thresholds: Thresholds) -> cloudwatch.GraphWidget:
    """Show the rates that alarms watch, with their thresholds."""
    metrics = _counts(emitters)
    return _chart(
        "Unanswered and empty, as shares",
        [
            _computed(ERROR_RATE, metrics, "unanswered, of all", BAD),
            _computed(ZERO_RESULT_RATE, metrics, "found nothing, of answered", DOUBTFUL),
        ],
        unit="%",
        width=HALF,
        most=100,
        bounds=[
            _bound(thresholds.error_rate_percent, "alarm: unanswered"),
            _bound(thresholds.zero_result_warning_percent, "warning: found nothing", DOUBTFUL),
            _bound(thresholds.zero_result_alarm_percent, "alarm: found nothing", DOUBTFUL),
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


def _capacity(store: StoreSettings) -> cloudwatch.GraphWidget:
    """Show the capacity in use, with this deployment's bounds."""
    bounds = [_bound(store.max_ocu, "max_ocu, each")]
    if store.min_search_ocu:
        bounds.append(_bound(store.min_search_ocu, "min_search_ocu", NEUTRAL))
    return _chart(
        "Vector store capacity, all of this account's collections",
        [
            _computed(SEARCH_OCU, _ocu(s="SearchOCU"), "search", NEUTRAL),
            _computed(INDEXING_OCU, _ocu(i="IndexingOCU"), "indexing", "#8c564b"),
        ],
        unit="OCU",
        width=THIRD,
        bounds=bounds,
    )


def _cost() -> cloudwatch.GraphWidget:
    price = f"${USD_AN_OCU_HOUR} an OCU-hour, us-east-1, 2026"
    both = _ocu(s="SearchOCU", i="IndexingOCU")
    return cloudwatch.GraphWidget(
        title=f"Cost of that capacity ({price})",
        left=[_computed(USD_AN_HOUR, both, "USD an hour", NEUTRAL)],
        left_y_axis=cloudwatch.YAxisProps(label="USD an hour", min=0, show_units=False),
        right=[_computed(USD_A_MONTH, both, "USD a month at that rate", "#c7c7c7")],
        right_y_axis=cloudwatch.YAxisProps(label="USD a month", min=0, show_units=False),
        width=THIRD,
        height=HEIGHT,
    )


def _store_searches(collection: str) -> list[cloudwatch.IWidget]:
    """Show the collection's own metrics of its searches, to distinguish its faults from Bedrock's."""
    title = "Searches, as the vector store sees them"
    latency = _search(collection, "SearchRequestLatency", "Average", NEUTRAL)
    errors = _search(collection, "SearchRequestErrors", "Sum", BAD)
    return [
        _chart(f"{title}: latency", [latency], unit="ms", width=HALF),
        _chart(f"{title}: errors in five minutes", [errors], unit="errors", width=HALF),
    ]


def _door_rows(doors: Doors) -> list[list[cloudwatch.IWidget]]:
    """Show each entry point's calls and times, and the guardrail's interventions, from their services' metrics.

    The metrics are searched for by one dimension, because not all services document the others.
    """
    charts = [
        _of_service(dimension, arn, title, unit, metrics)
        for dimension, arn, shown in (
            ("Resource", doors.gateway_arn, GATEWAY),
            ("AgentAliasArn", doors.agent_alias_arn, AGENT),
            ("GuardrailArn", doors.guardrail_arn, GUARDRAIL),
        )
        if arn
        for title, unit, metrics in shown
    ]
    return [charts[at : at + 2] for at in range(0, len(charts), 2)]


def _of_service(
    dimension: str, value: str, title: str, unit: str, metrics: str
) -> cloudwatch.IWidget:
    statistic = "p95" if unit == "ms" else "Sum"
    lines = [
        _computed(
            f"SEARCH('{dimension}=\"{value}\" MetricName=\"{name}\"', '{statistic}', {FIVE_MINUTES})",
            {},
            name,
            color,
        )
        for name, color in zip(metrics.split(), (GOOD, DOUBTFUL, BAD, _CRASH), strict=False)
    ]
    return _chart(title, lines, unit=unit, width=HALF)


def _search(collection: str, metric: str, statistic: str, color: str) -> cloudwatch.MathExpression:
    # the collection's id is a dimension too, but only the data stack knows it: search by name
    dimensions = f"{STORE_NAMESPACE},ClientId,CollectionId,CollectionName"
    place = f'{{{dimensions}}} CollectionName="{collection}"'
    expression = f"SEARCH('{place} MetricName=\"{metric}\"', '{statistic}', 300)"
    return _computed(expression, {}, metric, color)
