"""``chunk_documents``: cuts the documents of an ingestion job into chunks of exact lines.

It is the custom transformation of the knowledge base's data source. A document that can't be read
yields no chunks and is logged with the reason and counted; the others are processed. A problem of the job as
a whole (its format, access to the buckets) raises an error, so that the job fails visibly.
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


def lambda_handler(event: object, _context: object) -> dict[str, Any]:
    """Chunk every document of one transformation event, see :mod:`lambdas.chunk_documents.job`.

    Returns:
        ``{"outputFiles": [...]}`` with an entry for each input file, in the same order; that of an
        unreadable one has no content batches.

    Raises:
        InvalidRequest: the event is not a transformation event.
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
            logger.error(  # without a traceback, which would hide the reason
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
    # last, because a call that fails before is repeated and has to count them as new again
    for key, text in reports.items():
        storage.write_text(job.bucket, key, text)
    return {"outputFiles": output}


REPORTS: Final = "drift"
"""Folder of the intermediate bucket with each document's report of problems in its commands."""
MAX_KEY_BYTES: Final = 1_024
"""Maximum bytes of an object's key."""
LOGGED: Final = 20
"""Maximum findings of drift that are logged for one document; the metric counts all."""
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
            "single lines exceed the cap", document=done.source_file, lines=done.oversized_lines
        )
    for note in done.notes:
        logger.warning("parts of the document left out", document=done.source_file, what=note)
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
    """Return the key of a document's report, named after the document, so that each ingestion overwrites it."""
    key = f"{REPORTS}/{source_file}.json"
    if len(key.encode()) > MAX_KEY_BYTES:
        key = f"{REPORTS}/{hashlib.sha256(source_file.encode()).hexdigest()}.json"
    return key


def _report_lint(done: Transformed, counts: dict[str, int]) -> None:
    """Log one line for each kind of finding, with its place and number but not its text, which doesn't belong in a log."""
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
