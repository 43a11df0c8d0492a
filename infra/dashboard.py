"""The dashboard: whether it works at the top left, why not below it, the costs at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra import dashboard_charts as charts
from infra.alarms import HANDBOOK, handbook
from infra.dashboard_charts import HEIGHT, THIRD, bound, computed, metric_chart
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Metric, Severity, retrieval_alarms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.alarms import Alarms, Emitters
    from infra.dashboard_charts import Doors
    from infra.settings import Settings

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
"""Where the version changes, a deployment or a rollback moved the alias; Lambda itself logs it."""
INGESTION_PROBLEMS: Final = (
    "fields @timestamp, message, document, coalesce(reason, difference) as why, job",
    'filter level in ["ERROR", "WARNING"]',
    "sort @timestamp desc",
    f"limit {ROWS}",
)


class Dashboard(Construct):
    """One page for people on call.

    Args:
        emitters: whose metrics are shown.
        alarms: whose states are shown.
        retrieve_log_group_name: of the retrieval function.
        collection_name: of the vector store's collection, ``""`` where there is none.
        doors: in front of the function, and its guardrail.
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
            [charts.traffic(emitters), charts.rates(emitters, thresholds)],
            [
                _table("Unanswered queries by reason", REASONS, log, THIRD),
                _table("Last unanswered queries", LAST_DEGRADED, log, 2 * THIRD),
            ],
            [
                metric_chart(emitters, charts.LATENCY, [bound(most_ms, "budget of a query")]),
                metric_chart(emitters, charts.DURATION, [bound(most_ms, "alarm: p95")]),
            ],
            [
                metric_chart(emitters, charts.RESULTS),
                metric_chart(emitters, charts.WITHHELD),
                _table("Queries by incident", INCIDENTS, log, THIRD),
            ],
        ]
        if emitters.ingestion_function:
            rows.append(
                [
                    metric_chart(emitters, charts.JOBS),
                    metric_chart(emitters, charts.CHUNKING),
                    _table("Ingestion problems", INGESTION_PROBLEMS, ingestion_logs, THIRD),
                ]
            )
        rows.append([_table("Versions that answered, hour by hour", VERSIONS, log, 3 * THIRD)])
        rows += charts.door_rows(doors)
        rows.append([metric_chart(emitters, charts.FUNCTION)])
        if collection_name:
            rows[-1] += [charts.capacity(settings.store), charts.cost()]
            rows.append(charts.store_searches(collection_name))
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
    column = cloudwatch.Column(
        _states("Is it working?", [alarms.health, *alarms.loud], 7),
        _states("Warnings, for the morning", alarms.quiet, STATUS_HEIGHT - 7),
    )
    return cast("cloudwatch.IWidget", column)  # it is one; its type stub lacks what is optional


def _states(
    title: str, alarms: Sequence[cloudwatch.IAlarm], height: int
) -> cloudwatch.AlarmStatusWidget:
    return cloudwatch.AlarmStatusWidget(
        title=title,
        alarms=list(alarms),
        sort_by=cloudwatch.AlarmStatusWidgetSortBy.STATE_UPDATED_TIMESTAMP,
        width=8,
        height=height,
    )


def _figures(emitters: Emitters) -> cloudwatch.SingleValueWidget:
    """Show four figures over the whole time that the page shows.

    Not over the last hour: periods begin on the hour, so the last one is mostly unfinished.
    """
    metrics = charts.counts(emitters)
    p95 = Metric(telemetry.RETRIEVAL_LATENCY, "p95")
    return cloudwatch.SingleValueWidget(
        title="In the time shown",
        metrics=[
            metrics["n"],
            computed(charts.ERROR_RATE, metrics, "unanswered, %"),
            computed(charts.ZERO_RESULT_RATE, metrics, "found nothing, %"),
            emitters.metric(p95, label="p95 of answered, ms"),
        ],
        set_period_to_time_range=True,
        width=4,
        height=STATUS_HEIGHT,
    )


def _what_to_do(settings: Settings) -> cloudwatch.TextWidget:
    """Show the first action for each alarm, in the alarms' own words."""
    rows = [
        f"| `{alarm.key}` | {alarm.action} |"
        for alarm in retrieval_alarms(settings.thresholds)
        if alarm.severity is Severity.ALARM
    ]
    text = [
        f"## {settings.name}: what to do",
        HONEST,
        "",
        f"More on each alarm: {_where(settings)}.",
        "",
        "| red | first |",
        "|---|---|",
        *rows,
    ]
    return cloudwatch.TextWidget(markdown="\n".join(text), width=12, height=STATUS_HEIGHT)


def _where(settings: Settings) -> str:
    found = handbook(settings)
    return f"`{HANDBOOK}` in the project" if found == HANDBOOK else f"[the handbook]({found})"


def _table(
    title: str, query: Sequence[str], log_groups: Sequence[str], width: int
) -> cloudwatch.LogQueryWidget:
    """Return a table of the rows that a CloudWatch Logs Insights query finds."""
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=list(log_groups),
        query_lines=list(query),
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=width,
        height=HEIGHT,
    )
