"""The function for deployment steps that CloudFormation can't do by itself, and checks of existing resources.

The checks run on the first deployment, and whenever a setting that they check changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cloudformation import allow, explain_objects
from infra.python_function import PythonFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_s3 as s3
    from constructs import IDependable

    from infra.settings import Settings


TIMEOUT: Final = cdk.Duration.minutes(15)
"""Lambda's maximum."""
MEMORY_MB: Final = 512
_RESOURCE_TIMEOUT: Final = cdk.Duration.minutes(16)
"""CloudFormation stops waiting then, if the function was killed."""


class DeploySteps(Construct):
    """``deploy_steps``. Each step is a custom resource with rights in a policy of its own.

    The custom resource calls the function directly instead of CDK's provider framework, whose own functions
    have rights with wildcards.

    Args:
        name: the function's name, by default ``<settings.name>-deploy-steps``.

    Attributes:
        role: the role of all steps.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        name: str = "",
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name or f"{settings.name}-deploy-steps"
        self._function = PythonFunction(
            self,
            "Do",
            name=self.name,
            module="lambdas.deploy_steps.handler",
            description="Does the steps of a deployment that CloudFormation can't do by itself.",
            environment={},
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            settings=settings,
            encryption_key=encryption_key,
        )
        self.role = self._function.role

    def step(
        self,
        kind: str,
        statements: Sequence[iam.PolicyStatement],
        properties: dict[str, Any],
        *,
        after: Sequence[IDependable] = (),
    ) -> tuple[cdk.CustomResource, iam.Policy]:
        """Add a step.

        Args:
            kind: the step's type is ``Custom::Knowledge<kind>``.
            statements: the step's rights.
            properties: the function's input.
            after: resources that must exist before.
        """
        policy = iam.Policy(self, f"{kind}Rights", roles=[self.role], statements=list(statements))
        resource = cdk.CustomResource(
            self,
            kind,
            resource_type=f"Custom::Knowledge{kind}",
            service_token=self._function.alias.function_arn,
            service_timeout=_RESOURCE_TIMEOUT,
            properties=properties,
        )
        resource.node.add_dependency(policy, *after)
        return resource, policy

    def tear_down(
        self, emptied: Sequence[s3.Bucket], *statements: iam.PolicyStatement, **properties: str
    ) -> cdk.CustomResource:
        """Add the step that empties buckets when the stack is deleted, with other rights and input, if any."""
        rights = [*statements]
        if emptied:
            listed = [bucket.bucket_arn for bucket in emptied]
            objects = [bucket.arn_for_objects("*") for bucket in emptied]
            deleting = ["s3:DeleteObject", "s3:DeleteObjectVersion"]
            rights.append(allow("ListVersions", ["s3:ListBucketVersions"], listed))
            rights.append(allow("EmptyWithTheStack", deleting, objects))
        names = [bucket.bucket_name for bucket in emptied]
        step, policy = self.step("TearDown", rights, {**properties, "EmptiedBuckets": names})
        for bucket in emptied:
            explain_objects(policy, bucket, "It is emptied when the stack is deleted.")
        return step


def check_documents_bucket(steps: DeploySteps, settings: Settings) -> None:
    """Refuse a ``documents_bucket`` that can't be read; report one that can't be watched well."""
    _check_bucket(
        steps,
        "DocumentsBucketCheck",
        {
            "Bucket": settings.documents.bucket,
            "Setting": "documents_bucket",
            "Key": settings.documents.key,
            "KeySetting": "documents_key",
            "Watched": "true",
        },
        ["s3:GetBucketNotification", "s3:GetBucketVersioning"],
    )


def check_source_bucket(steps: DeploySteps, settings: Settings) -> None:
    """Refuse a ``source_bucket`` that can't be read."""
    _check_bucket(
        steps,
        "SourceBucketCheck",
        {
            "Bucket": settings.existing.bucket,
            "Setting": "source_bucket",
            "Key": settings.existing.key,
            "KeySetting": "source_key",
            "Watched": "false",
        },
        [],
    )


def _check_bucket(
    steps: DeploySteps, output: str, properties: dict[str, str], more: list[str]
) -> None:
    bucket = Stack.of(steps).format_arn(
        service="s3", region="", account="", resource=properties["Bucket"]
    )
    actions = sorted(["s3:GetEncryptionConfiguration", "s3:ListBucket", *more])
    step, _ = steps.step("Bucket", [allow("LookAtBucket", actions, [bucket])], properties)
    CfnOutput(
        Stack.of(steps),
        output,
        value=step.get_att_string("Found"),
        description=f"found when {properties['Setting']} was set",
    )


def check_knowledge_base(steps: DeploySteps, settings: Settings) -> None:
    """Refuse a ``knowledge_base_id`` that can't be searched with the settings."""
    base = settings.existing.knowledge_base_id
    arn = Stack.of(steps).format_arn(
        service="bedrock", resource="knowledge-base", resource_name=base
    )
    step, _ = steps.step(
        "Base",
        [allow("LookAtKnowledgeBase", ["bedrock:GetKnowledgeBase"], [arn])],
        {
            "KnowledgeBaseId": base,
            "Type": settings.existing.kind.value,
            "SearchType": settings.retrieval.search_type.value,
        },
    )
    CfnOutput(
        Stack.of(steps),
        "KnowledgeBaseCheck",
        value=step.get_att_string("Found"),
        description="found when knowledge_base_id was set",
    )
