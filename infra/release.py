"""Versions of the retrieval function: the canary release of a new one, and the removal of old ones.

CodeDeploy moves the alias. Its hook queries the new version before any caller reaches it, because at one
query an hour a tenth of the calls tests nothing. After that, alarms of the function's own faults stop a
release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.cloudformation import acknowledge, allow, function_arn, resource_of, service_role
from infra.deploy_steps import DeploySteps
from infra.python_function import PythonFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_kms as kms

    from infra.settings import Settings


STEPS: Final = "CodeDeployDefault.LambdaCanary10Percent15Minutes"
"""A tenth of the calls for a quarter of an hour, then all."""
ROLLED_BACK_AFTER: Final = ("FAILURE", "STOP_ON_ALARM", "STOP_ON_REQUEST")
WATCHED: Final = frozenset({"permanent-errors", "function-errors", "init-failures"})
"""Alarms that fire at the first fault, if the new version may have caused it."""
TIMEOUT: Final = cdk.Duration.minutes(2)
MEMORY_MB: Final = 256


class CanaryRelease(Construct):
    """Moves the alias to each new version by CodeDeploy.

    Args:
        function_name: name of the retrieval function.
        alias: the alias that callers invoke.
        question: the test query for both versions.
        alarms: alarms that stop a release and roll it back.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        function_name: str,
        alias: lambda_.Alias,
        question: str,
        alarms: Sequence[cloudwatch.IAlarm],
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = cdk.Stack.of(self)
        # by name, because the alias itself depends on the hook
        function = function_arn(self, function_name)
        name = f"{settings.name}-retrieve-knowledge"
        group_arn = f"arn:{stack.partition}:codedeploy:{stack.region}:{stack.account}:deploymentgroup:{name}/{name}"
        hook = PythonFunction(
            self,
            "Check",
            name=f"{settings.name}-check-release",
            module="lambdas.check_release.handler",
            description="Asks a new version of the retrieval function before callers reach it.",
            environment={
                "NEW_VERSION": alias.version.function_arn,
                "LIVE_ALIAS": f"{function}:{alias.alias_name}",
                "QUESTION": question,
            },
            timeout=TIMEOUT,
            memory_mb=MEMORY_MB,
            settings=settings,
            encryption_key=encryption_key,
        )
        policy = iam.Policy(
            self,
            "AskAndTell",
            roles=[hook.role],
            statements=[
                allow("AskVersions", ["lambda:InvokeFunction"], [f"{function}:*"]),
                allow(
                    "TellCodeDeploy",
                    ["codedeploy:PutLifecycleEventHookExecutionStatus"],
                    [group_arn],
                ),
            ],
        )
        _explain_versions(
            policy,
            function_name,
            "The next version's number isn't known, and a grant on it alone would come too late.",
        )
        application = codedeploy.CfnApplication(
            self, "Application", application_name=name, compute_platform="Lambda"
        )
        group = codedeploy.CfnDeploymentGroup(
            self,
            "Group",
            application_name=application.ref,
            deployment_group_name=name,
            deployment_config_name=STEPS,
            service_role_arn=self._role(function, alias.alias_name, hook, group_arn).role_arn,
            deployment_style=codedeploy.CfnDeploymentGroup.DeploymentStyleProperty(
                deployment_type="BLUE_GREEN", deployment_option="WITH_TRAFFIC_CONTROL"
            ),
            alarm_configuration=codedeploy.CfnDeploymentGroup.AlarmConfigurationProperty(
                enabled=True,
                alarms=[
                    codedeploy.CfnDeploymentGroup.AlarmProperty(name=alarm.alarm_name)
                    for alarm in alarms
                ],
            ),
            auto_rollback_configuration=codedeploy.CfnDeploymentGroup.AutoRollbackConfigurationProperty(
                enabled=True, events=[f"DEPLOYMENT_{it}" for it in ROLLED_BACK_AFTER]
            ),
        )
        moved = resource_of(alias, lambda_.CfnAlias)
        moved.cfn_options.update_policy = cdk.CfnUpdatePolicy(
            code_deploy_lambda_alias_update=cdk.CfnCodeDeployLambdaAliasUpdate(
                application_name=application.ref,
                deployment_group_name=group.ref,
                before_allow_traffic_hook=hook.function.function_name,
            )
        )
        moved.add_resource_dependency(group)
        moved.node.add_dependency(policy)

    def _role(self, function: str, alias: str, hook: PythonFunction, group: str) -> iam.Role:
        """Create CodeDeploy's role, with the rights of AWSCodeDeployRoleForLambdaLimited on this function only."""
        live = f"{function}:{alias}"
        statements = [
            allow("LookAtAlarms", ["cloudwatch:DescribeAlarms"], ["*"]),
            allow("MoveAlias", ["lambda:GetAlias", "lambda:UpdateAlias"], [function, live]),
            allow("LookAtConcurrency", ["lambda:GetProvisionedConcurrencyConfig"], [live]),
            allow("CallHook", ["lambda:InvokeFunction"], [hook.function.function_arn]),
        ]
        role = service_role(
            self,
            "codedeploy",
            group,
            description="CodeDeploy moves the retrieval function's alias with it",
            policy="Release",
            statements=statements,
        )
        acknowledge(
            role,
            "AwsSolutions-IAM5[Resource::*]",
            "CodeDeploy looks at alarms as its managed policy lets it; the statement only reads.",
        )
        return role


def _explain_versions(policy: iam.Policy, function_name: str, reason: str) -> None:
    """Acknowledge that a policy reaches every version of the function."""
    arn = f"arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:{function_name}:*"
    acknowledge(policy, f"AwsSolutions-IAM5[Resource::{arn}]", reason)


class KeptVersions(Construct):
    """Deletes old versions whenever the alias moves to a new one; some stay for a rollback.

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
        function = function_arn(self, function_name)
        self.steps = DeploySteps(
            self,
            "Steps",
            settings=settings,
            name=f"{settings.name}-service-steps",
            encryption_key=encryption_key,
        )
        listing = ["lambda:ListAliases", "lambda:ListVersionsByFunction"]
        _, policy = self.steps.step(
            "Versions",
            [
                allow("ListVersions", listing, [function]),
                # versions only: the ARN of the function itself has no version
                allow("DeleteVersions", ["lambda:DeleteFunction"], [f"{function}:*"]),
            ],
            {"Function": function_name, "Version": alias.version.version},
            after=[alias],
        )
        _explain_versions(
            policy,
            function_name,
            "Which versions will be old isn't known; the function itself is out of reach.",
        )
        at = f"--region {cdk.Stack.of(self).region} --function-name {function_name}"
        self.rollback = (
            f"aws lambda update-alias {at} --name {alias.alias_name} --function-version"
            f" $(aws lambda list-versions-by-function {at} --query 'Versions[-2].Version' --output text)"
        )
