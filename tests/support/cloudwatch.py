"""CloudWatch as far as alarms need it: samples of what was emitted, and a template's alarms on them."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_rag.evaluation.gameday_alarms import aggregate, evaluate
from tests.infra.iam import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Series = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, metric name, dimensions: what makes a metric one metric."""

Samples = dict[Series, list[float]]
"""One period's samples of each metric."""


def series(namespace: str, name: str, **dimensions: str) -> Series:
    return namespace, name, tuple(sorted(dimensions.items()))


def emitted(records: Iterable[Mapping[str, Any]]) -> Samples:
    """Extract the samples of embedded metric format records, as CloudWatch does."""
    samples: Samples = defaultdict(list)
    for record in records:
        for directive in record["_aws"]["CloudWatchMetrics"]:
            for names in directive["Dimensions"]:
                dimensions = {name: record[name] for name in names}
                for metric in directive["Metrics"]:
                    values = record[metric["Name"]]
                    key = series(directive["Namespace"], metric["Name"], **dimensions)
                    samples[key] += values if isinstance(values, list) else [values]
    return samples


@dataclass(frozen=True)
class Query:
    """One metric of an alarm."""

    series: Series
    statistic: str
    period: int


@dataclass(frozen=True)
class TemplateAlarm:
    """An alarm as it stands in a template, and CloudWatch's decision on it."""

    properties: Mapping[str, Any]

    @property
    def queries(self) -> dict[str, Query]:
        """Id -> metric; an alarm on one metric has it under ``m``."""
        if "Metrics" not in self.properties:
            statistic = self.properties.get("Statistic") or self.properties["ExtendedStatistic"]
            return {"m": Query(_series(self.properties), statistic, self.properties["Period"])}
        return {
            entry["Id"]: Query(
                _series(entry["MetricStat"]["Metric"]),
                entry["MetricStat"]["Stat"],
                entry["MetricStat"]["Period"],
            )
            for entry in self.properties["Metrics"]
            if "MetricStat" in entry
        }

    @property
    def expression(self) -> str:
        """The one that the alarm is on."""
        if "Metrics" not in self.properties:
            return "m"
        (returned,) = [entry for entry in self.properties["Metrics"] if entry["ReturnData"]]
        return returned["Expression"]

    @property
    def period(self) -> int:
        (period,) = {query.period for query in self.queries.values()}
        return period

    def value(self, samples: Samples) -> float:
        """Compute one period's data point, NaN for none."""
        values = {
            id_: aggregate(query.statistic, samples.get(query.series, []))
            for id_, query in self.queries.items()
        }
        return self.point(values)

    def point(self, values: Mapping[str, float]) -> float:
        """Compute one period's data point of its metrics' statistics."""
        return evaluate(self.expression, values, period_seconds=self.period)

    def fires(self, *periods: Samples) -> bool:
        """Decide whether it is in alarm after these periods, the last one last."""
        return self.decides([self.value(samples) for samples in periods])

    def decides(self, points: Sequence[float]) -> bool:
        """Decide on data points; what those that are missing mean, the template says."""
        missing = self.properties["TreatMissingData"]
        assert missing in ("breaching", "notBreaching")
        assert self.properties["ComparisonOperator"] == "GreaterThanThreshold"
        last = points[-self.properties["EvaluationPeriods"] :]
        threshold = self.properties["Threshold"]
        breaching = [
            point
            for point in last
            if (missing == "breaching" if math.isnan(point) else point > threshold)
        ]
        return len(breaching) >= self.properties["DatapointsToAlarm"]


def _series(metric: Mapping[str, Any]) -> Series:
    dimensions = {entry["Name"]: render(entry["Value"]) for entry in metric.get("Dimensions", ())}
    return series(metric["Namespace"], metric["MetricName"], **dimensions)


def alarms_of(template: Mapping[str, Any], deployment: str) -> dict[str, TemplateAlarm]:
    """Give a template's alarms by their key: their name without the deployment's."""
    return {
        resource["Properties"]["AlarmName"].removeprefix(f"{deployment}-"): TemplateAlarm(
            resource["Properties"]
        )
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Alarm"
    }
