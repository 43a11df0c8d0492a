"""Permissions that a KMS key's policy must grant to services that encrypt as themselves.

Roles get their rights on a key from IAM. These services have no role here, so only the key's own policy
can admit them. Stacks add these statements to keys that they create; ``doctor`` checks a key that it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KeyUser:
    """A service that uses the key.

    Args:
        sid: of the statement that admits it.
        principal: of the service; ``{region}`` stands for the deployment's.
        actions: that it needs.
        purpose: what fails without it.
        unless: the condition under which it needs nothing, ``""`` for none.
    """

    sid: str
    principal: str
    actions: tuple[str, ...]
    purpose: str
    unless: str = ""


LOG_GROUPS: Final = KeyUser(
    "AllowLogGroups",
    "logs.{region}.amazonaws.com",
    (
        "kms:Encrypt",
        "kms:Decrypt",
        "kms:ReEncryptFrom",
        "kms:ReEncryptTo",
        "kms:GenerateDataKey",
        "kms:GenerateDataKeyWithoutPlaintext",
        "kms:DescribeKey",
    ),
    "no log group can be created",
)
ALARMS: Final = KeyUser(
    "AllowOwnAlarms",
    "cloudwatch.amazonaws.com",
    ("kms:Decrypt", "kms:GenerateDataKey"),
    "alarms are lost without a trace",
    "alarm_topic_arn is set",
)
VECTORS: Final = KeyUser(
    "AllowVectorIndexing",
    "indexing.s3vectors.amazonaws.com",
    ("kms:Decrypt",),
    "no index can be created in S3 Vectors",
    "vector_store=opensearch",
)
KEY_USERS: Final = (LOG_GROUPS, ALARMS, VECTORS)
