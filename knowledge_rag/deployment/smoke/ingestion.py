"""Whether the documents are in: the last ingestion job, and what it came to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.deployment.errors import CallFailed
from knowledge_rag.deployment.smoke.report import Promise, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.deployment.aws import Aws

INGESTION: Final = "ingestion"
_RUNNING: Final = ("STARTING", "IN_PROGRESS", "STOPPING")


def check_ingestion(aws: Aws, knowledge_base_id: str, data_source_id: str) -> Promise:
    """Look at the latest ingestion job."""
    source: dict[str, Any] = {
        "knowledgeBaseId": knowledge_base_id,
        "dataSourceId": data_source_id,
    }
    again = (
        f"aws bedrock-agent start-ingestion-job --knowledge-base-id {knowledge_base_id}"
        f" --data-source-id {data_source_id} --region {aws.region}"
    )
    try:
        jobs = aws.call(
            "bedrock-agent",
            "list_ingestion_jobs",
            expect="ingestionJobSummaries",
            **source,
            sortBy={"attribute": "STARTED_AT", "order": "DESCENDING"},
            maxResults=1,
        )["ingestionJobSummaries"]
        if not jobs:
            detail = "no document was ever ingested"
            return Promise(INGESTION, Verdict.BROKEN, detail, f"Run `{again}`.")
        return _judged(aws, source, jobs[0], again)
    except CallFailed as error:
        return Promise(INGESTION, Verdict.UNKNOWN, str(error))


def _judged(aws: Aws, source: Mapping[str, Any], job: Mapping[str, Any], again: str) -> Promise:
    status, counts = job["status"], job.get("statistics", {})
    scanned = counts.get("numberOfDocumentsScanned", 0)
    failed = counts.get("numberOfDocumentsFailed", 0)
    detail = f"the last job is {status}: {scanned} documents, {failed} failed"
    if status in _RUNNING:
        return Promise(INGESTION, Verdict.DEGRADED, detail, "Wait until it has ended.")
    if status == "COMPLETE" and not failed:
        return Promise(INGESTION, Verdict.KEPT, detail)
    reasons = _reasons(aws, source, job["ingestionJobId"])
    action = f"Put right what it names and run `{again}`."
    return Promise(INGESTION, Verdict.BROKEN, f"{detail}{reasons}", action)


def _reasons(aws: Aws, source: Mapping[str, Any], job_id: str) -> str:
    try:
        answer = aws.call(
            "bedrock-agent",
            "get_ingestion_job",
            expect="ingestionJob",
            **source,
            ingestionJobId=job_id,
        )
    except CallFailed as error:
        return f" (why is not known: {error})"
    reasons = answer["ingestionJob"].get("failureReasons", [])
    return "".join(f"; {' '.join(reason.split())[:300]}" for reason in reasons[:3])
