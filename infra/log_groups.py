"""Log groups: named, kept for as long as the settings say, encrypted where there is a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs

from infra.settings import Removal

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from infra.settings import Settings

_REMOVAL: Final = {
    Removal.DESTROY: cdk.RemovalPolicy.DESTROY,
    # kept, but not by a first deployment that fails: their names are fixed, and the next attempt
    # would fail on the groups that the one before left behind
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
    """Make a log group.

    Args:
        scope: it is made in.
        construct_id: within the scope.
        name: of the group, whole.
        settings: its retention, and what becomes of it when its stack is deleted.
        encryption_key: that CloudWatch Logs may use, see :func:`allow_log_groups`; ``None`` for
            encryption under a key of the service's own.
    """
    group = logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        encryption_key=encryption_key,
        removal_policy=_REMOVAL[settings.removal],
    )
    resource = group.node.default_child
    assert isinstance(resource, logs.CfnLogGroup)  # noqa: S101 - what a LogGroup is made of
    # in days, as the settings have it: CDK's own property is an enumeration of names
    resource.retention_in_days = settings.log_retention_days
    return group


def allow_log_groups(key: kms.Key, *names: str) -> None:
    """Let CloudWatch Logs use a key, for log groups of these names only.

    The service encrypts as itself, so without this a log group under the key can't be made. The
    condition is the one of "Encrypt log data in CloudWatch Logs using KMS".

    Args:
        key: of the caller's own stack; an imported key's policy can't be changed.
        names: of log groups, ``*`` standing for any characters.
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
    key.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AllowLogGroups",
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.amazonaws.com")],
            actions=[
                "kms:Encrypt",
                "kms:Decrypt",
                "kms:ReEncryptFrom",
                "kms:ReEncryptTo",
                "kms:GenerateDataKey",
                "kms:GenerateDataKeyWithoutPlaintext",
                "kms:DescribeKey",
            ],
            resources=["*"],  # in a key's policy, that key
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )
    )
