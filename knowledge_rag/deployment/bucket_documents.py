"""The documents of a deployment, in its corpus bucket.

Only objects of that bucket are read. They may be newer than the ingested ones: each passage has its
document's sha256, as citations do.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidCitation, UnreadableDocument
from knowledge_rag.core.formats import is_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.deployment.aws import read_object
from knowledge_rag.extract import sidecar
from knowledge_rag.extract.documents import cut, extract
from knowledge_rag.local.corpus import MAX_FILE_BYTES
from knowledge_rag.local.knowledge_base import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.deployment.aws import Aws

MAX_PAGES: Final = 20
"""Maximum listings per request, of at most 1,000 objects each."""


class BucketDocuments:
    """A bucket's documents, below a prefix that citations omit; needs ``s3:ListBucket`` and ``s3:GetObject`` on it."""

    def __init__(self, aws: Aws, bucket: str, prefix: str = "", *, page: int = 1_000) -> None:
        self._aws = aws
        self._bucket = bucket
        self._prefix = prefix
        self._page = page

    def after(self, source_file: str, limit: int) -> list[Document]:
        """List documents; see ``Documents``. Without titles, which would cost a request each."""
        return [Document(name, "") for name in islice(self._names(source_file), limit)]

    def named_like(self, part: str, limit: int) -> list[str]:
        """Find documents among the first 20,000 objects; see ``Documents``."""
        wanted = part.lower()
        return list(islice((name for name in self._names("") if wanted in name.lower()), limit))

    def passages(self, source_file: str) -> list[RetrievalResult]:
        """Return a document's lines; see ``Documents``."""
        data = self._bytes(source_file, MAX_FILE_BYTES) if is_document(source_file) else None
        if data is None or len(data) > MAX_FILE_BYTES:
            return []
        beside = self._bytes(source_file + sidecar.SUFFIX, sidecar.MAX_BYTES)
        try:
            chunks = cut(extract(source_file, data, beside))
        except (InvalidCitation, UnreadableDocument):
            return []
        proven = (prove(stored_text(chunk), to_metadata(chunk)) for chunk in chunks)
        return [result for result in proven if isinstance(result, RetrievalResult)]

    def _bytes(self, key: str, max_bytes: int) -> bytes | None:
        """Return an object, or a little more of it than ``max_bytes``; ``None`` if there is none."""
        return read_object(self._aws, self._bucket, self._prefix + key, max_bytes + 1)

    def _names(self, after: str) -> Iterator[str]:
        below = len(self._prefix)
        start: dict[str, Any] = {"StartAfter": self._prefix + after} if after else {}
        for _ in range(MAX_PAGES):
            wanted: dict[str, Any] = {
                "Bucket": self._bucket,
                "Prefix": self._prefix,
                "MaxKeys": self._page,
            }
            answer = self._aws.call("s3", "list_objects_v2", **wanted, **start)
            keys = (it["Key"][below:] for it in answer.get("Contents", []))
            yield from (key for key in keys if is_document(key))
            if not answer.get("IsTruncated"):
                return
            start = {"ContinuationToken": answer["NextContinuationToken"]}
