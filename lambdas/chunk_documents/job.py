"""The ingestion job as Bedrock describes it, and the answer that it wants.

The shapes are those of "Use a custom transformation Lambda function" in the Amazon Bedrock user
guide. What an ingestion job gets wrong in shape can't be worked around file by file, so it raises
and the job fails where its owner sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class InputFile:
    """One document of the job.

    Args:
        location: ``originalFileLocation`` as it came; it goes back unchanged.
        metadata: ``fileMetadata`` as it came; it goes back unchanged.
        batch_keys: keys of the parser's output in the intermediate bucket, in their order.
    """

    location: Any
    metadata: Any
    batch_keys: tuple[str, ...]

    @property
    def uri(self) -> str:
        """``s3://bucket/key`` of the original, ``""`` where there is none in S3."""
        location = self.location if isinstance(self.location, dict) else {}
        s3_location = location.get("s3_location") or location.get("s3Location")
        uri = s3_location.get("uri") if isinstance(s3_location, dict) else None
        return uri if isinstance(uri, str) and uri.startswith("s3://") else ""

    def output(self, batch_keys: Iterable[str]) -> dict[str, Any]:
        """Give the file's entry in the answer."""
        return {
            "originalFileLocation": self.location,
            "fileMetadata": self.metadata,
            "contentBatches": [{"key": key} for key in batch_keys],
        }


@dataclass(frozen=True, slots=True)
class Job:
    """One invocation's share of an ingestion job.

    Args:
        bucket: the intermediate bucket.
        job_id: Bedrock's id of the ingestion job, for the log.
        files: the documents.
    """

    bucket: str
    job_id: str
    files: tuple[InputFile, ...]


def read_job(event: object) -> Job:
    """Read the transformation event.

    Raises:
        InvalidRequest: it is not one; says which part is missing.
    """
    if not isinstance(event, dict):
        raise InvalidRequest(f"the event is a {type(event).__name__}, not a transformation event")
    bucket, files = event.get("bucketName"), event.get("inputFiles")
    if not isinstance(bucket, str) or not bucket:
        raise InvalidRequest("bucketName is missing: this is no transformation event")
    if not isinstance(files, list):
        raise InvalidRequest("inputFiles is no list: this is no transformation event")
    job_id = event.get("ingestionJobId")
    return Job(bucket, str(job_id or ""), tuple(_file(i, entry) for i, entry in enumerate(files)))


def _file(index: int, entry: object) -> InputFile:
    batches = entry.get("contentBatches") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(batches, list):
        raise InvalidRequest(f"inputFiles[{index}] has no contentBatches")
    keys = [batch.get("key") if isinstance(batch, dict) else None for batch in batches]
    if not all(isinstance(key, str) and key for key in keys):
        raise InvalidRequest(f"inputFiles[{index}] has a content batch without a key")
    return InputFile(
        entry.get("originalFileLocation"), entry.get("fileMetadata", {}), tuple(map(str, keys))
    )
