"""Makes the corpus bucket hold exactly the files of the corpus, and empties buckets for good."""

from __future__ import annotations

import hashlib
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from zipfile import ZipFile, ZipInfo

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ObjectIdentifierTypeDef

    from lambdas.custom_resource import Clock

_FINGERPRINT: Final = "fingerprint"
"""Object metadata: what the object was written from."""
_WORKERS: Final = 4
"""Files that are copied at a time: a request takes tens of milliseconds, nearly all of it waiting, and
thousands of files must be copied within the function's time. Each worker holds one file in memory, of at
most 50 MB."""
_MAX_DELETED: Final = 1000
"""Keys that one DeleteObjects request takes."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """How many objects were written, unchanged and deleted."""

    written: int
    unchanged: int
    deleted: int


def mirror(s3: S3Client, archive: ZipFile, bucket: str, chunker: str, clock: Clock) -> Mirrored:
    """Write what is new or changed, delete what is gone.

    Paths in the archive are keys in the bucket. An object counts as changed when its bytes or the
    chunker's version did: Bedrock looks at modified objects only, so a document is written anew to be
    chunked by a new chunker.

    Raises:
        DeadlineExceeded: there is no time left; what was written stays.
        botocore.exceptions.ClientError: the bucket refused.
    """
    there = set(_keys(s3, bucket))
    files = {entry.filename: entry for entry in _files(archive)}

    def bring(key: str) -> bool:
        """Write one file if it changed; return whether it did."""
        clock.check(f"copying {key}")
        data = archive.read(files[key])
        fingerprint = hashlib.sha256(chunker.encode() + b"\n" + data).hexdigest()
        if key in there and _fingerprint(s3, bucket, key) == fingerprint:
            return False
        s3.put_object(Bucket=bucket, Key=key, Body=data, Metadata={_FINGERPRINT: fingerprint})
        return True

    with ThreadPoolExecutor(_WORKERS) as pool:
        written = sum(pool.map(bring, files))
    gone = sorted(there - set(files))
    _delete(s3, bucket, ({"Key": key} for key in gone), clock)
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


def _keys(s3: S3Client, bucket: str) -> Iterator[str]:
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for item in page.get("Contents", ()):
            yield item["Key"]


def _fingerprint(s3: S3Client, bucket: str, key: str) -> str | None:
    return s3.head_object(Bucket=bucket, Key=key)["Metadata"].get(_FINGERPRINT)


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
