"""The alarms of a deployment, made of the data that the runtime keeps of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_logs as logs
from constructs import Construct

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Severity, retrieval_alarms
from knowledge_rag.core.ingestion_alarms import ingestion_alarms

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

    from infra.emitters import Emitters
    from infra.settings import Settings
    from knowledge_rag.core.alarms import Alarm

HANDBOOK: Final = "docs/operations/alarms.md"
"""Has a section for each alarm, under its key."""

FAILED_START: Final = (
    '{ ($.type = "platform.initReport" || $.type = "platform.restoreReport")'
    ' && $.record.status != "success" }'
)
"""What Lambda logs, at level WARN, of an environment that did not come up (JSON format)."""


class Alarms(Construct):
    """Every alarm, and ``<name>-health``, which is red while one of the loud ones is.

    Args:
        scope: that it is part of.
        construct_id: its name there.
        settings: name and thresholds of the deployment.
        emitters: whose metrics are watched.
        topic: told of each alarm's beginning and end; ``-health`` tells nobody, so that one fault
            is not told twice.
        retrieve_log_group_name: where failed starts of the retrieval function are logged.

    Attributes:
        loud: alarms worth waking someone for.
        quiet: warnings.
        health: one state for all of ``loud``.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        emitters: Emitters,
        topic: sns.ITopic,
        retrieve_log_group_name: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._count_failed_starts(emitters, retrieve_log_group_name)
        self.loud: list[cloudwatch.Alarm] = []
        self.quiet: list[cloudwatch.Alarm] = []
        tell = actions.SnsAction(topic)
        for alarm in (*retrieval_alarms(settings.thresholds), *ingestion_alarms()):
            made = self._alarm(alarm, settings, emitters)
            made.add_alarm_action(tell)
            made.add_ok_action(tell)
            (self.loud if alarm.severity is Severity.ALARM else self.quiet).append(made)
        self.health = cloudwatch.CompositeAlarm(
            self,
            "health",
            composite_alarm_name=f"{settings.name}-health",
            alarm_description="ALARM: at least one of the loud alarms is red; this one tells nobody, they do. "
            f"{HANDBOOK}#health",
            alarm_rule=cloudwatch.AlarmRule.any_of(
                *(
                    cloudwatch.AlarmRule.from_alarm(alarm, cloudwatch.AlarmState.ALARM)
                    for alarm in self.loud
                )
            ),
        )

    def _alarm(self, alarm: Alarm, settings: Settings, emitters: Emitters) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            alarm.key,
            alarm_name=f"{settings.name}-{alarm.key}",
            alarm_description=describe(alarm),
            metric=_metric(alarm, emitters),
            threshold=alarm.threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.datapoints,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )

    def _count_failed_starts(self, emitters: Emitters, log_group_name: str) -> None:
        logs.MetricFilter(
            self,
            "FailedStarts",
            log_group=logs.LogGroup.from_log_group_name(self, "RetrieveLog", log_group_name),
            filter_pattern=logs.FilterPattern.literal(FAILED_START),
            metric_namespace=emitters.log_namespace,
            metric_name=telemetry.RETRIEVAL_INIT_FAILURES,
            metric_value="1",
        )


def describe(alarm: Alarm) -> str:
    """Say what an alarm means, for the mail and the console; it begins with how loud it is."""
    severity = alarm.severity.value.upper()
    return f"{severity}: {alarm.summary} {alarm.action} {HANDBOOK}#{alarm.key}"


def _metric(alarm: Alarm, emitters: Emitters) -> cloudwatch.IMetric:
    metrics = {
        id_: emitters.metric(metric, period_seconds=alarm.period_seconds)
        for id_, metric in alarm.metrics.items()
    }
    if alarm.expression in metrics:  # one metric says it all
        return metrics[alarm.expression]
    return cloudwatch.MathExpression(
        expression=alarm.expression,
        using_metrics=metrics,
        label=alarm.key,
        period=Duration.seconds(alarm.period_seconds),
    )
