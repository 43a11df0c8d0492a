"""The canary release of the retrieval function: a test query first, then a tenth of the calls, then all.

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

from infra.cloudformation import acknowledge, allow, function_arn, on_behalf_of, resource_of
from infra.python_function import PythonFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_cloudwatch as cloudwatch
    from aws_cdk import aws_kms as kms

    from infra.settings import Settings

STEPS: Final = "CodeDeployDefault.LambdaCanary10Percent15Minutes"
"""A tenth of the calls for a quarter of an hour, then all."""
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
        acknowledge(
            policy,
            "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:"
            f"function:{function_name}:*]",
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
                enabled=True,
                events=[
                    "DEPLOYMENT_FAILURE",
                    "DEPLOYMENT_STOP_ON_ALARM",
                    "DEPLOYMENT_STOP_ON_REQUEST",
                ],
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
        role = iam.Role(
            self,
            "Role",
            description="CodeDeploy moves the retrieval function's alias with it",
            assumed_by=iam.ServicePrincipal(
                "codedeploy.amazonaws.com", conditions=on_behalf_of(group)
            ),
            inline_policies={
                "Release": iam.PolicyDocument(
                    statements=[
                        allow("LookAtAlarms", ["cloudwatch:DescribeAlarms"], ["*"]),
                        allow(
                            "MoveAlias",
                            ["lambda:GetAlias", "lambda:UpdateAlias"],
                            [function, f"{function}:{alias}"],
                        ),
                        allow(
                            "LookAtConcurrency",
                            ["lambda:GetProvisionedConcurrencyConfig"],
                            [f"{function}:{alias}"],
                        ),
                        allow(
                            "CallHook",
                            ["lambda:InvokeFunction"],
                            [hook.function.function_arn],
                        ),
                    ]
                )
            },
        )
        acknowledge(
            role,
            "AwsSolutions-IAM5[Resource::*]",
            "CodeDeploy looks at alarms as its managed policy lets it; the statement only reads.",
        )
        return role
