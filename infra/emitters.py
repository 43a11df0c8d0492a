"""Who emits the metrics of a deployment: from a metric of the alarms' data to CloudWatch's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import FIVE_MINUTES, Source

if TYPE_CHECKING:
    from knowledge_rag.core.alarms import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class Emitters:
    """The names under which a deployment's metrics are found.

    Args:
        deployment: its name, the ``service`` dimension of what the functions emit.
        retrieve_function: name of ``retrieve_knowledge``.
        chunk_function: name of ``chunk_documents``.
        ingestion_function: name of the ingestion starter.
    """

    deployment: str
    retrieve_function: str
    chunk_function: str
    ingestion_function: str

    @property
    def log_namespace(self) -> str:
        """Namespace of what is counted from Lambda's own log, which has no dimension."""
        return f"{telemetry.NAMESPACE}/{self.deployment}"

    def metric(
        self,
        metric: Metric,
        *,
        label: str | None = None,
        color: str | None = None,
        period_seconds: int = FIVE_MINUTES,
    ) -> cloudwatch.Metric:
        """Give a metric as CloudWatch knows it.

        Args:
            metric: with its source.
            label: that a chart shows.
            color: of its line, ``#rrggbb``.
            period_seconds: that the statistic is taken over.
        """
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
        match source:
            case Source.RETRIEVAL | Source.CHUNKING | Source.INGESTION:
                return telemetry.NAMESPACE, {"service": self.deployment}
            case Source.RETRIEVE_LOG:
                return self.log_namespace, None
            case Source.RETRIEVE_FUNCTION:
                return "AWS/Lambda", {"FunctionName": self.retrieve_function}
            case Source.CHUNK_FUNCTION:
                return "AWS/Lambda", {"FunctionName": self.chunk_function}
            case Source.INGESTION_FUNCTION:
                return "AWS/Lambda", {"FunctionName": self.ingestion_function}
