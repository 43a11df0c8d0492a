"""The agent's role: it may invoke its one model and apply its guardrail, and nothing else.

It holds no ``bedrock:Retrieve``: the function retrieves, under a role of its own. It holds no
``lambda:InvokeFunction`` either: Bedrock invokes an action group by the function's own policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_iam as iam

from infra.models import split_profile

if TYPE_CHECKING:
    from aws_cdk import aws_kms as kms
    from constructs import Construct

    from infra.guardrail import Guardrail
    from infra.settings import EntrypointSettings, Settings

_INVOKE: Final = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]

GLOBAL: Final = "global"
"""Geography of a profile that may use any region; it has one ARN for the model in all of them."""


def agent_role(
    scope: Construct,
    *,
    settings: Settings,
    guardrail: Guardrail | None = None,
    encryption_key: kms.IKey | None = None,
) -> iam.Role:
    """Make the role of an agent.

    Args:
        scope: that it becomes part of.
        settings: of the deployment; they name the model.
        guardrail: that the agent applies, if any.
        encryption_key: that its prompt is encrypted under, if any.
    """
    statements = model_statements(scope, settings.entrypoint)
    if guardrail is not None:
        statements.append(guardrail.apply_statement)
    if encryption_key is not None:
        statements.append(_key_statement(scope, encryption_key))
    return iam.Role(
        scope,
        "Role",
        description=f"{settings.name}: what the knowledge agent may do",
        assumed_by=iam.ServicePrincipal(
            "bedrock.amazonaws.com",
            conditions={
                "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
                "ArnLike": {"aws:SourceArn": _any_agent(scope)},
            },
        ),
        inline_policies={"agent": iam.PolicyDocument(statements=statements)},
    )


def model_statements(scope: Construct, entrypoint: EntrypointSettings) -> list[iam.PolicyStatement]:
    """Give what invoking a model takes.

    A plain model is one ARN. An inference profile is its own ARN and that of the model wherever the
    profile may send the request, usable through this profile only; an agent also looks both up, as
    the role that the console makes for one may.
    """
    geography, model = split_profile(entrypoint.agent_model)
    home = _model(scope, model, Aws.REGION)
    if not geography:
        return [_invoke("InvokeModel", [home])]
    profile = _profile(scope, entrypoint.agent_model)
    through = {"bedrock:InferenceProfileArn": profile}
    statements = [
        _invoke("InvokeProfile", [profile]),
        _read("ReadProfile", "bedrock:GetInferenceProfile", [profile]),
    ]
    if geography != GLOBAL:
        models = [_model(scope, model, region) for region in entrypoint.agent_model_regions]
        return [
            *statements,
            _read("ReadModel", "bedrock:GetFoundationModel", models),
            _invoke("InvokeModelThroughProfile", models, through),
        ]
    # Outside its own region a request of a global profile has no region at all.
    anywhere = through | {"aws:RequestedRegion": "unspecified"}
    return [
        *statements,
        _read("ReadModel", "bedrock:GetFoundationModel", [home]),
        _invoke("InvokeModelThroughProfile", [home], through),
        _invoke("InvokeModelAnywhere", [_model(scope, model, "")], anywhere),
    ]


def _invoke(
    sid: str, resources: list[str], equal: dict[str, str] | None = None
) -> iam.PolicyStatement:
    conditions = {"StringEquals": equal} if equal else None
    return iam.PolicyStatement(sid=sid, actions=_INVOKE, resources=resources, conditions=conditions)


def _read(sid: str, action: str, resources: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(sid=sid, actions=[action], resources=resources)


def _model(scope: Construct, model: str, region: str) -> str:
    return Stack.of(scope).format_arn(
        service="bedrock",
        region=region,
        account="",
        resource="foundation-model",
        resource_name=model,
    )


def _profile(scope: Construct, profile: str) -> str:
    return Stack.of(scope).format_arn(
        service="bedrock", resource="inference-profile", resource_name=profile
    )


def _any_agent(scope: Construct) -> str:
    # An agent's id is known only when the agent exists, and that takes the role.
    return Stack.of(scope).format_arn(
        service="bedrock",
        resource="agent",
        resource_name="*",
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )


def _key_statement(scope: Construct, key: kms.IKey) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid="ReadOwnPrompt",
        actions=["kms:Decrypt", "kms:GenerateDataKey"],
        resources=[key.key_arn],
        conditions={"ArnLike": {"kms:EncryptionContext:aws:bedrock:arn": _any_agent(scope)}},
    )
