"""Where alarms are sent: a topic that CloudWatch's alarms of this deployment alone may write to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from infra.settings import Settings


def alarm_topic(
    scope: Construct, construct_id: str, *, settings: Settings, encryption_key: kms.IKey | None
) -> sns.Topic:
    """Make the topic, and the subscription where there is an address.

    Under a key, alarms need the key's permission too: with the key that SNS has of its own
    (``alias/aws/sns``), whose policy can't be changed, every alarm would be lost without a trace.

    Args:
        scope: it is made in.
        construct_id: within the scope.
        settings: its name, and the address that alarms are sent to.
        encryption_key: that messages are kept under, of a stack of ours; ``None`` for none.
    """
    topic = sns.Topic(
        scope,
        construct_id,
        topic_name=f"{settings.name}-alarms",
        display_name=f"{settings.name} alarms",
        master_key=encryption_key,
        enforce_ssl=True,
    )
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            sid="AllowOwnAlarms",
            principals=[_alarms()],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions=_own_alarms_only(settings),
        )
    )
    if encryption_key is not None:
        encryption_key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AllowOwnAlarms",
                principals=[_alarms()],
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],  # in a key's policy, that key
                conditions=_own_alarms_only(settings),
            ),
            allow_no_op=False,
        )
    if settings.alarm_email:
        topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
    return topic


def _alarms() -> iam.ServicePrincipal:
    return iam.ServicePrincipal("cloudwatch.amazonaws.com")


def _own_alarms_only(settings: Settings) -> dict[str, Any]:
    """Let the service act for alarms of this deployment only, not for another account's."""
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:{settings.name}-*"
    return {
        "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
        "ArnLike": {"aws:SourceArn": alarms},
    }
