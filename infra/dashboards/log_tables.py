"""Tables that CloudWatch Logs Insights makes of the functions' log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.dashboards.charts import HEIGHT
from knowledge_rag.core import telemetry

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS: Final = 20

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
INGESTION_PROBLEMS: Final = (
    "fields @timestamp, message, document, coalesce(reason, difference) as why, job",
    'filter level in ["ERROR", "WARNING"]',
    "sort @timestamp desc",
    f"limit {ROWS}",
)


def table(
    title: str, query: Sequence[str], log_groups: Sequence[str], width: int
) -> cloudwatch.LogQueryWidget:
    """Give a table of a query's rows.

    Args:
        title: what it shows.
        query: its commands, in order.
        log_groups: names of those it reads.
        width: columns.
    """
    return cloudwatch.LogQueryWidget(
        title=title,
        log_group_names=list(log_groups),
        query_lines=list(query),
        view=cloudwatch.LogQueryVisualizationType.TABLE,
        width=width,
        height=HEIGHT,
    )
