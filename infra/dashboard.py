"""The dashboard: top left whether it works, below it why not, at the bottom what it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.alarms import HANDBOOK
from infra.dashboards import capacity, ingestion, queries, status
from infra.dashboards.charts import THIRD
from infra.dashboards.log_tables import (
    INCIDENTS,
    INGESTION_PROBLEMS,
    LAST_DEGRADED,
    REASONS,
    table,
)

if TYPE_CHECKING:
    from infra.alarms import Alarms
    from infra.emitters import Emitters
    from infra.settings import Settings


class Dashboard(Construct):
    """One page for whoever is on call.

    Args:
        scope: that it is part of.
        construct_id: its name there.
        settings: of the deployment.
        emitters: whose metrics are shown.
        alarms: whose states are shown.
        retrieve_log_group_name: of the retrieval function.
        collection_name: of the vector store's collection, ``""`` where there is none.

    Attributes:
        name: of the dashboard.
        url: of its page in the console.
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
    ) -> None:
        super().__init__(scope, construct_id)
        rows: list[list[cloudwatch.IWidget]] = [
            _status(settings, emitters, alarms),
            [queries.traffic(emitters), queries.rates(emitters, settings.thresholds)],
            _reasons(retrieve_log_group_name),
            [
                queries.latency(emitters, settings.thresholds),
                queries.duration(emitters, settings.thresholds),
            ],
            _findings(emitters, retrieve_log_group_name),
            _ingestion(emitters),
            *_machinery(settings, emitters, collection_name),
        ]
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


def _status(settings: Settings, emitters: Emitters, alarms: Alarms) -> list[cloudwatch.IWidget]:
    return [
        status.is_it_working(alarms),
        status.figures(emitters),
        status.what_to_do(settings, HANDBOOK),
    ]


def _reasons(log_group: str) -> list[cloudwatch.IWidget]:
    return [
        table("Unanswered queries by reason", REASONS, [log_group], THIRD),
        table("Last unanswered queries", LAST_DEGRADED, [log_group], 2 * THIRD),
    ]


def _findings(emitters: Emitters, log_group: str) -> list[cloudwatch.IWidget]:
    return [
        queries.results(emitters),
        queries.withheld(emitters),
        table("Queries by incident", INCIDENTS, [log_group], THIRD),
    ]


def _ingestion(emitters: Emitters) -> list[cloudwatch.IWidget]:
    # the functions of the other stack log where Lambda's convention and ours has it
    log_groups = [
        f"/aws/lambda/{name}" for name in (emitters.chunk_function, emitters.ingestion_function)
    ]
    return [
        ingestion.jobs(emitters),
        ingestion.chunking(emitters),
        table("Ingestion problems", INGESTION_PROBLEMS, log_groups, THIRD),
    ]


def _machinery(
    settings: Settings, emitters: Emitters, collection: str
) -> list[list[cloudwatch.IWidget]]:
    if not collection:
        return [[queries.function(emitters)]]
    return [
        [queries.function(emitters), capacity.capacity(settings.store), capacity.cost()],
        capacity.store_searches(collection),
    ]
