"""Ingestion jobs of one data source: start, wait, drain; and the time that they have.

For about a minute after a deployment the vector store does not know the knowledge base's new rights
and index yet. Failures for that reason are tried again during it; others are not.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import ClientError

from lambdas.custom_resource import PROPAGATION_SECONDS, RETRY_SECONDS, error_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lambdas.custom_resource import Clock

POLL_SECONDS: Final = 5
_ACTIVE: Final = frozenset({"STARTING", "IN_PROGRESS", "STOPPING"})
_LATER: Final = frozenset(
    {
        "ConflictException",  # another job of this data source is running
        "InternalServerException",
        "ServiceQuotaExceededException",  # too many jobs of this account are
        "ThrottlingException",
    }
)
_NOT_YET: Final = (
    "403",
    "forbidden",
    "access denied",
    "accessdenied",
    "not authorized",
    "no such index",
)
_MAX_REASON: Final = 300


class Bedrock(Protocol):
    """The operations of a boto3 ``bedrock-agent`` client that are used here."""

    start_ingestion_job: Callable[..., Mapping[str, Any]]
    get_ingestion_job: Callable[..., Mapping[str, Any]]
    list_ingestion_jobs: Callable[..., Mapping[str, Any]]
    stop_ingestion_job: Callable[..., Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job; the counts are documents.

    Where none could be started in time, the id is ``""`` and the status ``BUSY``. The reason is why
    documents failed, in Bedrock's words, cut to one line.
    """

    job_id: str
    status: str
    indexed: int = 0
    failed: int = 0
    deleted: int = 0
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether the job ran to its end."""
        return self.status == "COMPLETE"

    def __str__(self) -> str:
        """Return one line, as in the stack's output."""
        counts = f"{self.indexed} documents indexed, {self.failed} failed, {self.deleted} deleted"
        return f"{self.status}: {counts}" + (f" ({self.reason})" if self.reason else "")


class IngestionJobs:
    """The jobs of one data source; ``clock`` bounds everything."""

    def __init__(
        self, client: Bedrock, knowledge_base_id: str, data_source_id: str, clock: Clock
    ) -> None:
        self._client = client
        self._source = {"knowledgeBaseId": knowledge_base_id, "dataSourceId": data_source_id}
        self._clock = clock

    def run(self, token: str) -> Outcome:
        """Start a job and wait for its end, as long as there is time.

        A job that is not over in time continues; its status says so. A second run with the same
        ``token`` starts no other job.

        Raises:
            botocore.exceptions.ClientError: Bedrock refuses to start it, and time won't mend that.
        """
        patience = self._clock.now() + PROPAGATION_SECONDS
        attempt = 0
        while True:
            started = self._clock.now()
            job_id = self._start(_client_token(token, attempt), patience)
            outcome = self._wait(job_id) if job_id else Outcome("", "BUSY")
            too_early = started < patience and _is_not_yet(outcome.reason)
            if not too_early or self._clock.left() < RETRY_SECONDS:
                return outcome
            self._clock.sleep(RETRY_SECONDS)
            attempt += 1

    def drain(self) -> None:
        """Stop what runs and wait until it has: a data source in use can't be deleted."""
        while active := self._active():
            for job_id, status in active.items():
                if status != "STOPPING":
                    self._stop(job_id)
            if self._clock.left() < POLL_SECONDS:
                return
            self._clock.sleep(POLL_SECONDS)

    def _start(self, client_token: str, patience: float) -> str:
        """Start a job; return ``""`` where others kept it from starting."""
        while True:
            try:
                started = self._client.start_ingestion_job(
                    **self._source,
                    clientToken=client_token,
                    description="the corpus or its chunker changed",
                )
                return str(started["ingestionJob"]["ingestionJobId"])
            except ClientError as error:
                not_yet = self._clock.now() < patience and _is_not_yet(str(error))
                if not not_yet and error_code(error) not in _LATER:
                    raise
            if self._clock.left() < RETRY_SECONDS:
                return ""
            self._clock.sleep(RETRY_SECONDS)

    def _wait(self, job_id: str) -> Outcome:
        outcome = Outcome(job_id, "STARTING")
        while True:
            try:
                found = self._client.get_ingestion_job(**self._source, ingestionJobId=job_id)
                outcome = _outcome(job_id, found["ingestionJob"])
            except ClientError as error:
                if error_code(error) not in _LATER:
                    raise
            if outcome.status not in _ACTIVE or self._clock.left() < POLL_SECONDS:
                return outcome
            self._clock.sleep(POLL_SECONDS)

    def _active(self) -> dict[str, str]:
        """Return the status of each job that is not over, by id; they are among the latest."""
        listed = self._client.list_ingestion_jobs(
            **self._source, sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"}, maxResults=10
        )
        jobs = {job["ingestionJobId"]: job["status"] for job in listed["ingestionJobSummaries"]}
        return {job_id: status for job_id, status in jobs.items() if status in _ACTIVE}

    def _stop(self, job_id: str) -> None:
        try:
            self._client.stop_ingestion_job(**self._source, ingestionJobId=job_id)
        except ClientError as error:
            # it has just ended by itself, or is not so far that it could be stopped
            if error_code(error) not in {
                *_LATER,
                "ValidationException",
                "ResourceNotFoundException",
            }:
                raise


def _client_token(token: str, attempt: int) -> str:
    return hashlib.sha256(f"{token}/{attempt}".encode()).hexdigest()


def _outcome(job_id: str, job: Mapping[str, Any]) -> Outcome:
    counts = job.get("statistics", {})
    return Outcome(
        job_id,
        str(job["status"]),
        counts.get("numberOfNewDocumentsIndexed", 0)
        + counts.get("numberOfModifiedDocumentsIndexed", 0),
        counts.get("numberOfDocumentsFailed", 0),
        counts.get("numberOfDocumentsDeleted", 0),
        " ".join(" ".join(job.get("failureReasons", ())).split())[:_MAX_REASON],
    )


def _is_not_yet(text: str) -> bool:
    lowered = text.lower()
    return any(sign in lowered for sign in _NOT_YET)
