"""``start_ingestion``: ingests the documents after a change, one complete job at a time.

A message of the queue means that documents changed. It stays in the queue until a job that started after
it has ended: as long as it has to wait, the function returns it and receives it again minutes
later. The queue has one message group, so no other message is served in the meantime.

The only state is Bedrock's own list of jobs. A job that is started for a message names it in its
description, so that the next invocation, minutes later and in another process, finds the job again.

=================== ====================================== ==========
variable            value                                  default
=================== ====================================== ==========
KNOWLEDGE_BASE_ID   id of the knowledge base               (required)
DATA_SOURCE_ID      id of its data source                  (required)
=================== ====================================== ==========
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from knowledge_rag.core import telemetry
from knowledge_rag.core.errors import InvalidRequest
from lambdas.reporting import MetricUnit, begin, logger, metric_record

_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 3}
)


SWALLOWED_SECONDS: Final = 330
"""How long after a message SQS may drop equal ones: five minutes ("Exactly-once processing in Amazon SQS"),
plus 30 s for clock differences. The queue delays each message for longer, so that its job sees all their
changes."""
_LOOKED_AT: Final = 20
"""Latest jobs that are considered; jobs that aren't ours were started by hand."""
_ACTIVE: Final = frozenset({"STARTING", "IN_PROGRESS", "STOPPING"})
_LATER: Final = frozenset(
    {
        "ConflictException",  # another job of this knowledge base is running
        "InternalServerException",
        "ServiceQuotaExceededException",  # too many jobs of this account are
        "ThrottlingException",
    }
)


@dataclass(frozen=True, slots=True)
class Change:
    """A message that documents changed: its id, and when it was sent."""

    message_id: str
    sent: datetime

    @property
    def mark(self) -> str:
        """Description of the change's job."""
        return f"for message {self.message_id}"

    @property
    def last(self) -> datetime:
        """Time of the latest change that the message may represent."""
        return self.sent + timedelta(seconds=SWALLOWED_SECONDS)


class Waiting(NamedTuple):
    """The change is not ingested yet, for this reason."""

    reason: str


class Covered(NamedTuple):
    """The change is ingested by another message's job, which started after the change and is complete."""

    job_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the change's own job; the counts are documents.

    ``reason`` is Bedrock's explanation of failures, truncated and in one line.
    """

    job_id: str
    status: str
    indexed: int = 0
    failed: int = 0
    deleted: int = 0
    seconds: int = 0
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether the job completed."""
        return self.status == "COMPLETE"


class IngestionJobs:
    """The jobs of one data source."""

    def __init__(self, client: Any, knowledge_base_id: str, data_source_id: str) -> None:  # noqa: ANN401 - boto3's client
        self._client = client
        self._source = {"knowledgeBaseId": knowledge_base_id, "dataSourceId": data_source_id}

    def serve(self, change: Change) -> Waiting | Covered | Outcome:
        """Take the next step for a change, without waiting for a job.

        Raises:
            botocore.exceptions.ClientError: Bedrock refuses, and a later attempt wouldn't help.
        """
        try:
            return self._serve(change)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code not in _LATER:
                raise
            return Waiting(code)

    def _serve(self, change: Change) -> Waiting | Covered | Outcome:
        latest = self._client.list_ingestion_jobs(
            **self._source,
            sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
            maxResults=_LOOKED_AT,
        )["ingestionJobSummaries"]
        for job in latest:
            if job["status"] in _ACTIVE:
                return Waiting(f"job {job['ingestionJobId']} is {job['status']}")
        for job in latest:
            if job.get("description") == change.mark:
                return self._outcome(job["ingestionJobId"])
        for job in latest:
            if job["status"] == "COMPLETE" and job["startedAt"].astimezone(UTC) >= change.last:
                return Covered(job["ingestionJobId"])
        started = self._client.start_ingestion_job(
            **self._source,
            clientToken=hashlib.sha256(change.message_id.encode()).hexdigest(),
            description=change.mark,
        )["ingestionJob"]
        return Waiting(f"job {started['ingestionJobId']} was started")

    def _outcome(self, job_id: str) -> Outcome:
        job = self._client.get_ingestion_job(**self._source, ingestionJobId=job_id)["ingestionJob"]
        counts = job.get("statistics", {})
        return Outcome(
            job_id,
            str(job["status"]),
            counts.get("numberOfNewDocumentsIndexed", 0)
            + counts.get("numberOfModifiedDocumentsIndexed", 0),
            counts.get("numberOfDocumentsFailed", 0),
            counts.get("numberOfDocumentsDeleted", 0),
            int((job["updatedAt"] - job["startedAt"]).total_seconds()),
            " ".join(" ".join(job.get("failureReasons", ())).split())[:300],
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
