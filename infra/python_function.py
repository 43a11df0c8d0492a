"""The project's Lambda construct: Python on arm64, from a bundle, with a minimal role of its own.

Some functions serve a FIFO queue, whose failed messages go to a dead-letter queue.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.bundling import BUNDLES, NO_BYTE_CODE, bundle
from infra.cloudformation import acknowledge, allow, resource_of
from infra.encryption import log_group, use_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_kms as kms
    from constructs import IDependable

    from infra.bundling import Bundle
    from infra.settings import Settings


RUNTIME: Final = lambda_.Runtime.PYTHON_3_13
"""The runtime that bundles are built for, see ``infra.bundling.PYTHON_RUNTIME``."""

ALIAS: Final = "live"
"""The alias that callers invoke: SnapStart restores published versions only, and a version never changes."""


class PythonFunction(Construct):
    """A Lambda of this project with its role, its log group and its alias.

    Args:
        name: the function's full name, ``<settings.name>-...``, at most 64 characters.
        module: dotted name of the module with the function's ``lambda_handler``.
        description: the description that the console shows.
        environment: variables of the function; they override those that every function has.
        timeout: maximum time of one invocation.
        memory_mb: MB; processing power grows with it.
        settings: the deployment's settings.
        encryption_key: for environment, snapshots and log group, which the key's policy has to allow.
        reserved_concurrency: concurrent invocations that are reserved for it, also its maximum; 0 leaves it
            to the account.
        snap_start: whether versions start from a snapshot of the initialised function.
        keep_versions: whether a version stays when another replaces it; versions of a failed deployment
            don't.

    Attributes:
        alias: ``live``, on the version of the current code and configuration; callers invoke only this.
        role: may write the function's own log streams and its traces, nothing more.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        module: str,
        description: str,
        environment: Mapping[str, str],
        timeout: cdk.Duration,
        memory_mb: int,
        settings: Settings,
        encryption_key: kms.IKey | None = None,
        reserved_concurrency: int = 0,
        snap_start: bool = False,
        keep_versions: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = log_group(
            self,
            "Logs",
            name=f"/aws/lambda/{name}",
            settings=settings,
            encryption_key=encryption_key,
        )
        self.role = self._role(encryption_key)
        packed = _bundle(module)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            description=description,
            code=lambda_.Code.from_asset(
                str(packed.path),
                asset_hash=packed.content_hash,
                asset_hash_type=cdk.AssetHashType.CUSTOM,
            ),
            handler=f"{module}.lambda_handler",
            runtime=RUNTIME,
            architecture=lambda_.Architecture.ARM_64,
            role=self.role,
            environment={
                "POWERTOOLS_SERVICE_NAME": settings.name,  # the metrics' ``service`` dimension
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **environment,
            },
            environment_encryption=encryption_key,
            timeout=timeout,
            memory_size=memory_mb,
            reserved_concurrent_executions=reserved_concurrency or None,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if snap_start else None,
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            current_version_options=lambda_.VersionOptions(
                removal_policy=cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
            )
            if keep_versions
            else None,
        )
        # CDK's own property would put its X-Ray statement among the rights that are granted later
        active = lambda_.CfnFunction.TracingConfigProperty(mode="Active")
        resource_of(self.function, lambda_.CfnFunction).tracing_config = active
        _annotate(self.function, packed)
        self.alias = lambda_.Alias(
            self, "Live", alias_name=ALIAS, version=self.function.current_version, retry_attempts=0
        )

    def _role(self, key: kms.IKey | None) -> iam.Role:
        own = [
            allow(
                "WriteOwnLogs",
                ["logs:CreateLogStream", "logs:PutLogEvents"],
                [self.log_group.log_group_arn],
            ),
            allow("WriteTraces", ["xray:PutTraceSegments", "xray:PutTelemetryRecords"], ["*"]),
            *use_key(self, key, via="lambda"),  # for its environment
        ]
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"Own": iam.PolicyDocument(statements=own)},
        )
        # on the role's inline policies only: rights that are granted later are in a policy of their own,
        # which this must not excuse
        acknowledge(
            resource_of(role, iam.CfnRole),
            "AwsSolutions-IAM5[Resource::*]",
            "X-Ray's two write actions don't support resources; the statement has no others.",
        )
        return role


@cache
def _bundle(module: str) -> Bundle:
    """Bundle once per process: sources don't change during a synth."""
    return bundle(module, BUNDLES)


def _annotate(function: lambda_.Function, packed: Bundle) -> None:
    acknowledge(
        resource_of(function, lambda_.CfnFunction),
        "AwsSolutions-L1",
        "Wheels, byte code and tests are pinned to one supported runtime; it is raised with them.",
    )
    notes = cdk.Annotations.of(function)
    notes.acknowledge_warning(
        "@aws-cdk/aws-lambda:snapStartRequirePublish", "The alias is on a published version."
    )
    if not packed.byte_code:
        notes.add_warning_v2("knowledge-rag:sourcesOnly", NO_BYTE_CODE)


DEAD_LETTER_RETENTION: Final = cdk.Duration.days(14)
"""SQS's maximum."""


def serving(sid: str, queue: sqs.IQueue) -> iam.PolicyStatement:
    """Return the permissions to serve a queue."""
    actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]
    return allow(sid, actions, [queue.queue_arn])


def dead_letters(scope: Construct, name: str) -> sqs.Queue:
    """Create the queue of messages that can't be served."""
    dead = sqs.Queue(
        scope,
        "DeadLetters",
        queue_name=name,
        fifo=True,
        enforce_ssl=True,
        retention_period=DEAD_LETTER_RETENTION,
    )
    acknowledge(dead, "AwsSolutions-SQS3", "It is the queue of dead letters itself.")
    return dead


def serve(
    scope: Construct, queue: sqs.Queue, alias: lambda_.Alias, *, batch_size: int, after: IDependable
) -> lambda_.EventSourceMapping:
    """Let a function serve a queue once its grants exist (``after``); only failed messages of a batch are redelivered."""
    mapping = lambda_.EventSourceMapping(
        scope,
        "Served",
        target=alias,
        event_source_arn=queue.queue_arn,
        batch_size=batch_size,
        report_batch_item_failures=True,
    )
    mapping.node.add_dependency(after)
    return mapping
