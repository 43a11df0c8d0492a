"""Charts of ingestion: what became searchable, and what did not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.dashboards.charts import BAD, DOUBTFUL, GOOD, NEUTRAL, THIRD, chart
from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Metric, Source

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

    from infra.emitters import Emitters


def jobs(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show the jobs and the documents that they indexed."""
    lines = (
        (telemetry.INGESTION_JOBS, "jobs", NEUTRAL),
        (telemetry.INGESTION_FAILED_JOBS, "failed jobs", BAD),
        (telemetry.INGESTION_DOCUMENTS, "documents indexed", GOOD),
        (telemetry.INGESTION_FAILED_DOCUMENTS, "documents that failed", DOUBTFUL),
    )
    return chart(
        "Ingestion jobs",
        [
            emitters.metric(Metric(name, "Sum", Source.INGESTION), label=label, color=color)
            for name, label, color in lines
        ],
        unit="count",
        width=THIRD,
    )


def chunking(emitters: Emitters) -> cloudwatch.GraphWidget:
    """Show what was cut into chunks, and the files that could not be."""
    lines = (
        (telemetry.CHUNKED_FILES, "files", NEUTRAL),
        (telemetry.CHUNKED_CHUNKS, "chunks", GOOD),
        (telemetry.CHUNKING_FAILED_FILES, "files without chunks", BAD),
        (telemetry.CHUNKING_MISMATCHES, "files the parser changed", DOUBTFUL),
    )
    errors = Metric("Errors", "Sum", Source.CHUNK_FUNCTION)
    return chart(
        "Chunking",
        [
            *(
                emitters.metric(Metric(name, "Sum", Source.CHUNKING), label=label, color=color)
                for name, label, color in lines
            ),
            emitters.metric(errors, label="crashed calls", color="#9467bd"),
        ],
        unit="count",
        width=THIRD,
    )
