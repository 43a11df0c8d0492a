"""What is kept in a bucket between invocations: the queue's file and the receipts.

An object is replaced only if it is as it was read here (``If-Match``), so of two invocations at once one fails, and its
messages come again.
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
"""Folder of the receipts, an object for each day."""


class KeptObject:
    """One object of a bucket.

    Args:
        client: boto3's of S3.
        bucket: its bucket.
        key: its key.
    """

    def __init__(self, client: Any, bucket: str, key: str) -> None:  # noqa: ANN401 - boto3's client
        self._client = client
        self._at = {"Bucket": bucket, "Key": key}
        self._etag = ""
        self._digest = b""

    def read(self) -> bytes | None:
        """Return its content, ``b""`` if it isn't there; ``None`` if it is as it was read or written here last.

        Raises:
            botocore.exceptions.ClientError: it can't be read.
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
        """Replace it, unless it is the same.

        Raises:
            botocore.exceptions.ClientError: somebody else has written, or it can't be written.
        """
        digest = _digest(content)
        if digest == self._digest:
            return
        condition = {"IfMatch": self._etag} if self._etag else {"IfNoneMatch": "*"}
        self._etag = self._client.put_object(**self._at, Body=content, **condition)["ETag"]
        self._digest = digest

    def forget(self) -> None:
        """Read it anew next time, whatever it was."""
        self._etag, self._digest = "", b""


class KeptQueue:
    """The queue, as a file of this environment and an object; see ``knowledge_rag.channel.visits``.

    Args:
        kept: the object.
        folder: for the file.
    """

    def __init__(self, kept: KeptObject, folder: Path) -> None:
        self._kept = kept
        self._path = folder / QUEUE
        self._queue: Queue | None = None

    def load(self) -> Queue:
        """Return the queue as it was kept last."""
        content = self._kept.read()
        if self._queue is None or content is not None:
            self._close()
            for path in self._path.parent.glob(f"{QUEUE}*"):  # with the journal of another state
                path.unlink()
            if content:
                self._path.write_bytes(content)
            self._queue = Queue(self._path)
        return self._queue

    def save(self) -> None:
        """Keep the queue as it is now."""
        if self._queue is not None:
            self._kept.write(self._queue.content())

    def forget(self) -> None:
        """Read it anew next time."""
        self._kept.forget()
        self._close()

    def _close(self) -> None:
        if self._queue is not None:
            with suppress(Exception):  # it is thrown away
                self._queue.close()
        self._queue = None


class KeptReceipts:
    """Receipts of a bucket, in the form of ``knowledge_rag.channel.receipts``.

    Args:
        client: boto3's of S3.
        bucket: where they are kept.
        folder: for the files of this environment.
    """

    def __init__(self, client: Any, bucket: str, folder: Path) -> None:  # noqa: ANN401 - boto3's client
        self._client = client
        self._bucket = bucket
        self._folder = folder / RECEIPTS
        self._days: dict[str, KeptObject] = {}

    def add(self, says: Mapping[str, Any]) -> str:
        """Append a receipt to those of its day, and return its id."""
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
