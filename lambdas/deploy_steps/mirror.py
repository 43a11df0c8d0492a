"""Makes the documents' bucket hold the files of a folder, and empties buckets for good."""

from __future__ import annotations

import hashlib
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zipfile import ZipFile, ZipInfo

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

    from lambdas.custom_resource import Clock

LIST_KEY: Final = "mirrored.json"
"""Object of the intermediate bucket: what deployments wrote, ``{key: [fingerprint, ETag]}``."""
AT_A_TIME: Final = 4
"""Files that are copied at a time: a request takes tens of milliseconds, nearly all of it waiting, and
thousands of files must be copied within the function's time. Each worker holds one file in memory, of at
most 50 MB."""
_MAX_DELETED: Final = 1000
"""Keys that one DeleteObjects request takes."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """The bucket of the documents, and the one that keeps the list of what was written."""

    documents: str
    intermediate: str


@dataclass(frozen=True, slots=True)
class Mirrored:
    """How many objects were written, unchanged and deleted."""

    written: int
    unchanged: int
    deleted: int

    def __str__(self) -> str:
        """Return one line, as in the stack's output."""
        return f"{self.written} written, {self.unchanged} unchanged, {self.deleted} deleted"


def mirror(
    s3: S3Client, archive: ZipFile, buckets: Buckets, chunking: str, clock: Clock
) -> Mirrored:
    """Write what is new or changed, delete what is gone and a deployment wrote.

    Paths in the archive are keys in the bucket. An object counts as changed when its bytes or the
    version of the chunking did: Bedrock looks at modified objects only, so a document is written anew to
    be chunked anew. An object that somebody else wrote stays, unless the archive has one of its name.

    Raises:
        DeadlineExceeded: there is no time left; what was written stays and is on the list.
        botocore.exceptions.ClientError: a bucket refused.
    """
    there = dict(_objects(s3, buckets.documents))
    before = _read_list(s3, buckets.intermediate)
    files = {entry.filename: entry for entry in _files(archive)}
    now = {key: value for key, value in before.items() if there.get(key) == value[1]}
    failed = Event()

    def bring(key: str) -> bool:
        """Write one file if it changed; return whether it did."""
        clock.check(f"copying {key}")
        data = archive.read(files[key])
        fingerprint = hashlib.sha256(chunking.encode() + b"\n" + data).hexdigest()
        if key in now and now[key][0] == fingerprint:
            return False
        put = s3.put_object(Bucket=buckets.documents, Key=key, Body=data)
        now[key] = [fingerprint, put["ETag"]]
        return True

    def bring_unless_failed(key: str) -> bool:
        # `map` cancels what is left only once its reader has met the error; the workers don't wait for it
        if failed.is_set():
            return False
        try:
            return bring(key)
        except Exception:
            failed.set()
            raise

    try:
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            written = sum(pool.map(bring_unless_failed, files))
        gone = sorted(set(now) - set(files))
        _delete(s3, buckets.documents, ({"Key": key} for key in gone), clock)
        for key in gone:
            del now[key]
    finally:
        s3.put_object(Bucket=buckets.intermediate, Key=LIST_KEY, Body=json.dumps(now).encode())
    return Mirrored(written, len(files) - written, len(gone))


def empty(s3: S3Client, bucket: str, clock: Clock) -> int:
    """Delete every version of every object; return how many versions and delete markers there were.

    Raises:
        DeadlineExceeded: there is no time left.
        botocore.exceptions.ClientError: the bucket refused.
    """
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    versions: Iterator[ObjectIdentifierTypeDef] = (
        {"Key": version["Key"], "VersionId": version["VersionId"]}
        for page in pages
        for version in (*page.get("Versions", ()), *page.get("DeleteMarkers", ()))
    )
    return _delete(s3, bucket, versions, clock)


def _files(archive: ZipFile) -> Iterator[ZipInfo]:
    """Return the plain files; the content of a symbolic link is the path that it points to."""
    for entry in archive.infolist():
        if not entry.is_dir() and not stat.S_ISLNK(entry.external_attr >> 16):
            yield entry


def _objects(s3: S3Client, bucket: str) -> Iterator[tuple[str, str]]:
    """Yield key and ETag of each object: one request for a thousand."""
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for item in page.get("Contents", ()):
            yield item["Key"], item["ETag"]


def _read_list(s3: S3Client, bucket: str) -> dict[str, list[str]]:
    try:
        body = s3.get_object(Bucket=bucket, Key=LIST_KEY)["Body"].read()
    except s3.exceptions.NoSuchKey:
        return {}
    listed: dict[str, list[str]] = json.loads(body)
    return listed


def _delete(
    s3: S3Client, bucket: str, objects: Iterable[ObjectIdentifierTypeDef], clock: Clock
) -> int:
    everything = list(objects)
    for start in range(0, len(everything), _MAX_DELETED):
        clock.check(f"emptying {bucket}")
        some = everything[start : start + _MAX_DELETED]
        refused = s3.delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})
        for error in refused.get("Errors", ()):
            raise PermissionError(f"{bucket} keeps {error.get('Key')}: {error.get('Message')}")
    return len(everything)
