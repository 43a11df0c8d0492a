"""Reads objects of a deployment's buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError

from knowledge_rag.deployment.errors import CallFailed, call_failed

if TYPE_CHECKING:
    from knowledge_rag.deployment.aws import Aws


def read_object(aws: Aws, bucket: str, key: str, most: int | None = None) -> bytes | None:
    """Read an object.

    Args:
        aws: account and region.
        bucket: its name.
        key: of the object.
        most: bytes that are read at most; ``None`` for all.

    Returns:
        ``None`` where there is no such object.

    Raises:
        CallFailed: it can't be told, or can't be read.
    """
    try:
        answer = aws.call("s3", "get_object", Bucket=bucket, Key=key)
        data: bytes = answer["Body"].read(most)
    except CallFailed as error:
        if error.code == "NoSuchKey":
            return None
        raise
    except BotoCoreError as error:
        raise call_failed(error, "s3:GetObject") from error
    return data
