"""The Bedrock agent (Agents Classic): prompt, action group and an alias that follows every change."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from aws_cdk import Aws, Stack
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cloudformation import allow, model_arn, on_behalf_of
from infra.models import split_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.guardrail import Guardrail
    from infra.settings import Settings
    from infra.sources import Sources


ACTION_GROUP: Final = "retrieve_knowledge"
"""What the prompt calls the tool."""

ALIAS: Final = "live"

IDLE_SESSION_SECONDS: Final = 1_800
"""Half an hour: people who come back from a check in the console continue the conversation."""


class Agent(Construct):
    """An agent whose one tool is the retrieval function.

    Args:
        retrieve: alias of the function behind the tool.
        guardrail: that it applies, if any.
        encryption_key: that its prompt and schema are encrypted under, if any.
    """

    def __init__(  # noqa: PLR0913 - a construct's properties are keyword arguments
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        sources: Sources,
        retrieve: lambda_.Alias,
        guardrail: Guardrail | None = None,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        role = self._role(settings, guardrail, encryption_key)
        applied = None
        if guardrail is not None:
            applied = bedrock.CfnAgent.GuardrailConfigurationProperty(
                guardrail_identifier=guardrail.guardrail_id, guardrail_version=guardrail.version
            )
        agent = bedrock.CfnAgent(
            self,
            "Agent",
            agent_name=settings.name,
            description="Answers from the team's runbooks and postmortems, with exact citations.",
            agent_resource_role_arn=role.role_arn,
            foundation_model=settings.entrypoint.agent_model,
            instruction=sources.instruction,
            action_groups=[_action_group(sources, retrieve)],
            auto_prepare=True,
            idle_session_ttl_in_seconds=IDLE_SESSION_SECONDS,
            customer_encryption_key_arn=encryption_key.key_arn if encryption_key else None,
            guardrail_configuration=applied,
        )
        retrieve.add_permission(
            "Agent",
            principal=iam.ServicePrincipal("bedrock.amazonaws.com"),
            source_account=Aws.ACCOUNT_ID,
            source_arn=agent.attr_agent_arn,
        )
        alias = bedrock.CfnAgentAlias(
            self,
            "Alias",
            agent_id=agent.attr_agent_id,
            agent_alias_name=ALIAS,
            description=_description(settings, sources, retrieve, guardrail),
        )
        self.agent_id = agent.attr_agent_id
        self.alias_id = alias.attr_agent_alias_id
        self.alias_arn = alias.attr_agent_alias_arn

    def _role(
        self, settings: Settings, guardrail: Guardrail | None, key: kms.IKey | None
    ) -> iam.Role:
        """Make the role: it may invoke its one model and apply its guardrail, and nothing else.

        It has no ``bedrock:Retrieve``: the function retrieves, under a role of its own. It has no
        ``lambda:InvokeFunction`` either: Bedrock invokes an action group by the function's own policy.
        """
        # an agent's id is known only when the agent exists, and that takes the role
        agents = Stack.of(self).format_arn(service="bedrock", resource="agent", resource_name="*")
        statements = model_statements(
            self, settings.entrypoint.agent_model, settings.entrypoint.agent_model_regions
        )
        if guardrail is not None:
            statements.append(guardrail.apply_statement)
        if key is not None:
            own_prompt = allow(
                "ReadOwnPrompt",
                ["kms:Decrypt", "kms:GenerateDataKey"],
                [key.key_arn],
                {"ArnLike": {"kms:EncryptionContext:aws:bedrock:arn": agents}},
            )
            statements.append(own_prompt)
        return iam.Role(
            self,
            "Role",
            description=f"{settings.name}: what the knowledge agent may do",
            assumed_by=iam.ServicePrincipal(
                "bedrock.amazonaws.com", conditions=on_behalf_of(agents)
            ),
            inline_policies={"agent": iam.PolicyDocument(statements=statements)},
        )


def _action_group(
    sources: Sources, retrieve: lambda_.Alias
) -> bedrock.CfnAgent.AgentActionGroupProperty:
    return bedrock.CfnAgent.AgentActionGroupProperty(
        action_group_name=ACTION_GROUP,
        description="Read-only search of runbooks and postmortems.",
        action_group_executor=bedrock.CfnAgent.ActionGroupExecutorProperty(
            lambda_=retrieve.function_arn
        ),
        api_schema=bedrock.CfnAgent.APISchemaProperty(payload=sources.schema),
        # A group in use can't be removed otherwise, and a stack that can't be deleted costs money.
        skip_resource_in_use_check_on_delete=True,
    )


def _description(
    settings: Settings, sources: Sources, retrieve: lambda_.Alias, guardrail: Guardrail | None
) -> str:
    """Describe what the alias serves; it moves to the agent's new version only when this changes."""
    model = settings.entrypoint.agent_model
    parts = (sources.schema, sources.instruction, model, str(IDLE_SESSION_SECONDS))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    applied = f"guardrail version {guardrail.version}" if guardrail else "no guardrail"
    return f"configuration {digest}, {applied}, function version {retrieve.version.version}"


_INVOKE: Final = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]

GLOBAL: Final = "global"
"""Geography of a profile that may use any region; it has one ARN for the model in all of them."""


def invoke_statements(
    scope: Construct, model: str, regions: Sequence[str], actions: Sequence[str] = _INVOKE
) -> list[iam.PolicyStatement]:
    """Return the permissions of a caller that invokes a model and looks nothing up.

    Args:
        scope: a construct of the stack.
        model: id of a foundation model or of an inference profile.
        regions: that the profile may send requests to.
        actions: that it needs.
    """
    return [
        it
        for it in model_statements(scope, model, regions, actions)
        if str(it.sid).startswith("Invoke")
    ]


def model_statements(
    scope: Construct, model_id: str, regions: Sequence[str], actions: Sequence[str] = _INVOKE
) -> list[iam.PolicyStatement]:
    """Return the permissions that invoking a model takes.

    A plain model is one ARN. An inference profile is its own ARN and that of the model wherever the
    profile may send the request, usable through this profile only; an agent also looks both up, as
    the role that the console makes for one may.
    """
    geography, model = split_profile(model_id)
    home = model_arn(scope, model)
    if not geography:
        return [allow("InvokeModel", actions, [home])]
    profile = Stack.of(scope).format_arn(
        service="bedrock", resource="inference-profile", resource_name=model_id
    )
    through = {"bedrock:InferenceProfileArn": profile}
    statements = [
        allow("InvokeProfile", actions, [profile]),
        allow("ReadProfile", ["bedrock:GetInferenceProfile"], [profile]),
    ]
    if geography != GLOBAL:
        models = [model_arn(scope, model, region) for region in regions]
        return [
            *statements,
            allow("ReadModel", ["bedrock:GetFoundationModel"], models),
            allow("InvokeModelThroughProfile", actions, models, {"StringEquals": through}),
        ]
    # Outside its own region a request of a global profile has no region at all.
    anywhere = through | {"aws:RequestedRegion": "unspecified"}
    return [
        *statements,
        allow("ReadModel", ["bedrock:GetFoundationModel"], [home]),
        allow("InvokeModelThroughProfile", actions, [home], {"StringEquals": through}),
        allow(
            "InvokeModelAnywhere",
            actions,
            [model_arn(scope, model, "")],
            {"StringEquals": anywhere},
        ),
    ]
