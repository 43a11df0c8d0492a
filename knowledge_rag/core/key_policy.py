"""What the policy of a KMS key has to allow to services that encrypt as themselves.

Roles get their rights on a key from IAM; these services have no role here, so only the key's own policy
can let them in. Stacks say so of keys that they make, ``doctor`` looks for it in a key that they are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KeyUser:
    """A service that uses the key.

    Args:
        sid: of the statement that lets it.
        principal: of the service; ``{region}`` stands for the deployment's.
        actions: that it takes.
        purpose: what can't be without it.
        unless: when it needs nothing, ``""`` for never.
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
    "no log group can be made",
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
    "no index can be made in S3 Vectors",
    "vector_store=opensearch",
)
KEY_USERS: Final = (LOG_GROUPS, ALARMS, VECTORS)
