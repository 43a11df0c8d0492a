"""Checks of existing resources during a deployment: a bucket of documents, a knowledge base.

They run on the first deployment, and whenever a setting that they check changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import CfnOutput, Stack

from infra.cloudformation import allow

if TYPE_CHECKING:
    from infra.deploy_steps import DeploySteps
    from infra.settings import Settings


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
