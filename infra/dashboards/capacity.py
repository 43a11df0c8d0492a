"""Charts of the vector store: capacity, what it costs, and how it sees its own searches.

OpenSearch Serverless reports capacity by account (dimension ``ClientId``) and searches by collection:
"Monitoring OpenSearch Serverless with Amazon CloudWatch" in its developer guide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.dashboards.charts import BAD, HALF, HEIGHT, NEUTRAL, THIRD, bound, chart, computed

if TYPE_CHECKING:
    from infra.settings import StoreSettings

NAMESPACE: Final = "AWS/AOSS"

USD_AN_OCU_HOUR: Final = 0.24
"""List price in us-east-1, 2026."""

HOURS_A_MONTH: Final = 730

SEARCH_OCU: Final = "60 * FILL(s, 0) / PERIOD(s)"
INDEXING_OCU: Final = "60 * FILL(i, 0) / PERIOD(i)"
"""Capacity is reported each minute and to be added up, so a longer period has a multiple of it."""

USD_AN_HOUR: Final = f"{USD_AN_OCU_HOUR} * 60 * (FILL(s, 0) + FILL(i, 0)) / PERIOD(s)"
USD_A_MONTH: Final = f"{HOURS_A_MONTH} * {USD_AN_HOUR}"


def _ocu() -> dict[str, cloudwatch.Metric]:
    names = {"s": "SearchOCU", "i": "IndexingOCU"}
    return {
        id_: cloudwatch.Metric(
            namespace=NAMESPACE,
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
            computed(SEARCH_OCU, {"s": search}, label="search", color=NEUTRAL),
            computed(INDEXING_OCU, {"i": indexing}, label="indexing", color="#8c564b"),
        ],
        unit="OCU",
        width=THIRD,
        lines=lines,
    )


def cost() -> cloudwatch.GraphWidget:
    """Show what that capacity costs."""
    price = f"${USD_AN_OCU_HOUR} an OCU-hour, us-east-1, 2026"
    return cloudwatch.GraphWidget(
        title=f"Cost of that capacity ({price})",
        left=[computed(USD_AN_HOUR, _ocu(), label="USD an hour", color=NEUTRAL)],
        left_y_axis=cloudwatch.YAxisProps(label="USD an hour", min=0, show_units=False),
        right=[computed(USD_A_MONTH, _ocu(), label="USD a month at that rate", color="#c7c7c7")],
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
    place = f'{{{NAMESPACE},ClientId,CollectionId,CollectionName}} CollectionName="{collection}"'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{place} MetricName=\"{metric}\"', '{statistic}', 300)",
        using_metrics={},
        label=metric,
        color=color,
        period=Duration.minutes(5),
    )
