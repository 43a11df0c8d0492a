"""What is wrong with a bucket that others made, for a deployment that reads documents from it.

``doctor`` asks before a deployment, and the deployment asks again while it is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


class Harm(StrEnum):
    """What comes of a fault."""

    UNREADABLE = "unreadable"
    """No document can be read."""
    LATE = "late"
    """Changes are ingested at night only."""
    LOST = "lost"
    """The text of a document that was changed is lost."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what it is, without a full stop, and what to do, one sentence."""

    harm: Harm
    detail: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBucket:
    """A bucket, and how a deployment would use it.

    Args:
        name: of the bucket.
        region: that the deployment is in.
        key: ARN of the KMS key that the deployment's roles may use, ``""`` for none.
        key_setting: that names the key.
        watched: whether changes in it are ingested.
    """

    name: str
    region: str
    key: str = ""
    key_setting: str = "documents_key"
    watched: bool = True


class Find(Protocol):
    """Calls an operation of S3."""

    def __call__(
        self,
        operation: str,
        absent: Collection[str],
        **parameters: Any,  # noqa: ANN401 - whatever the operation takes
    ) -> dict[str, Any] | None:
        """Return the answer, ``None`` where S3 answers with one of the codes ``absent``."""


_KMS: Final = ("aws:kms", "aws:kms:dsse")
_OWN_KEY: Final = "alias/aws/s3"


def faults(bucket: GivenBucket, find: Find) -> Iterator[Fault]:
    """Yield what is wrong with a bucket.

    Raises:
        Exception: whatever ``find`` raises for an answer that it couldn't get.
    """
    there = find("head_bucket", ("404", "NoSuchBucket"), Bucket=bucket.name)
    if there is None:
        yield Fault(Harm.UNREADABLE, "there is no such bucket", "Check its name and its account.")
        return
    region = there.get("BucketRegion", bucket.region)
    if region != bucket.region:
        yield Fault(
            Harm.UNREADABLE,
            f"it is in {region}, and the deployment in {bucket.region}",
            f"Deploy to {region}, or copy the documents: only buckets of the own region are read.",
        )
        return
    yield from _encryption(bucket, find)
    if bucket.watched:
        yield from _watching(bucket, find)


def _encryption(bucket: GivenBucket, find: Find) -> Iterator[Fault]:
    found = find(
        "get_bucket_encryption",
        ("ServerSideEncryptionConfigurationNotFoundError",),
        Bucket=bucket.name,
    )
    for rule in found["ServerSideEncryptionConfiguration"]["Rules"] if found else ():
        default = rule.get("ApplyServerSideEncryptionByDefault", {})
        key = default.get("KMSMasterKeyID", _OWN_KEY)
        if default.get("SSEAlgorithm") not in _KMS or _OWN_KEY in key:
            continue
        # an alias may be of the key that is set: only KMS knows
        if bucket.key and ("alias/" in key or _id(key) == _id(bucket.key)):
            continue
        yield Fault(
            Harm.UNREADABLE,
            f"it is encrypted with {key}, which nothing here may use",
            f"Set {bucket.key_setting} to the key's ARN, and allow the roles that read the documents"
            " kms:Decrypt in its policy.",
        )


def _id(key: str) -> str:
    return key.rpartition("/")[2]


def _watching(bucket: GivenBucket, find: Find) -> Iterator[Fault]:
    notified = find("get_bucket_notification_configuration", (), Bucket=bucket.name)
    if "EventBridgeConfiguration" not in (notified or {}):
        yield Fault(
            Harm.LATE,
            "it doesn't tell EventBridge of changes, which are then ingested at night only",
            "Switch that on: see docs/documents-in-aws.md.",
        )
    versioned = find("get_bucket_versioning", (), Bucket=bucket.name)
    if (versioned or {}).get("Status") != "Enabled":
        yield Fault(
            Harm.LOST,
            "it isn't versioned, so the cited text of a changed file is lost",
            "Run `aws s3api put-bucket-versioning --versioning-configuration Status=Enabled"
            f" --bucket {bucket.name}`.",
        )
