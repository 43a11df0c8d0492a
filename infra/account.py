"""An organisation's requirements for every stack: deployment roles, permissions boundary, tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk

from infra.setting_values import OWN_TAG

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import AccountSettings, Settings

TAGS_FOR_EVER: Final = ("AWS::OpenSearchServerless::Collection",)
"""Types whose tags can't be changed: CloudFormation would have to replace the resource under the same
name, which fails. They get only the deployment's own tag, which never changes, and no tags of the settings."""

_QUALIFIER: Final = "@aws-cdk/core:bootstrapQualifier"
"""CDK's own context key for the qualifier."""


def stack_options(account: AccountSettings) -> dict[str, Any]:
    """Return a stack's properties: its synthesizer, and the permissions boundary of its roles.

    Unset properties keep CDK's defaults, those of the bootstrap stack that ``cdk bootstrap`` makes.
    """
    given = {
        "qualifier": account.qualifier,
        "deploy_role_arn": account.deploy_role,
        "cloud_formation_execution_role": account.execution_role,
        "file_asset_publishing_role_arn": account.assets_role,
        "file_assets_bucket_name": account.assets_bucket,
    }
    prescribed: dict[str, Any] = {name: value for name, value in given.items() if value}
    options: dict[str, Any] = {}
    if prescribed:
        options["synthesizer"] = cdk.DefaultStackSynthesizer(**prescribed)
    if account.permissions_boundary:
        bounded = account.permissions_boundary
        options["permissions_boundary"] = cdk.PermissionsBoundary.from_arn(
            cdk.Fn.sub(bounded) if "${" in bounded else bounded
        )
    return options


def add_tags(app: cdk.App, settings: Settings) -> None:
    """Tag everything with the deployment's name, and with the tags of the settings."""
    for key, value in settings.account.tags.items():
        cdk.Tags.of(app).add(key, value, exclude_resource_types=list(TAGS_FOR_EVER))
    cdk.Tags.of(app).add(OWN_TAG, settings.name)


def execution_role_arn(scope: Construct, account: AccountSettings) -> str:
    """Return the ARN of CloudFormation's execution role, which creates the OpenSearch index.

    It can't be read from the synthesizer: CDK binds a copy of the stack's synthesizer, which Python
    can't access.

    Raises:
        ValueError: the stack isn't deployed by CDK's default synthesizer, so the role is unknown.
    """
    default = cdk.DefaultStackSynthesizer
    if not isinstance(cdk.Stack.of(scope).synthesizer, default):
        raise ValueError(  # noqa: TRY004 - the error is in the stack's deployment, not in a type
            "the stack must be deployed by CDK's default synthesizer: its CloudFormation execution role"
            " creates the OpenSearch index and needs access by name"
        )
    qualifier = (
        account.qualifier or scope.node.try_get_context(_QUALIFIER) or default.DEFAULT_QUALIFIER
    )
    arn = account.execution_role or default.DEFAULT_CLOUDFORMATION_ROLE_ARN
    return cdk.Fn.sub(arn.replace("${Qualifier}", qualifier))
