"""Delivery of alarms: a topic, new or existing, and its subscriptions and chat channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Aws
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.cloudformation import on_behalf_of
from infra.encryption import allow_service
from knowledge_rag.core.alarms import Severity
from knowledge_rag.core.key_policy import ALARMS

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms

    from infra.settings import Settings

NOTHING: Final = "AWSDenyAll"
"""Managed policy that limits the commands of a channel; without one the limit is AdministratorAccess."""


class Notifications(Construct):
    """The topic that alarms notify, its subscriptions, and the chat channels that show its messages.

    Args:
        encryption_key: key of the deployment's own topic; its policy is extended.

    Attributes:
        topic: the deployment's own, or the one that the settings name.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        existing = settings.monitoring.alarm_topic_arn
        self.topic: sns.ITopic = (
            sns.Topic.from_topic_arn(self, "Existing", existing)
            if existing
            else alarm_topic(scope, "Topic", settings=settings, encryption_key=encryption_key)
        )
        _show_in_chat(self, settings, self.topic)


def alarm_topic(
    scope: Construct, construct_id: str, *, settings: Settings, encryption_key: kms.IKey | None
) -> sns.Topic:
    """Create a topic that only this deployment's alarms may publish to, and its subscriptions.

    If the topic is encrypted, the key must allow the alarms too. With SNS's own key (``alias/aws/sns``),
    whose policy can't be changed, every alarm would be lost without a trace.
    """
    topic = sns.Topic(
        scope,
        construct_id,
        topic_name=f"{settings.name}-alarms",
        display_name=f"{settings.name} alarms",
        master_key=encryption_key,
        enforce_ssl=True,
    )
    alarms = f"arn:{Aws.PARTITION}:cloudwatch:{Aws.REGION}:{Aws.ACCOUNT_ID}:alarm:{settings.name}-*"
    publish = iam.PolicyStatement(
        sid=ALARMS.sid,
        principals=[iam.ServicePrincipal(ALARMS.principal)],
        actions=["sns:Publish"],
        resources=[topic.topic_arn],
        conditions=on_behalf_of(alarms),
    )
    topic.add_to_resource_policy(publish)
    if encryption_key is not None:
        allow_service(encryption_key, ALARMS, on_behalf_of(alarms))
    if settings.monitoring.alarm_email:
        mail = subscriptions.EmailSubscription(settings.monitoring.alarm_email)
        topic.add_subscription(mail)
    if settings.monitoring.pagerduty_url:
        _page(topic, settings.monitoring.pagerduty_url)
    return topic


def _page(topic: sns.Topic, url: str) -> None:
    """Page on the loud alarms only, by the severity at the beginning of their descriptions."""
    loud = sns.SubscriptionFilter.string_filter(match_prefixes=[Severity.ALARM.value.upper()])
    sns.Subscription(
        topic,
        "PagerDuty",
        topic=topic,
        endpoint=url,
        protocol=sns.SubscriptionProtocol.HTTPS,
        filter_policy_with_message_body={"AlarmDescription": sns.FilterOrPolicy.filter(loud)},
    )


def _show_in_chat(scope: Construct, settings: Settings, topic: sns.ITopic) -> None:
    slack, teams = settings.monitoring.slack_channel, settings.monitoring.teams_channel
    if not slack and not teams:
        return
    role = iam.Role(
        scope,
        "ChatRole",
        description=f"{settings.name}: shows alarms in chat, and may do nothing",
        assumed_by=iam.ServicePrincipal("chatbot.amazonaws.com"),
    )
    bounds = [f"arn:{Aws.PARTITION}:iam::aws:policy/{NOTHING}"]
    if slack:
        workspace, channel = slack.split("/")
        chatbot.CfnSlackChannelConfiguration(
            scope,
            "Slack",
            configuration_name=f"{settings.name}-slack",
            iam_role_arn=role.role_arn,
            slack_workspace_id=workspace,
            slack_channel_id=channel,
            sns_topic_arns=[topic.topic_arn],
            guardrail_policies=bounds,
        )
    if teams:
        tenant, team, channel = teams.split("/")
        chatbot.CfnMicrosoftTeamsChannelConfiguration(
            scope,
            "Teams",
            configuration_name=f"{settings.name}-teams",
            iam_role_arn=role.role_arn,
            teams_tenant_id=tenant,
            team_id=team,
            teams_channel_id=channel,
            sns_topic_arns=[topic.topic_arn],
            guardrail_policies=bounds,
        )
