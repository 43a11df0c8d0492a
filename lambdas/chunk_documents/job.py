"""The ingestion job: Bedrock's event, its answer, and the objects in its two buckets.

The formats are those of "Use a custom transformation Lambda function" in the Amazon Bedrock user
guide. An event of another format raises an error, so that the job fails visibly. Originals are read
from the corpus bucket; batches of content are read from and written to the intermediate one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument
from knowledge_rag.extract import sidecar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mypy_boto3_s3 import S3Client

    from knowledge_rag.core.outcome import MetadataValue


@dataclass(frozen=True, slots=True)
class InputFile:
    """One document of the job: its location and metadata, which the answer repeats, and the batches of its parsed text."""

    location: Any
    metadata: Any
    batch_keys: tuple[str, ...]

    @property
    def uri(self) -> str:
        """``s3://bucket/key`` of the original, ``""`` if it isn't in S3."""
        location = self.location if isinstance(self.location, dict) else {}
        s3_location = location.get("s3_location") or location.get("s3Location")
        uri = s3_location.get("uri") if isinstance(s3_location, dict) else None
        return uri if isinstance(uri, str) and uri.startswith("s3://") else ""

    def output(self, batch_keys: Iterable[str]) -> dict[str, Any]:
        """Return the file's entry in the answer."""
        return {
            "originalFileLocation": self.location,
            "fileMetadata": self.metadata,
            "contentBatches": [{"key": key} for key in batch_keys],
        }


@dataclass(frozen=True, slots=True)
class Job:
    """One invocation's part of an ingestion job; ``bucket`` is the intermediate one."""

    bucket: str
    job_id: str
    files: tuple[InputFile, ...]


def read_job(event: object) -> Job:
    """Read the transformation event.

    Raises:
        InvalidRequest: it is not one; the message names the missing part.
    """
    if not isinstance(event, dict):
        raise InvalidRequest(f"the event is a {type(event).__name__}, not a transformation event")
    bucket, files = event.get("bucketName"), event.get("inputFiles")
    if not isinstance(bucket, str) or not bucket:
        raise InvalidRequest("bucketName is missing: not a transformation event")
    if not isinstance(files, list):
        raise InvalidRequest("inputFiles is not a list: not a transformation event")
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


class Storage:
    """Reads and writes objects of an ingestion job; originals over the maximum size are not read."""

    def __init__(self, s3: S3Client, max_document_bytes: int) -> None:
        self._s3 = s3
        self._max_bytes = max_document_bytes

    def original(self, uri: str) -> tuple[str, bytes]:
        """Read the document at ``s3://bucket/key``; return its actual key and its bytes.

        Bedrock doesn't document whether it escapes the key, so the key is tried unchanged and then unescaped.

        Raises:
            UnreadableDocument: there is no such object, or it is too large.
        """
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        for candidate in dict.fromkeys((key, unquote_plus(key))):
            try:
                return candidate, self._read(bucket, candidate)
            except self._s3.exceptions.NoSuchKey:
                continue
        raise UnreadableDocument(uri, "the original is no longer in its bucket")

    def beside(self, uri: str, key: str) -> bytes | None:
        """Read the metadata file beside a document, if any, up to one byte over its limit."""
        bucket = uri.removeprefix("s3://").partition("/")[0]
        try:
            found = self._s3.get_object(Bucket=bucket, Key=key + sidecar.SUFFIX)
        except self._s3.exceptions.NoSuchKey:
            return None
        with found["Body"] as body:
            return body.read(sidecar.MAX_BYTES + 1)

    def _read(self, bucket: str, key: str) -> bytes:
        found = self._s3.get_object(Bucket=bucket, Key=key)
        size = found["ContentLength"]
        with found["Body"] as body:
            if size > self._max_bytes:
                raise UnreadableDocument(
                    key, f"too large: {size} bytes, at most {self._max_bytes} are read"
                )
            return body.read()

    def batch(self, bucket: str, key: str) -> list[dict[str, Any]]:
        """Read the contents of one batch of the parser's output.

        Raises:
            UnreadableDocument: it is missing or not a batch.
        """
        try:
            with self._s3.get_object(Bucket=bucket, Key=key)["Body"] as body:
                contents = json.loads(body.read())["fileContents"]
        except self._s3.exceptions.NoSuchKey as error:
            raise UnreadableDocument(key, "the content batch is not in its bucket") from error
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise UnreadableDocument(key, "the content batch has no fileContents") from error
        if not isinstance(contents, list) or not all(isinstance(item, dict) for item in contents):
            raise UnreadableDocument(key, "the content batch has no fileContents")
        return contents

    def text(self, bucket: str, key: str) -> str:
        """Read a text of :meth:`write_text`, ``""`` if there is none."""
        try:
            with self._s3.get_object(Bucket=bucket, Key=key)["Body"] as body:
                return body.read().decode(errors="replace")
        except self._s3.exceptions.NoSuchKey:
            return ""

    def write_text(self, bucket: str, key: str, text: str) -> None:
        """Write the text that a document's line numbers refer to, or a report."""
        self._s3.put_object(
            Bucket=bucket, Key=key, Body=text.encode(), ContentType="text/plain; charset=utf-8"
        )

    def write_batch(self, bucket: str, key: str, contents: list[Content]) -> None:
        """Write one batch of chunks.

        Raises:
            UnicodeEncodeError: a text in it contains a lone surrogate.
        """
        body = json.dumps({"fileContents": contents}, ensure_ascii=False).encode()
        self._s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")


Content = dict[str, "str | dict[str, MetadataValue]"]
"""``contentBody``, ``contentType`` and ``contentMetadata`` of one chunk."""
