"""The Bedrock agent (Agents Classic): prompt, action group, and an alias that moves with every change."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from aws_cdk import Aws, Stack
from aws_cdk import aws_bedrock as bedrock
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cloudformation import allow, model_arn, service_role
from infra.models import split_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_cdk import aws_kms as kms
    from aws_cdk import aws_lambda as lambda_

    from infra.guardrail import Guardrail
    from infra.settings import Settings
    from infra.sources import Sources


ACTION_GROUP: Final = "retrieve_knowledge"
"""The tool's name in the prompt."""

ALIAS: Final = "live"

IDLE_SESSION_SECONDS: Final = 1_800
"""Half an hour, so that people can check something and then continue the conversation."""


class Agent(Construct):
    """An agent whose only tool is the retrieval function.

    Args:
        retrieve: alias of the function behind the tool.
        guardrail: the agent's guardrail, if any.
        encryption_key: the key for its prompt and schema, if any.
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
        """Create the role: it may invoke its one model and apply its guardrail, and nothing else.

        It has no ``bedrock:Retrieve``, because the function retrieves with a role of its own. It has no
        ``lambda:InvokeFunction`` either, because the function's own policy lets Bedrock invoke it.
        """
        # an agent's id is known only once the agent exists, and creating it needs the role
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
        return service_role(
            self,
            "bedrock",
            agents,
            description=f"{settings.name}: what the knowledge agent may do",
            policy="agent",
            statements=statements,
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
        # otherwise a group in use can't be removed, and a stack that can't be deleted costs money
        skip_resource_in_use_check_on_delete=True,
    )


def _description(
    settings: Settings, sources: Sources, retrieve: lambda_.Alias, guardrail: Guardrail | None
) -> str:
    """Describe the alias's configuration; the alias moves to a new version only when this text changes."""
    model = settings.entrypoint.agent_model
    parts = (sources.schema, sources.instruction, model, str(IDLE_SESSION_SECONDS))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    applied = f"guardrail version {guardrail.version}" if guardrail else "no guardrail"
    return f"configuration {digest}, {applied}, function version {retrieve.version.version}"


_INVOKE: Final = ["bedrock:InvokeModel", "bedrock:InvokeModelWithResponseStream"]

GLOBAL: Final = "global"
"""Geography of profiles that may use any region; the model has one ARN for all of them."""


def invoke_statements(
    scope: Construct, model: str, regions: Sequence[str], actions: Sequence[str] = _INVOKE
) -> list[iam.PolicyStatement]:
    """Return the permissions to invoke a model, without those to look up the model or its profile.

    Args:
        scope: a construct of the stack.
        model: id of a foundation model or of an inference profile.
        regions: the regions that the profile may send requests to.
        actions: the actions that the caller needs.
    """
    return [
        it
        for it in model_statements(scope, model, regions, actions)
        if str(it.sid).startswith("Invoke")
    ]


def model_statements(
    scope: Construct, model_id: str, regions: Sequence[str], actions: Sequence[str] = _INVOKE
) -> list[iam.PolicyStatement]:
    """Return the permissions to invoke a model, and to look up an inference profile and its model.

    A plain model has one ARN. An inference profile needs its own ARN and the model's in each region that it
    may send requests to, usable through this profile only. An agent also looks both up, like the role
    that the console creates for one.
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
    # outside its own region, a request of a global profile has no region
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
