"""The first row: is it working, since when, and what to do if it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.dashboards.charts import computed
from infra.dashboards.queries import ERROR_RATE, ZERO_RESULT_RATE, counts
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Metric, Severity, retrieval_alarms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from infra.alarms import Alarms
    from infra.emitters import Emitters
    from infra.settings import Settings

ROW_HEIGHT: Final = 12

HONEST: Final = (
    "**Degraded answers are honest**: callers are told that the knowledge base could not be reached,"
    " and can open the runbooks by hand. No answer is wrong because of a red light here."
)


def is_it_working(alarms: Alarms) -> cloudwatch.IWidget:
    """Show the states of the alarms, then those of the warnings; what is red comes first."""
    column = cloudwatch.Column(
        _states("Is it working?", [alarms.health, *alarms.loud], 7),
        _states("Warnings, for the morning", alarms.quiet, ROW_HEIGHT - 7),
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


def figures(emitters: Emitters) -> cloudwatch.SingleValueWidget:
    """Show four figures over the whole time that the page shows.

    Not over the last hour: periods begin on the hour, so the last one is mostly unfinished.
    """
    metrics = counts(emitters)
    p95 = Metric(telemetry.RETRIEVAL_LATENCY, "p95")
    return cloudwatch.SingleValueWidget(
        title="In the time shown",
        metrics=[
            metrics["n"],
            computed(ERROR_RATE, metrics, label="unanswered, %"),
            computed(ZERO_RESULT_RATE, metrics, label="found nothing, %"),
            emitters.metric(p95, label="p95 of answered, ms"),
        ],
        set_period_to_time_range=True,
        width=4,
        height=ROW_HEIGHT,
    )


def what_to_do(settings: Settings, handbook: str) -> cloudwatch.TextWidget:
    """Say what to do at each alarm, in the words of the alarms themselves."""
    rows = [
        f"| `{alarm.key}` | {alarm.action} |"
        for alarm in retrieval_alarms(settings.thresholds)
        if alarm.severity is Severity.ALARM
    ]
    text = [
        f"## {settings.name}: what to do",
        HONEST,
        "",
        f"More on each alarm: `{handbook}` in the project.",
        "",
        "| red | first |",
        "|---|---|",
        *rows,
    ]
    return cloudwatch.TextWidget(markdown="\n".join(text), width=12, height=ROW_HEIGHT)
