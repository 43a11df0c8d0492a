"""A stack's own key, and the least that a role needs of it.

A key's policy leaves the decision to IAM; what a role may do under it holds through one service only
(``kms:ViaService``), so that nobody decrypts by hand with a role that was made for reading a bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms

from infra.log_groups import allow_log_groups

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import Settings


def stack_key(scope: Construct, settings: Settings, *, part: str, protects: str) -> kms.Key | None:
    """Make a stack's own key, or give ``None`` where the settings ask for the services' keys.

    Each stack has one: a key policy can't name what another stack makes without the two depending on
    each other, and whoever may read the logs of one need not be able to read the corpus of the other.

    Args:
        scope: the stack.
        settings: whether there is one, and what becomes of it when its stack is deleted.
        part: of the deployment that it belongs to, the end of its alias.
        protects: what is encrypted under it, for its description.
    """
    if not settings.customer_managed_key:
        return None
    key = kms.Key(
        scope,
        "Key",
        alias=f"alias/{settings.name}-{part}",
        description=f"{settings.name}: {protects}",
        enable_key_rotation=True,
        removal_policy=cdk.RemovalPolicy[settings.removal.name],
    )
    allow_log_groups(key, f"/aws/lambda/{settings.name}-*")
    return key


def use_key(
    scope: Construct, key: kms.IKey | None, *, via: str, write: bool = False
) -> list[iam.PolicyStatement]:
    """Give what a role needs to read, or to write as well, what a service keeps under the key.

    Args:
        scope: tells the region.
        key: none needs no right.
        via: the service that the role calls, e.g. ``s3``.
        write: whether it writes, too.
    """
    if key is None:
        return []
    return [
        iam.PolicyStatement(
            sid="UseKey",
            actions=["kms:Decrypt", *(["kms:GenerateDataKey"] if write else [])],
            resources=[key.key_arn],
            conditions={
                "StringEquals": {
                    "kms:ViaService": f"{via}.{cdk.Stack.of(scope).region}.amazonaws.com"
                }
            },
        )
    ]
