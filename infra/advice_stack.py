"""The advice stack: alarms and other tools' events go through a queue to a function that posts the steps.

It is opt-in (``advice_destinations``). It imports nothing from the service stack: the retrieval function's alias
has a known name.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from infra.agent import invoke_statements
from infra.buckets import private_bucket
from infra.cloudformation import acknowledge, allow, explain_objects
from infra.deploy_steps import DeploySteps
from infra.encryption import stack_key, use_key
from infra.python_function import ALIAS, PythonFunction, dead_letters, serve, serving
from infra.settings import Removal
from infra.sources import load_sources
from knowledge_rag.channel.settings import Kind, read_destinations

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import Settings

MODULE: Final = "lambdas.advise_incident.handler"
GROUP: Final = "alerts"
"""The queue's one message group, so that one invocation at a time uses the stored queue. EventBridge can't choose a
group by an event's content."""
TIMEOUT: Final = cdk.Duration.minutes(5)
VISIBILITY: Final = cdk.Duration.minutes(6)
"""Longer than the function's timeout, so that no other invocation gets messages that are being served."""
MAX_RECEIVES: Final = 20
"""After two hours of failures a batch moves to the dead letters, and the next one is served."""
RETENTION: Final = cdk.Duration.days(4)
TICK: Final = events.Schedule.rate(cdk.Duration.minutes(1))
"""How often waiting posts are retried, and alert storms are summarized."""
MEMORY_MB: Final = 1024
RECEIPT_DAYS: Final = 400
"""Retention of receipts."""
RECEIPTS: Final = "receipts/"
QUEUE: Final = "queue.sqlite"
"""The same as ``RECEIPTS`` and ``QUEUE`` in ``lambdas.advise_incident.kept``."""


def function_name(settings: Settings) -> str:
    """Return the advice function's name."""
    return f"{settings.name}-advise-incident"


def alarm_rule_name(settings: Settings) -> str:
    """Return the name of the rule that puts alarms into the queue."""
    return f"{settings.name}-advise-alarms"


def dead_letters_name(settings: Settings) -> str:
    """Return the name of the dead-letter queue."""
    return f"{settings.name}-alerts-failed.fifo"


class AdviceStack(cdk.Stack):
    """Bus, rules, queue, function, and the bucket of its queue and receipts.

    Raises:
        SourcesError: the file of the destinations is missing or wrong.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        **kwargs: Any,  # noqa: ANN401 - any property of a stack
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self._settings = settings
        self._destinations = load_sources(settings).destinations
        self._key = stack_key(
            self, settings, part="advice", protects="alerts, receipts and logs of the advice stack"
        )
        self._dead = dead_letters(self, dead_letters_name(settings))
        queue = self._queue()
        bucket = self._bucket()
        function = self._function(bucket)
        policy = self._grants(function.role, queue, bucket)
        mapping = serve(self, queue, function.alias, batch_size=10, after=policy)
        bus = self._rules(queue)
        if settings.removal is Removal.DESTROY:
            mapping.node.add_dependency(self._emptied(bucket))  # nothing may write after it
        self._outputs(bus, bucket)

    def _queue(self) -> sqs.Queue:
        return sqs.Queue(
            self,
            "Alerts",
            queue_name=f"{self._settings.name}-alerts.fifo",
            fifo=True,
            content_based_deduplication=True,
            visibility_timeout=VISIBILITY,
            retention_period=RETENTION,
            enforce_ssl=True,
            dead_letter_queue=sqs.DeadLetterQueue(queue=self._dead, max_receive_count=MAX_RECEIVES),
        )

    def _bucket(self) -> s3.Bucket:
        receipts = s3.LifecycleRule(
            id="receipts", prefix=RECEIPTS, expiration=cdk.Duration.days(RECEIPT_DAYS)
        )
        bucket = private_bucket(
            self, "Kept", settings=self._settings, encryption_key=self._key, expiry=receipts
        )
        acknowledge(
            bucket,
            "AwsSolutions-S1",
            "One function alone reads and writes it, and logs what it does; receipts are chained.",
        )
        return bucket

    def _function(self, bucket: s3.Bucket) -> PythonFunction:
        secret, model = self._settings.advice.secret, self._settings.advice.model
        return PythonFunction(
            self,
            "Advise",
            name=function_name(self._settings),
            module=MODULE,
            description="Posts the steps of runbooks for alarms where people are.",
            environment={
                "RETRIEVE_FUNCTION": self._retrieve_arn(),
                "DESTINATIONS": self._destinations,
                "STATE_BUCKET": bucket.bucket_name,
                "DEAD_LETTERS_URL": self._dead.queue_url,
                **({"SECRET_ARN": secret} if secret else {}),
                **({"MODEL_ID": model} if model else {}),
            },
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            settings=self._settings,
            encryption_key=self._key,
        )

    def _retrieve_arn(self) -> str:
        name = f"{self._settings.name}-retrieve-knowledge"
        return self.format_arn(
            service="lambda",
            resource="function",
            resource_name=f"{name}:{ALIAS}",
            arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
        )

    def _grants(self, role: iam.IRole, queue: sqs.Queue, bucket: s3.Bucket) -> iam.Policy:
        """Allow serving the queue, calling the retrieval function and the model, storing state, and posting."""
        advice = self._settings.advice
        policy = iam.Policy(
            self,
            "Post",
            roles=[role],
            statements=[
                serving("ServeAlerts", queue),
                allow("MoveUnreadable", ["sqs:SendMessage"], [self._dead.queue_arn]),
                allow("AskRetrieval", ["lambda:InvokeFunction"], [self._retrieve_arn()]),
                # without it S3 answers "access denied" for an object that doesn't exist yet
                allow("FindKept", ["s3:ListBucket"], [bucket.bucket_arn]),
                allow(
                    "KeepQueueAndReceipts",
                    ["s3:GetObject", "s3:PutObject"],
                    [bucket.arn_for_objects(QUEUE), bucket.arn_for_objects(f"{RECEIPTS}*")],
                ),
                *use_key(self, self._key, via="s3", write=True, sid="UseKeyOfBucket"),
                *self._writes(),
                *self._posts(role),
            ],
        )
        explain_objects(policy, bucket, "An object for each day's receipts.", f"{RECEIPTS}*")
        if advice.secret:
            keys = allow("ReadKeys", ["secretsmanager:GetSecretValue"], [advice.secret])
            policy.add_statements(keys)
        if advice.secret_key:
            key = kms.Key.from_key_arn(self, "SecretKey", advice.secret_key)
            policy.add_statements(*use_key(self, key, via="secretsmanager", sid="UseKeyOfSecret"))
        return policy

    def _writes(self) -> list[iam.PolicyStatement]:
        """Allow invoking the model that writes posts, if there is one."""
        advice = self._settings.advice
        if not advice.model:
            return []
        return invoke_statements(self, advice.model, advice.model_regions, ["bedrock:InvokeModel"])

    def _posts(self, role: iam.IRole) -> list[iam.PolicyStatement]:
        """Allow posting to destinations in AWS; the others need a key instead."""
        found = read_destinations(self._destinations, None).destinations.values()
        topics = sorted({it.topic for it in found if it.kind is Kind.SNS})
        regions = sorted({it.region for it in found if it.kind is Kind.OPS_ITEM})
        if regions:  # in a policy of its own, so that acknowledging its * excuses nothing else
            condition = {"StringEquals": {"aws:RequestedRegion": regions}}
            items = allow("MakeOpsItems", ["ssm:CreateOpsItem"], ["*"], condition)
            policy = iam.Policy(self, "OpsItems", roles=[role], statements=[items])
            acknowledge(
                policy,
                "AwsSolutions-IAM5[Resource::*]",
                "A new OpsItem has no ARN yet; the statement has no other action.",
            )
        return [allow("Publish", ["sns:Publish"], topics)] if topics else []

    def _rules(self, queue: sqs.Queue) -> events.EventBus:
        name = self._settings.name
        bus = events.EventBus(self, "Bus", event_bus_name=f"{name}-alerts")
        target = targets.SqsQueue(queue, message_group_id=GROUP)
        events.Rule(
            self,
            "Alarms",
            rule_name=alarm_rule_name(self._settings),
            description="CloudWatch alarms that begin, except those of this deployment.",
            event_pattern=events.EventPattern(
                source=["aws.cloudwatch"],
                detail_type=["CloudWatch Alarm State Change"],
                detail={
                    "alarmName": [{"anything-but": {"prefix": f"{name}-"}}],
                    "state": {"value": ["ALARM"]},
                },
            ),
            targets=[target],
        )
        events.Rule(
            self,
            "Others",
            rule_name=f"{name}-advise-others",
            description="Events that other tools send to the bus.",
            event_bus=bus,
            event_pattern=events.EventPattern(account=[self.account]),
            targets=[target],
        )
        events.Rule(
            self,
            "Tick",
            rule_name=f"{name}-advise-tick",
            description="Sends waiting posts and summaries of alert storms.",
            schedule=TICK,
            targets=[target],
        )
        return bus

    def _emptied(self, bucket: s3.Bucket) -> cdk.CustomResource:
        steps = DeploySteps(
            self,
            "Steps",
            settings=self._settings,
            name=f"{self._settings.name}-advice-steps",
            encryption_key=self._key,
        )
        return steps.tear_down([bucket])

    def _outputs(self, bus: events.EventBus, bucket: s3.Bucket) -> None:
        alert = json.dumps({"alerts": [{"status": "firing", "labels": {"alertname": "DiskFull"}}]})
        entry = {
            "EventBusName": bus.event_bus_name,
            "Source": "alertmanager",
            "DetailType": "alert",
            "Detail": alert,
        }
        for name, value, description in (
            ("AdviceBusName", bus.event_bus_name, "other tools send alerts to it"),
            ("AdviceBucketName", bucket.bucket_name, "of the receipts"),
            (
                "TryAdvice",
                f"aws events put-events --region {self.region} --entries '{json.dumps([entry])}'",
                "posts the steps for an alert",
            ),
        ):
            cdk.CfnOutput(self, name, value=value, description=description)
