"""``start_ingestion``: brings the corpus and the knowledge base up to date when the stack changes.

It is a custom resource of the data stack. On create and update it makes the corpus bucket mirror the
deployed folder, starts an ingestion job and waits for it; on delete it drains a running job and, where
the stack's data is to go with it, empties the buckets. Documents and jobs that fail are metrics and a line
in the stack's outputs: they never undo a deployment. A failure to copy or to start does, because nothing
could be found then. A deletion never waits for an error.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zipfile import ZipFile

import boto3
from botocore.config import Config

from knowledge_rag.core import telemetry
from lambdas.custom_resource import Answer, Kind, respond, with_new_rights
from lambdas.reporting import MetricUnit, logger, metric_record
from lambdas.start_ingestion.corpus import empty, mirror
from lambdas.start_ingestion.jobs import IngestionJobs, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

    from lambdas.custom_resource import Clock, Context, Request

DRAIN_SECONDS: Final = 300
"""For a running job to stop, so that there is time left to empty the buckets."""
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)
"""A call that gets no answer is over within 45 s, so that there is time left for our own."""


@dataclass(frozen=True, slots=True)
class Properties:
    """The custom resource's properties in the template.

    The corpus was uploaded as a zip, the asset. Another version of the chunker makes every document be
    chunked again.
    """

    knowledge_base_id: str
    data_source_id: str
    corpus_bucket: str
    intermediate_bucket: str
    asset_bucket: str
    asset_key: str
    chunker: str
    empty_on_delete: bool


def _properties(request: Request) -> Properties:
    base, source, corpus, intermediate, assets, key, chunker = request.texts(
        "KnowledgeBaseId",
        "DataSourceId",
        "CorpusBucket",
        "IntermediateBucket",
        "AssetBucket",
        "AssetKey",
        "Chunker",
    )
    return Properties(
        base,
        source,
        corpus,
        intermediate,
        assets,
        key,
        chunker,
        str(request.given.get("EmptyOnDelete")).lower() == "true",
    )


def lambda_handler(event: object, context: Context | None) -> None:
    """Serve one request of CloudFormation's, see :func:`lambdas.custom_resource.respond`."""
    respond(event, context, _serve)


def _serve(request: Request, clock: Clock) -> Answer:
    properties = _properties(request)
    s3 = boto3.client("s3", config=_CALLS)
    if request.kind is Kind.DELETE:
        _tear_down(properties, s3, clock)
        return Answer()
    with_new_rights(lambda: _copy(properties, s3, clock), clock)
    try:
        outcome = _jobs(properties, clock).run(request.request_id)
    except Exception:
        _emit(Outcome("", "REFUSED"))
        raise
    _emit(outcome)
    return Answer(data={"Summary": str(outcome), "JobId": outcome.job_id})


def _jobs(properties: Properties, clock: Clock) -> IngestionJobs:
    client = boto3.client("bedrock-agent", config=_CALLS)
    return IngestionJobs(client, properties.knowledge_base_id, properties.data_source_id, clock)


def _copy(properties: Properties, s3: S3Client, clock: Clock) -> None:
    with tempfile.TemporaryFile() as file:
        s3.download_fileobj(properties.asset_bucket, properties.asset_key, file)
        with ZipFile(file) as archive:
            done = mirror(s3, archive, properties.corpus_bucket, properties.chunker, clock)
    logger.info(
        "corpus mirrored", written=done.written, unchanged=done.unchanged, deleted=done.deleted
    )


def _tear_down(properties: Properties, s3: S3Client, clock: Clock) -> None:
    """Drain and empty; where one of them can't be done, the others are."""
    with _tried("drain the running job"):
        _jobs(properties, clock.until(clock.now() + DRAIN_SECONDS)).drain()
    if not properties.empty_on_delete:
        return
    for bucket in (properties.corpus_bucket, properties.intermediate_bucket):
        with _tried(f"empty {bucket}"):
            empty(s3, bucket, clock)


@contextmanager
def _tried(what: str) -> Iterator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001 - a deletion continues with the rest
        logger.exception("could not be done before the deletion", step=what)


def _emit(outcome: Outcome) -> None:
    log = logger.info if outcome.complete and not outcome.failed else logger.error
    log("ingestion job is over" if outcome.complete else "ingestion job did not succeed",
        job=outcome.job_id, status=outcome.status, indexed=outcome.indexed,
        failed=outcome.failed, deleted=outcome.deleted, reason=outcome.reason)  # fmt: skip
    metrics = metric_record()
    for name, count in {
        telemetry.INGESTION_JOBS: 1,
        telemetry.INGESTION_FAILED_JOBS: int(not outcome.complete),
        telemetry.INGESTION_DOCUMENTS: outcome.indexed,
        telemetry.INGESTION_FAILED_DOCUMENTS: outcome.failed,
    }.items():
        metrics.add_metric(name, MetricUnit.Count, count)
    metrics.add_metadata("ingestion_job_id", outcome.job_id)
    metrics.write()
