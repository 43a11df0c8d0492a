"""Sees each change of the documents through: an ingestion job must start after it and complete.

The only state is Bedrock's own list of jobs. A job that is started for a message names it in its
description, so that the next invocation, minutes later and in another process, finds the job again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

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
_MAX_REASON: Final = 300


class Bedrock(Protocol):
    """The used operations of a boto3 ``bedrock-agent`` client."""

    start_ingestion_job: Callable[..., Mapping[str, Any]]
    get_ingestion_job: Callable[..., Mapping[str, Any]]
    list_ingestion_jobs: Callable[..., Mapping[str, Any]]


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


@dataclass(frozen=True, slots=True)
class Waiting:
    """The change is not ingested yet, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Covered:
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

    def __init__(self, client: Bedrock, knowledge_base_id: str, data_source_id: str) -> None:
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
            " ".join(" ".join(job.get("failureReasons", ())).split())[:_MAX_REASON],
        )
