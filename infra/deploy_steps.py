"""The function for deployment steps that CloudFormation can't do by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.python_function import PythonFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_kms as kms
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
