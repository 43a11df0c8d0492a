"""A deployment's CloudWatch alarms, made from ``knowledge_rag.core.alarms``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_logs as logs
from constructs import Construct

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import (
    FIVE_MINUTES,
    Severity,
    Source,
    advice_alarms,
    canary_alarms,
    gateway_alarms,
    ingestion_alarms,
    retrieval_alarms,
)

if TYPE_CHECKING:
    from aws_cdk import aws_sns as sns

    from infra.settings import Settings
    from knowledge_rag.core.alarms import Alarm, Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitters:
    """The sources of a deployment's metrics, by name.

    ``deployment`` is its name, the ``service`` dimension of its functions' metrics. The names of ingestion are
    ``""`` with an existing knowledge base, those of advice without an advice stack, and the gateway's ARN
    without a gateway.
    """

    deployment: str
    retrieve_function: str
    chunk_function: str
    ingestion_function: str
    change_rule: str
    dead_letters: str
    gateway_arn: str = ""
    advice_function: str = ""
    advice_rule: str = ""
    advice_dead_letters: str = ""

    @property
    def log_namespace(self) -> str:
        """Namespace of metrics from filters on Lambda's own log, which have no dimension."""
        return f"{telemetry.NAMESPACE}/{self.deployment}"

    def metric(
        self,
        metric: Metric,
        *,
        label: str | None = None,
        color: str | None = None,
        period_seconds: int = FIVE_MINUTES,
    ) -> cloudwatch.Metric:
        """Return CloudWatch's metric, with a chart's label and color if given."""
        namespace, dimensions = self._place(metric.source)
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=metric.name,
            dimensions_map=dimensions,
            statistic=metric.statistic,
            period=Duration.seconds(period_seconds),
            label=label,
            color=color,
        )

    def _place(self, source: Source) -> tuple[str, dict[str, str] | None]:
        if source is Source.RETRIEVE_LOG:
            return self.log_namespace, None
        if source is Source.GATEWAY:
            return GATEWAY_NAMESPACE, {
                "Operation": "InvokeGateway",
                "Protocol": "MCP",
                "Resource": self.gateway_arn,
            }
        named = {
            Source.RETRIEVE_FUNCTION: ("AWS/Lambda", "FunctionName", self.retrieve_function),
            Source.CHUNK_FUNCTION: ("AWS/Lambda", "FunctionName", self.chunk_function),
            Source.INGESTION_FUNCTION: ("AWS/Lambda", "FunctionName", self.ingestion_function),
            Source.CHANGE_RULE: ("AWS/Events", "RuleName", self.change_rule),
            Source.DEAD_LETTERS: ("AWS/SQS", "QueueName", self.dead_letters),
            Source.ADVICE_FUNCTION: ("AWS/Lambda", "FunctionName", self.advice_function),
            Source.ADVICE_RULE: ("AWS/Events", "RuleName", self.advice_rule),
            Source.ADVICE_DEAD_LETTERS: ("AWS/SQS", "QueueName", self.advice_dead_letters),
        }
        ours = (telemetry.NAMESPACE, "service", self.deployment)
        namespace, dimension, value = named.get(source, ours)
        return namespace, {dimension: value}


GATEWAY_NAMESPACE: Final = "AWS/Bedrock-AgentCore"
"""Namespace of the gateway's metrics; their dimensions are those of aws-cdk-lib's own gateway (``metricInvocations``)."""

HANDBOOK: Final = "docs/operations/alarms.md"
"""Page with a section for each alarm, under its key; ``handbook_url`` of the settings can replace it."""

FAILED_START: Final = (
    '{ ($.type = "platform.initReport" || $.type = "platform.restoreReport")'
    ' && $.record.status != "success" }'
)
"""Pattern of Lambda's log line, at level WARN, for an environment that failed to start (JSON format)."""


class Alarms(Construct):
    """Every alarm, and ``<name>-health``, which is in alarm while at least one of the loud ones is.

    Args:
        emitters: the sources of the watched metrics.
        topic: notified when an alarm begins and ends; ``-health`` notifies nobody, so that one fault
            is not reported twice.
        retrieve_log_group_name: the log group with failed starts of the retrieval function.
        canary: whether there is a canary, so that its alarm has data.

    Attributes:
        loud: alarms worth waking someone for.
        quiet: warnings.
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
        canary: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self._count_failed_starts(emitters, retrieve_log_group_name)
        self.loud: list[cloudwatch.Alarm] = []
        self.quiet: list[cloudwatch.Alarm] = []
        notify = actions.SnsAction(topic)
        asked = (*retrieval_alarms(settings.thresholds), *(canary_alarms() if canary else ()))
        gateway = gateway_alarms() if emitters.gateway_arn else ()
        ingestion = ingestion_alarms() if emitters.ingestion_function else ()
        advice = advice_alarms() if emitters.advice_function else ()
        for alarm in (*asked, *gateway, *ingestion, *advice):
            made = self._alarm(alarm, settings, emitters)
            made.add_alarm_action(notify)
            made.add_ok_action(notify)
            (self.loud if alarm.severity is Severity.ALARM else self.quiet).append(made)
        self.health = cloudwatch.CompositeAlarm(
            self,
            "health",
            composite_alarm_name=f"{settings.name}-health",
            alarm_description="ALARM: at least one of the loud alarms is red; they notify people, this one doesn't. "
            f"{handbook(settings)}#health",
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
            alarm_description=describe(alarm, settings),
            metric=_metric(alarm, emitters),
            threshold=alarm.threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=alarm.periods,
            datapoints_to_alarm=alarm.datapoints,
            treat_missing_data=(
                cloudwatch.TreatMissingData.BREACHING
                if alarm.missing_breaches
                else cloudwatch.TreatMissingData.NOT_BREACHING
            ),
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


def handbook(settings: Settings) -> str:
    """Return the address of the page about alarms, or its path in the project."""
    return settings.monitoring.handbook_url or HANDBOOK


def describe(alarm: Alarm, settings: Settings) -> str:
    """Describe an alarm for the mail and the console, its severity first."""
    severity = alarm.severity.value.upper()
    return f"{severity}: {alarm.summary} {alarm.action} {handbook(settings)}#{alarm.key}"


def _metric(alarm: Alarm, emitters: Emitters) -> cloudwatch.IMetric:
    metrics = {
        id_: emitters.metric(metric, period_seconds=alarm.period_seconds)
        for id_, metric in alarm.metrics.items()
    }
    if alarm.expression in metrics:  # a single metric needs no math expression
        return metrics[alarm.expression]
    return cloudwatch.MathExpression(
        expression=alarm.expression,
        using_metrics=metrics,
        label=alarm.key,
        period=Duration.seconds(alarm.period_seconds),
    )
