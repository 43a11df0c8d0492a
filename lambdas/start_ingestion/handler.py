"""``start_ingestion``: ingests the documents after a change, one complete job at a time.

A message of the queue means that documents changed. It stays in the queue until a job that started after
it has ended: as long as it has to wait, the function returns it and receives it again minutes
later. The queue has one message group, so no other message is served in the meantime.

=================== ====================================== ==========
variable            value                                  default
=================== ====================================== ==========
KNOWLEDGE_BASE_ID   id of the knowledge base               (required)
DATA_SOURCE_ID      id of its data source                  (required)
=================== ====================================== ==========
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import boto3
from botocore.config import Config

from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import InvalidRequest
from lambdas.reporting import MetricUnit, begin, logger, metric_record
from lambdas.start_ingestion.jobs import Change, IngestionJobs, Outcome, Waiting

_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)


def lambda_handler(event: object, _context: object) -> dict[str, Any]:
    """Serve the messages of one batch.

    Returns:
        The messages to redeliver, ``{"batchItemFailures": [{"itemIdentifier"}]}``.

    Raises:
        InvalidRequest: the event is not a batch of queue messages.
        botocore.exceptions.ClientError: Bedrock refuses; the messages are redelivered.
    """
    begin()
    again = [change for change in read_changes(event) if not _is_done(change)]
    return {"batchItemFailures": [{"itemIdentifier": change.message_id} for change in again]}


def read_changes(event: object) -> list[Change]:
    """Read the messages of a batch.

    Raises:
        InvalidRequest: the event is not a batch of queue messages.
    """
    try:
        return [
            Change(
                str(record["messageId"]),
                datetime.fromtimestamp(int(record["attributes"]["SentTimestamp"]) / 1000, UTC),
            )
            for record in event["Records"]  # type: ignore[index] # of any type
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise InvalidRequest(f"the event is not a batch of queue messages: {error!r}") from error


@lru_cache(maxsize=1)
def _jobs() -> IngestionJobs:
    return IngestionJobs(
        boto3.client("bedrock-agent", config=_CALLS),
        os.environ["KNOWLEDGE_BASE_ID"],
        os.environ["DATA_SOURCE_ID"],
    )


def _is_done(change: Change) -> bool:
    found = _jobs().serve(change)
    if isinstance(found, Waiting):
        logger.info("change is waiting", reason=found.reason)
        return False
    if isinstance(found, Outcome):
        _emit(found)
    else:
        logger.info("change is already ingested", job=found.job_id)
    return True


def _emit(outcome: Outcome) -> None:
    log = logger.info if outcome.complete and not outcome.failed else logger.error
    log("ingestion job is over" if outcome.complete else "ingestion job did not succeed",
        job=outcome.job_id, status=outcome.status, indexed=outcome.indexed,
        failed=outcome.failed, deleted=outcome.deleted, seconds=outcome.seconds,
        reason=outcome.reason)  # fmt: skip
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
