"""A knowledge base that this project didn't ingest: its results have no lines, its documents lie in a bucket."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.support.loopback import Loopback, Raw

BUCKET = "team-docs"
PREFIX = "handbook/"


class Bucket(Loopback):
    """S3's GetObject with conditions, by path style.

    Attributes:
        objects: key -> bytes, or the status that S3 answers with.
        served: (key, status) of each request, in the order of their arrival.
    """

    def __init__(self, objects: dict[str, bytes | int]) -> None:
        self.objects = objects
        self.served: list[tuple[str, int]] = []
        super().__init__()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        bucket, _, key = unquote(urlsplit(path).path).lstrip("/").partition("/")
        assert (method, bucket, body) == ("GET", BUCKET, b"")
        found = self.objects.get(key, 404)
        answer = Raw(b"", "application/xml", found) if isinstance(found, int) else _object(found, headers)  # fmt: skip
        self.served.append((key, answer.status))
        return answer


def _object(data: bytes, headers: Any) -> Raw:
    etag = f'"{hashlib.md5(data).hexdigest()}"'
    if headers.get("If-None-Match") == etag:
        return Raw(b"", "text/markdown", 304, (("ETag", etag),))
    return Raw(data, "text/markdown", 200, (("ETag", etag),))


def result(text: str, key: str, number: int = 1, score: float = 0.5, bucket: str = BUCKET) -> dict[str, Any]:  # fmt: skip
    """Return one result of Retrieve as a knowledge base has it that another chunker filled."""
    uri = f"s3://{bucket}/{key}"
    return {
        "content": {"type": "TEXT", "text": text},
        "location": {"type": "S3", "s3Location": {"uri": uri}},
        "metadata": {
            "x-amz-bedrock-kb-source-uri": uri,
            "x-amz-bedrock-kb-chunk-id": f"1%3A0%3A{number}",
            "x-amz-bedrock-kb-data-source-id": "DATASOURCE",
        },
        "score": score,
    }
