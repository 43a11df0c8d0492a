"""Old versions of the retrieval function: some stay for a rollback, older ones are deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aws_cdk import Stack
from constructs import Construct

from infra.cloudformation import acknowledge, allow, function_arn
from infra.deploy_steps import DeploySteps

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.settings import Settings


class KeptVersions(Construct):
    """Deletes old versions whenever the alias moves to a new one.

    Versions outlive their replacement because :class:`infra.python_function.PythonFunction` is made with
    ``keep_versions``.

    Args:
        function_name: name of the retrieval function.
        alias: the alias that callers invoke.

    Attributes:
        rollback: the command that moves the alias to the version before the newest.
        steps: the steps of the service stack's deployment.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        function_name: str,
        alias: lambda_.Alias,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        function = function_arn(self, function_name)
        self.steps = DeploySteps(
            self,
            "Steps",
            settings=settings,
            name=f"{settings.name}-service-steps",
            encryption_key=encryption_key,
        )
        _, policy = self.steps.step(
            "Versions",
            [
                allow(
                    "ListVersions",
                    ["lambda:ListAliases", "lambda:ListVersionsByFunction"],
                    [function],
                ),
                # versions only: the ARN of the function itself has no version
                allow("DeleteVersions", ["lambda:DeleteFunction"], [f"{function}:*"]),
            ],
            {"Function": function_name, "Version": alias.version.version},
            after=[alias],
        )
        acknowledge(
            policy,
            f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:"
            f"function:{function_name}:*]",
            "Which versions will be old isn't known; the function itself is out of reach.",
        )
        at = f"--region {stack.region} --function-name {function_name}"
        self.rollback = (
            f"aws lambda update-alias {at} --name {alias.alias_name} --function-version"
            f" $(aws lambda list-versions-by-function {at} --query 'Versions[-2].Version' --output text)"
        )
