"""A stack's own key, and the least rights that a role needs on it.

The key's policy delegates to IAM. A role may use the key through one service only (``kms:ViaService``),
so that a role for reading a bucket can't decrypt by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs

from infra.cloudformation import allow, resource_of
from infra.settings import Removal
from knowledge_rag.core.key_policy import LOG_GROUPS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constructs import Construct

    from infra.settings import Settings
    from knowledge_rag.core.key_policy import KeyUser


def stack_key(scope: Construct, settings: Settings, *, part: str, protects: str) -> kms.IKey | None:
    """Create a stack's own key, or return that of the settings, or ``None`` for the services' keys.

    Each stack creates its own: a key policy can't name resources of another stack without making the two
    depend on each other, and people who may read one stack's logs need not be able to read the other's
    corpus. The owner of an existing key maintains its policy (``docs/adopt.md``).
    """
    if not settings.customer_managed_key:
        return None
    if settings.account.key:
        return kms.Key.from_key_arn(scope, "Key", settings.account.key)
    key = kms.Key(
        scope,
        "Key",
        alias=f"alias/{settings.name}-{part}",
        description=f"{settings.name}: {protects}",
        enable_key_rotation=True,
        removal_policy=cdk.RemovalPolicy[settings.removal.name],
    )
    _allow_log_groups(
        key, *(f"{at}/{settings.name}-*" for at in ("/aws/lambda", "/aws/vendedlogs"))
    )
    return key


def key_identity(settings: Settings) -> str | bool:
    """Return a value that identifies the key. A vector store's key can't be changed, only replaced with the store."""
    return settings.account.key or settings.customer_managed_key


def allow_service(key: kms.IKey, user: KeyUser, conditions: Mapping[str, Any]) -> None:
    """Let a service use the stack's own key; an existing key must allow it already."""
    if not isinstance(key, kms.Key):
        return
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid=user.sid,
            principals=[
                iam.ServicePrincipal(user.principal.format(region=cdk.Stack.of(key).region))
            ],
            actions=list(user.actions),
            resources=["*"],  # in a key's policy, that key
            conditions=conditions,
        )
    )


def use_key(
    scope: Construct, key: kms.IKey | None, *, via: str, write: bool = False, sid: str = "UseKey"
) -> list[iam.PolicyStatement]:
    """Return the permissions to decrypt, and with ``write`` to encrypt, through the service ``via`` only."""
    if key is None:
        return []
    return [
        allow(
            sid,
            ["kms:Decrypt", *(["kms:GenerateDataKey"] if write else [])],
            [key.key_arn],
            {
                "StringEquals": {
                    "kms:ViaService": f"{via}.{cdk.Stack.of(scope).region}.amazonaws.com"
                }
            },
        )
    ]


_REMOVAL: Final = {
    Removal.DESTROY: cdk.RemovalPolicy.DESTROY,
    # retained, except when a first deployment fails: names are fixed, so the next attempt would fail
    # on the groups that the previous one left behind
    Removal.RETAIN: cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
}


def log_group(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    settings: Settings,
    encryption_key: kms.IKey | None = None,
) -> logs.LogGroup:
    """Create a log group; its key, if any, must allow it, see :func:`stack_key`."""
    group = logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        encryption_key=encryption_key,
        removal_policy=_REMOVAL[settings.removal],
    )
    # in days, like the setting: CDK's own property is an enumeration of names
    resource_of(group, logs.CfnLogGroup).retention_in_days = settings.log_retention_days
    return group


def _allow_log_groups(key: kms.Key, *names: str) -> None:
    """Let CloudWatch Logs use a key for log groups with these names only; ``*`` is a wildcard.

    The condition is from "Encrypt log data in CloudWatch Logs using KMS".
    """
    stack = cdk.Stack.of(key)
    groups = [
        stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=name,
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )
        for name in names
    ]
    allow_service(key, LOG_GROUPS, {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}})
