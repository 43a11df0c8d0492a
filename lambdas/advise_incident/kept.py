"""The state in a bucket between invocations: the queue's file and the receipts.

An object is replaced only if it hasn't changed since it was read (``If-Match``). So if two invocations overlap, one
fails and its messages are redelivered.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from knowledge_rag.channel.queue import Queue
from knowledge_rag.channel.receipts import Receipts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

QUEUE: Final = "queue.sqlite"
"""Key of the queue's object, and name of its file."""
RECEIPTS: Final = "receipts"
"""Folder of the receipts, with an object for each day."""


class KeptObject:
    """One object of a bucket.

    Args:
        client: boto3's client of S3.
        bucket: the object's bucket.
        key: the object's key.
    """

    def __init__(self, client: Any, bucket: str, key: str) -> None:  # noqa: ANN401 - boto3's client
        self._client = client
        self._at = {"Bucket": bucket, "Key": key}
        self._etag = ""
        self._digest = b""

    def read(self) -> bytes | None:
        """Return the content, ``b""`` if there is no object, or ``None`` if it hasn't changed since the last read or write.

        Raises:
            botocore.exceptions.ClientError: the object can't be read.
        """
        condition = {"IfNoneMatch": self._etag} if self._etag else {}
        try:
            answer = self._client.get_object(**self._at, **condition)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ("304", "NotModified"):
                return None
            if code not in ("404", "NoSuchKey"):
                raise
            self.forget()
            return b""
        content: bytes = answer["Body"].read()
        self._etag, self._digest = answer["ETag"], _digest(content)
        return content

    def write(self, content: bytes) -> None:
        """Replace the content if it differs.

        Raises:
            botocore.exceptions.ClientError: the object was changed since the last read, or can't be written.
        """
        digest = _digest(content)
        if digest == self._digest:
            return
        condition = {"IfMatch": self._etag} if self._etag else {"IfNoneMatch": "*"}
        self._etag = self._client.put_object(**self._at, Body=content, **condition)["ETag"]
        self._digest = digest

    def forget(self) -> None:
        """Forget the last read, so that the next one returns the content in any case."""
        self._etag, self._digest = "", b""


class KeptQueue:
    """The queue, as a local file and an object; see ``knowledge_rag.channel.visits``.

    Args:
        kept: the object.
        folder: folder of the file.
    """

    def __init__(self, kept: KeptObject, folder: Path) -> None:
        self._kept = kept
        self._path = folder / QUEUE
        self._queue: Queue | None = None

    def load(self) -> Queue:
        """Return the queue as it was last saved."""
        content = self._kept.read()
        if self._queue is None or content is not None:
            self._close()
            for path in self._path.parent.glob(f"{QUEUE}*"):  # with the journal of an older state
                path.unlink()
            if content:
                self._path.write_bytes(content)
            self._queue = Queue(self._path)
        return self._queue

    def save(self) -> None:
        """Save the queue's current state."""
        if self._queue is not None:
            self._kept.write(self._queue.content())

    def forget(self) -> None:
        """Discard the local queue, so that the next ``load`` reads it again."""
        self._kept.forget()
        self._close()

    def _close(self) -> None:
        if self._queue is not None:
            with suppress(Exception):  # the queue is discarded anyway
                self._queue.close()
        self._queue = None


class KeptReceipts:
    """Receipts in a bucket, in the format of ``knowledge_rag.channel.receipts``.

    Args:
        client: boto3's client of S3.
        bucket: the bucket of the receipts.
        folder: folder of the local files.
    """

    def __init__(self, client: Any, bucket: str, folder: Path) -> None:  # noqa: ANN401 - boto3's client
        self._client = client
        self._bucket = bucket
        self._folder = folder / RECEIPTS
        self._days: dict[str, KeptObject] = {}

    def add(self, says: Mapping[str, Any]) -> str:
        """Append a receipt to those of its day and return its id."""
        name = f"{str(says['asked_at'])[:10]}.jsonl"
        path = self._folder / name
        if name not in self._days:  # yesterday's has ended
            self._days = {name: KeptObject(self._client, self._bucket, f"{RECEIPTS}/{name}")}
        day = self._days[name]
        try:
            before = day.read()
            if before is not None:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                path.write_bytes(before)
            number = Receipts(self._folder).add(says)
            day.write(path.read_bytes())
        except BaseException:
            day.forget()
            raise
        return number


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
