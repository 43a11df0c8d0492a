"""The two buckets: originals are read from one, batches of content read and written in the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract import sidecar

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from knowledge_rag.core.outcome import MetadataValue


class Storage:
    """Reads and writes objects of an ingestion job.

    Args:
        s3: a boto3 client.
        max_document_bytes: a larger original is not read.
    """

    def __init__(self, s3: S3Client, max_document_bytes: int) -> None:
        self._s3 = s3
        self._max_bytes = max_document_bytes

    def original(self, uri: str) -> tuple[str, bytes]:
        """Read a document's own bytes.

        Args:
            uri: ``s3://bucket/key``. Whether Bedrock escapes the key is not documented, so the key
                is tried as it stands and then unescaped.

        Returns:
            The key that was found, and the bytes.

        Raises:
            UnreadableDocument: there is no such object, or it is too large.
        """
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        for candidate in dict.fromkeys((key, unquote_plus(key))):
            try:
                return candidate, self._read(bucket, candidate)
            except self._s3.exceptions.NoSuchKey:
                continue
        raise UnreadableDocument(uri, "the original is not in its bucket any more")

    def beside(self, uri: str, key: str) -> bytes | None:
        """Read what is said of a document beside it; ``None`` where there is nothing.

        Args:
            uri: of the document.
            key: it was found at.

        Returns:
            One byte more than is read of such a file at most.
        """
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
            UnreadableDocument: it is missing or no batch.
        """
        try:
            with self._s3.get_object(Bucket=bucket, Key=key)["Body"] as body:
                contents = json.loads(body.read())["fileContents"]
        except self._s3.exceptions.NoSuchKey as error:
            raise UnreadableDocument(key, "the content batch is not in its bucket") from error
        except (KeyError, RecursionError, TypeError, ValueError) as error:
            raise UnreadableDocument(key, "the content batch holds no fileContents") from error
        if not isinstance(contents, list) or not all(isinstance(item, dict) for item in contents):
            raise UnreadableDocument(key, "the content batch holds no fileContents")
        return contents

    def write_text(self, bucket: str, key: str, text: str) -> None:
        """Write the text that a document's lines are counted in."""
        self._s3.put_object(
            Bucket=bucket, Key=key, Body=text.encode(), ContentType="text/plain; charset=utf-8"
        )

    def write_batch(self, bucket: str, key: str, contents: list[Content]) -> None:
        """Write one batch of chunks.

        Raises:
            UnicodeEncodeError: a text of it holds a lone surrogate.
        """
        body = json.dumps({"fileContents": contents}, ensure_ascii=False).encode()
        self._s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType="application/json")


Content = dict[str, "str | dict[str, MetadataValue]"]
"""``contentBody``, ``contentType`` and ``contentMetadata`` of one chunk."""
