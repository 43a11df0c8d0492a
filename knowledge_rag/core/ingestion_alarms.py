"""Alarms on new knowledge that did not arrive.

All of them are warnings: what was indexed before still answers, so nobody needs to get up for it.
"""

from __future__ import annotations

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import FIVE_MINUTES, Alarm, Metric, Severity, Source


def ingestion_alarms() -> tuple[Alarm, ...]:
    """Give the alarms on ingestion."""
    return (
        Alarm.on_first(
            "ingestion-failed-jobs",
            Severity.WARNING,
            Metric(telemetry.INGESTION_FAILED_JOBS, "Sum", Source.INGESTION),
            FIVE_MINUTES,
            summary="An ingestion job failed, was stopped, could not start or did not end in time.",
            action="Read the job's failure reasons in the starter's log, then run it again.",
        ),
        Alarm.on_first(
            "ingestion-failed-documents",
            Severity.WARNING,
            Metric(telemetry.INGESTION_FAILED_DOCUMENTS, "Sum", Source.INGESTION),
            FIVE_MINUTES,
            summary="An ingestion job could not index some documents.",
            action="Read their names and reasons in the starter's log.",
        ),
        Alarm.on_first(
            "ingestion-function-errors",
            Severity.WARNING,
            Metric("Errors", "Sum", Source.INGESTION_FUNCTION),
            FIVE_MINUTES,
            summary="The ingestion starter crashed or was killed.",
            action="Read the end of its log; changed documents are not searchable until a job ran.",
        ),
        Alarm.on_first(
            "chunking-function-errors",
            Severity.WARNING,
            Metric("Errors", "Sum", Source.CHUNK_FUNCTION),
            FIVE_MINUTES,
            summary="chunk_documents crashed or was killed, so that its ingestion job failed.",
            action="Read the end of its log: access to a bucket, settings, or a time-out.",
        ),
        Alarm.on_first(
            "chunking-failed-files",
            Severity.WARNING,
            Metric(telemetry.CHUNKING_FAILED_FILES, "Sum", Source.CHUNKING),
            FIVE_MINUTES,
            summary="Documents yield no chunks, so they can't be found.",
            action="Read their names and reasons in the log of chunk_documents, and mend the files.",
        ),
        Alarm.on_first(
            "chunking-mismatches",
            Severity.WARNING,
            Metric(telemetry.CHUNKING_MISMATCHES, "Sum", Source.CHUNKING),
            FIVE_MINUTES,
            summary="Bedrock's parser changed the text of documents; the original's lines were kept.",
            action="Compare the document with the difference that the log of chunk_documents names.",
        ),
    )
