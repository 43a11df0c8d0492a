"""``chunk_documents``: cuts the documents of an ingestion job into chunks of exact lines.

It is the custom transformation of the knowledge base's data source. A document that can't be read
yields no chunks, is named in the log with the reason and counted; the others go on. Whatever is
wrong with the job as a whole (its shape, access to the buckets) raises, so that the job fails where
its owner sees it.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import boto3

from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.drift.stamp import drift_report, reported
from lambdas.chunk_documents.job import Storage, read_job
from lambdas.chunk_documents.settings import load_settings
from lambdas.chunk_documents.transform import transform
from lambdas.reporting import MetricUnit, begin, logger, metric_record

if TYPE_CHECKING:
    from lambdas.chunk_documents.settings import Settings
    from lambdas.chunk_documents.transform import Transformed


@lru_cache(maxsize=1)
def _service() -> tuple[Settings, Storage]:
    begin()
    settings = load_settings(os.environ)
    return settings, Storage(boto3.client("s3"), settings.max_document_bytes)


def lambda_handler(event: object, context: object) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """Chunk every document of one transformation event.

    Args:
        event: Bedrock's, see :mod:`lambdas.chunk_documents.job`.
        context: Lambda's; not looked at.

    Returns:
        ``{"outputFiles": [...]}`` with an entry for each input file, in their order; that of an
        unreadable one has no content batches.

    Raises:
        InvalidRequest: the event is no transformation event.
        InvalidSettings: the function's environment is wrong.
        botocore.exceptions.ClientError: a bucket refused; the job has to be run again.
    """
    job = read_job(event)
    settings, storage = _service()
    counts = dict.fromkeys(_COUNTED, 0)
    output = []
    reports: dict[str, str] = {}
    for file in job.files:
        keys: tuple[str, ...] = ()
        try:
            done = transform(file, job.bucket, storage, settings)
        except UnreadableDocument as error:
            counts[telemetry.CHUNKING_FAILED_FILES] += 1
            logger.error(  # the reason says it all; a traceback would hide it
                "document yields no chunks",
                document=error.name,
                reason=error.reason,
                job=job.job_id,
            )
        else:
            keys = done.batch_keys
            _report(done, counts)
            key = _report_key(done.source_file)
            before = storage.text(job.bucket, key)
            new, _ = reported(before).split(done.drift)
            counts[telemetry.CHUNKING_NEW_DRIFT_FINDINGS] += len(new)
            if done.drift or before:
                reports[key] = drift_report(done.drift)
        output.append(file.output(keys))
    _emit(counts, job.job_id)
    # last: a call that fails before is made again, and counts them then
    for key, text in reports.items():
        storage.write_text(job.bucket, key, text)
    return {"outputFiles": output}


REPORTS: Final = "drift"
"""Folder of the intermediate bucket with what no longer works in each document."""
MAX_KEY_BYTES: Final = 1_024
"""Of an object's key."""
LOGGED: Final = 20
"""Findings of drift in one document that are logged; the metric counts all."""
_COUNTED: Final = (
    telemetry.CHUNKED_FILES,
    telemetry.CHUNKED_CHUNKS,
    telemetry.CHUNKING_FAILED_FILES,
    telemetry.CHUNKING_MISMATCHES,
    telemetry.CHUNKING_LINT_FINDINGS,
    telemetry.CHUNKING_DRIFT_FINDINGS,
    telemetry.CHUNKING_NEW_DRIFT_FINDINGS,
)


def _report(done: Transformed, counts: dict[str, int]) -> None:
    counts[telemetry.CHUNKED_FILES] += 1
    counts[telemetry.CHUNKED_CHUNKS] += done.chunks
    logger.info("document chunked", document=done.source_file, chunks=done.chunks)
    if done.oversized_lines:
        logger.warning(
            "lines exceed the cap alone", document=done.source_file, lines=done.oversized_lines
        )
    for note in done.notes:
        logger.warning("not all of it is kept", document=done.source_file, what=note)
    if done.difference is not None:
        counts[telemetry.CHUNKING_MISMATCHES] += 1
        logger.error(
            "the parser changed the text; the original's lines are kept",
            document=done.source_file,
            difference=done.difference,
        )
    _report_lint(done, counts)
    counts[telemetry.CHUNKING_DRIFT_FINDINGS] += len(done.drift)
    for finding in done.drift[:LOGGED]:
        logger.warning(
            "drift found something",
            document=done.source_file,
            kind=finding.kind.value,
            line=finding.line,
        )


def _report_key(source_file: str) -> str:
    """Name the report of a document after it: each ingest of it overwrites the last."""
    key = f"{REPORTS}/{source_file}.json"
    if len(key.encode()) > MAX_KEY_BYTES:
        key = f"{REPORTS}/{hashlib.sha256(source_file.encode()).hexdigest()}.json"
    return key


def _report_lint(done: Transformed, counts: dict[str, int]) -> None:
    """Log one line for each kind, of its place and number; what stands there is for no log."""
    for kind in dict.fromkeys(finding.kind for finding in done.findings):
        of_kind = [finding for finding in done.findings if finding.kind is kind]
        number = sum(finding.count for finding in of_kind)
        counts[telemetry.CHUNKING_LINT_FINDINGS] += number
        logger.warning(
            "lint found something",
            document=done.source_file,
            kind=kind.value,
            findings=number,
            first_line=of_kind[0].line,
        )


def _emit(counts: dict[str, int], job_id: str) -> None:
    metrics = metric_record()
    for name, count in counts.items():
        metrics.add_metric(name, MetricUnit.Count, count)
    metrics.add_metadata("ingestion_job_id", job_id)
    metrics.write()
