"""What an organisation prescribes for every stack: who deploys it, what bounds its roles, its tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import aws_cdk as cdk

from infra.setting_values import OWN_TAG

if TYPE_CHECKING:
    from constructs import Construct

    from infra.settings import AccountSettings, Settings

TAGS_FOR_EVER: Final = ("AWS::OpenSearchServerless::Collection",)
"""Types whose tags can't be changed: CloudFormation would have to replace the resource, under the same
name, and fails. They have the deployment's own tag, which never changes, and none of the settings'."""

_QUALIFIER: Final = "@aws-cdk/core:bootstrapQualifier"
"""CDK's own place for the qualifier in the context."""


def stack_options(account: AccountSettings) -> dict[str, Any]:
    """Return a stack's own properties: its synthesizer, and the boundary of its roles.

    A property that isn't set is CDK's own, of the bootstrap stack that ``cdk bootstrap`` makes.
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
    """Return the role that CloudFormation acts as, which makes the OpenSearch index.

    The synthesizer itself can't be asked: CDK binds a copy of the one that a stack is given, which Python
    does not see.

    Raises:
        ValueError: the stack's synthesizer has none, so that nobody could be let in.
    """
    default = cdk.DefaultStackSynthesizer
    if not isinstance(cdk.Stack.of(scope).synthesizer, default):
        raise ValueError(  # noqa: TRY004 - what is wrong is how the stack is deployed, not a type
            "the stack has to be deployed by CDK's default synthesizer: the OpenSearch index is made"
            " by its CloudFormation execution role, which has to be let in by name"
        )
    qualifier = (
        account.qualifier or scope.node.try_get_context(_QUALIFIER) or default.DEFAULT_QUALIFIER
    )
    arn = account.execution_role or default.DEFAULT_CLOUDFORMATION_ROLE_ARN
    return cdk.Fn.sub(arn.replace("${Qualifier}", qualifier))
