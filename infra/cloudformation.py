"""Helpers of the constructs: CDK's resources, policy conditions, acknowledged findings of cdk-nag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import aws_cdk as cdk
from aws_cdk import aws_iam as iam

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_s3 as s3
    from constructs import Construct

_Resource = TypeVar("_Resource", bound=cdk.CfnResource)


def resource_of(construct: Construct, kind: type[_Resource]) -> _Resource:
    """Return the CloudFormation resource of one of CDK's own constructs.

    Raises:
        TypeError: its resource is of another type.
    """
    resource = construct.node.default_child
    if not isinstance(resource, kind):
        raise TypeError(f"{construct.node.path} is made of {type(resource).__name__}")
    return resource


def allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: dict[str, Any] | None = None,
) -> iam.PolicyStatement:
    """Return an IAM statement that allows actions on resources."""
    return iam.PolicyStatement(
        sid=sid, actions=list(actions), resources=list(resources), conditions=conditions
    )


def service_role(  # noqa: PLR0913 - a role's own parts
    scope: Construct,
    service: str,
    arn: str,
    *,
    description: str,
    policy: str,
    statements: Sequence[iam.PolicyStatement],
) -> iam.Role:
    """Create a role that a service assumes for this account's resources that match an ARN.

    Its policy is inline, so that the role never exists without it: a service may use it at once.
    """
    return iam.Role(
        scope,
        "Role",
        description=description,
        assumed_by=iam.ServicePrincipal(f"{service}.amazonaws.com", conditions=on_behalf_of(arn)),
        inline_policies={policy: iam.PolicyDocument(statements=list(statements))},
    )


def on_behalf_of(arn: str) -> dict[str, Any]:
    """Return the conditions that let a service act only for resources of this account that match an ARN."""
    return {
        "StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID},
        "ArnLike": {"aws:SourceArn": arn},
    }


def model_arn(scope: Construct, model: str, region: str | None = None) -> str:
    """Return the ARN of a foundation model, in the stack's region unless another is given."""
    return cdk.Stack.of(scope).format_arn(
        service="bedrock",
        region=region,
        account="",
        resource="foundation-model",
        resource_name=model,
    )


def function_arn(scope: Construct, name: str) -> str:
    """Return the ARN of a function in this account and region, by name instead of a reference to the resource."""
    stack = cdk.Stack.of(scope)
    return f"arn:{stack.partition}:lambda:{stack.region}:{stack.account}:function:{name}"


def acknowledge(construct: Construct, rule: str, reason: str) -> None:
    """Acknowledge a finding of cdk-nag on a construct."""
    cdk.Validations.of(construct).acknowledge(cdk.Acknowledgment(id=rule, reason=reason))


def explain_objects(holder: Construct, bucket: s3.IBucket, reason: str, objects: str = "*") -> None:
    """Acknowledge that a policy of ``holder`` reaches every object of a bucket, or those of a prefix."""
    resource = bucket.node.default_child
    if isinstance(resource, cdk.CfnResource):
        arn = f"<{cdk.Stack.of(bucket).resolve(resource.logical_id)}.Arn>"
    else:  # the bucket isn't the stack's own
        arn = f"arn:<AWS::Partition>:s3:::{bucket.bucket_name}"
    acknowledge(holder, f"AwsSolutions-IAM5[Resource::{arn}/{objects}]", reason)
