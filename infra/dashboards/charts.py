"""How charts look here: sizes, colours, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from knowledge_rag.core.alarms import FIVE_MINUTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GOOD: Final = "#2ca02c"
DOUBTFUL: Final = "#ff7f0e"
BAD: Final = "#d62728"
NEUTRAL: Final = "#1f77b4"

THIRD: Final = 8
HALF: Final = 12
WHOLE: Final = 24
"""Widths; a dashboard has 24 columns."""

HEIGHT: Final = 6


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
    """Give a chart over time, whose axis begins at 0.

    Args:
        title: what it shows.
        metrics: its lines.
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
    """Give a line across a chart."""
    return cloudwatch.HorizontalAnnotation(value=value, label=label, color=color)


def computed(
    expression: str,
    metrics: Mapping[str, cloudwatch.IMetric],
    *,
    label: str,
    color: str | None = None,
) -> cloudwatch.MathExpression:
    """Give a line that is computed of metrics.

    Args:
        expression: metric math over the ids.
        metrics: id -> metric.
        label: that the chart shows.
        color: of the line.
    """
    return cloudwatch.MathExpression(
        expression=expression,
        using_metrics=dict(metrics),
        label=label,
        color=color,
        period=Duration.seconds(FIVE_MINUTES),
    )
