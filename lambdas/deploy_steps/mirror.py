"""Mirrors a folder's files to the documents' bucket, and empties buckets including old versions."""

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
"""Object of the intermediate bucket that lists the documents written by deployments, ``{key: [fingerprint, ETag]}``."""
AT_A_TIME: Final = 4
"""Files that are copied concurrently. A request takes tens of milliseconds, nearly all of it waiting, and
thousands of files must be copied within the function's time. Each worker has one file in memory, of at
most 50 MB."""
_MAX_DELETED: Final = 1000
"""Maximum keys of a DeleteObjects request."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """The bucket of the documents, and the one with the list of written documents."""

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
    """Write new and changed files, and delete documents of earlier deployments that the archive lacks.

    Paths in the archive are keys in the bucket. An object counts as changed if its bytes or the
    version of the chunking changed: Bedrock considers modified objects only, so a document must be rewritten
    to be chunked again. Objects of other writers stay, unless the archive has a file of the same name.

    Raises:
        DeadlineExceeded: there is no time left; written objects stay and are on the list.
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
        # `map` cancels the remaining files only once its reader meets the error; the workers don't wait for that
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
    """Delete every version of every object; return the number of versions and delete markers.

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
    """Yield the plain files. Symbolic links are skipped, because their content is only their target's path."""
    for entry in archive.infolist():
        if not entry.is_dir() and not stat.S_ISLNK(entry.external_attr >> 16):
            yield entry


def _objects(s3: S3Client, bucket: str) -> Iterator[tuple[str, str]]:
    """Yield key and ETag of each object."""
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
            raise PermissionError(
                f"{bucket}: can't delete {error.get('Key')}: {error.get('Message')}"
            )
    return len(everything)
