"""Monitoring of the deployment: alarms and who gets them, the dashboard, and the canary.

The canary is a schedule that asks a documented question every five minutes, whether or not there is other traffic.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from aws_cdk import Aws
from aws_cdk import aws_chatbot as chatbot
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarms import Alarms
from infra.cloudformation import allow, on_behalf_of, service_role
from infra.dashboard import Dashboard
from infra.encryption import allow_service
from infra.setting_values import OFF
from infra.settings import Documents
from infra.sources import PROJECT
from knowledge_rag.core.alarms import Severity
from knowledge_rag.core.key_policy import ALARMS

if TYPE_CHECKING:
    from pathlib import Path

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.alarms import Emitters
    from infra.dashboard import Doors
    from infra.settings import Settings


class Monitoring(Construct):
    """Alarms, the topic that they are sent to, chat channels that show them, and a dashboard for people on call.

    Args:
        emitters: the sources of the watched metrics.
        retrieve_log_group_name: log group of the retrieval function; if it is the log group's attribute,
            CloudFormation deploys the log group first.
        collection_name: name of the OpenSearch Serverless collection, ``""`` without one.
        canary: whether there is a canary.
        doors: the function's entry points and its guardrail.
        encryption_key: key of the topic; if it is the stack's own, its policy is extended.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        emitters: Emitters,
        retrieve_log_group_name: str,
        collection_name: str,
        canary: bool,
        doors: Doors,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        notifications = Construct(self, "Notifications")
        existing = settings.monitoring.alarm_topic_arn
        self.topic: sns.ITopic = (
            sns.Topic.from_topic_arn(notifications, "Existing", existing)
            if existing
            else alarm_topic(self, "Topic", settings=settings, encryption_key=encryption_key)
        )
        _show_in_chat(notifications, settings, self.topic)
        self.alarms = alarms = Alarms(
            self,
            "Alarms",
            settings=settings,
            emitters=emitters,
            topic=self.topic,
            retrieve_log_group_name=retrieve_log_group_name,
            canary=canary,
        )
        self.dashboard = Dashboard(
            self,
            "Dashboard",
            settings=settings,
            emitters=emitters,
            alarms=alarms,
            retrieve_log_group_name=retrieve_log_group_name,
            collection_name=collection_name,
            doors=doors,
        )


NOTHING: Final = "AWSDenyAll"
"""Managed policy that limits the commands of a channel; without one the limit is AdministratorAccess."""


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


EVERY: Final = "rate(5 minutes)"
"""Equals a period of its alarm, so that each period has data."""


def canary_question(settings: Settings, project: Path = PROJECT) -> str:
    """Return the canary's question, ``""`` for no canary.

    The default is the title of the folder's first document that has one. A store that sleeps when idle gets
    no canary: it would never sleep, and always be billed. For an existing knowledge base or a bucket, the
    documents aren't known, so there is a canary only if a question is set.
    """
    asked = settings.monitoring.canary_question
    if settings.existing.knowledge_base_id:
        return "" if asked == OFF else asked
    if settings.store.sleeps or asked == OFF:
        return ""
    if asked or settings.documents.kind is Documents.BUCKET:
        return asked
    return _first_title(project / settings.corpus)


def _first_title(corpus: Path) -> str:
    for path in sorted(corpus.rglob("*.md")):
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            if line.startswith("# "):
                return line.removeprefix("# ").strip()
    return ""


class Canary(Construct):
    """A schedule that invokes the retrieval function.

    It may invoke only that alias. A failed call isn't repeated: the next one follows in five minutes, and
    the alarm considers three.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        question: str,
        retrieve: lambda_.IAlias,
    ) -> None:
        super().__init__(scope, construct_id)
        group = scheduler.CfnScheduleGroup(self, "Group", name=settings.name)
        invoke = allow("InvokeRetrieval", ["lambda:InvokeFunction"], [retrieve.function_arn])
        role = service_role(
            self,
            "scheduler",
            group.attr_arn,
            description=f"{settings.name}: what the canary's schedule may do",
            policy="canary",
            statements=[invoke],
        )
        scheduler.CfnSchedule(
            self,
            "Schedule",
            name=f"{settings.name}-canary",
            group_name=group.ref,
            description="Asks a documented question, so that an outage is seen without traffic.",
            schedule_expression=EVERY,
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=retrieve.function_arn,
                role_arn=role.role_arn,
                input=json.dumps({"query": question, "max_results": 1, "canary": True}),
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(maximum_retry_attempts=0),
            ),
        )
