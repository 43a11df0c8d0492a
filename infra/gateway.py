"""The AgentCore gateway: the retrieval function as a tool of the Model Context Protocol.

The gateway invokes the function with its own role, whose policy names one alias; within one account the
function's policy need not name the role. The library's higher-level ``Gateway`` is not used: its role can
be assumed for any account's gateway, and it adds a search tool.

The tool is derived from the action group's OpenAPI schema: one contract for both callers. A gateway's
schema has only types, properties, required names, items and descriptions (``SchemaDefinition`` of
bedrock-agentcore-control), so bounds and defaults are in the descriptions. There is no output schema,
because a client would check a refused call's ``{"error": ...}`` against it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from aws_cdk import Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_devopsagent as devopsagent
from constructs import Construct

from infra.cloudformation import acknowledge, allow, service_role
from infra.settings import GatewayAuthorizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aws_cdk import aws_iam as iam
    from aws_cdk import aws_lambda as lambda_

    from infra.settings import EntrypointSettings, Settings
    from infra.sources import Sources


TARGET: Final = "knowledge"
"""The target's name; clients see its tool as ``<target>___<tool>``."""


class Gateway(Construct):
    """A gateway with the retrieval function as its only target.

    Attributes:
        url: the address for clients of the protocol.
        arn: the gateway's ARN; callers that sign with IAM need ``bedrock-agentcore:InvokeGateway`` on it.
        tool: the tool's name for clients.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        sources: Sources,
        retrieve: lambda_.IAlias,
    ) -> None:
        super().__init__(scope, construct_id)
        role = _role(self, settings, retrieve)
        gateway = agentcore.CfnGateway(
            self,
            "Gateway",
            name=settings.name,
            description="Read-only search of runbooks and postmortems, with exact citations.",
            role_arn=role.role_arn,
            protocol_type="MCP",
            protocol_configuration=agentcore.CfnGateway.GatewayProtocolConfigurationProperty(
                mcp=agentcore.CfnGateway.MCPGatewayConfigurationProperty(
                    instructions=sources.document["info"]["description"].strip()
                )
            ),
            authorizer_type=_AUTHORIZER_TYPES[settings.entrypoint.gateway_authorizer],
            authorizer_configuration=_authorizer(settings.entrypoint),
            policy_engine_configuration=_policies(settings.entrypoint),
        )
        ((operation,),) = (path.values() for path in sources.document["paths"].values())
        tool = _tool(operation)
        target = agentcore.CfnGatewayTarget(
            self,
            "Target",
            gateway_identifier=gateway.attr_gateway_identifier,
            name=TARGET,
            description="The retrieval function.",
            credential_provider_configurations=[
                agentcore.CfnGatewayTarget.CredentialProviderConfigurationProperty(
                    credential_provider_type="GATEWAY_IAM_ROLE"
                )
            ],
            target_configuration=agentcore.CfnGatewayTarget.TargetConfigurationProperty(
                mcp=agentcore.CfnGatewayTarget.McpTargetConfigurationProperty(
                    lambda_=agentcore.CfnGatewayTarget.McpLambdaTargetConfigurationProperty(
                        lambda_arn=retrieve.function_arn,
                        tool_schema=agentcore.CfnGatewayTarget.ToolSchemaProperty(
                            inline_payload=[tool]
                        ),
                    )
                )
            ),
        )
        if per_minute := settings.entrypoint.gateway_requests_per_minute:
            limit = agentcore.CfnGatewayRateLimit(
                self,
                "RateLimit",
                gateway_identifier=gateway.attr_gateway_identifier,
                description="Of all callers together.",
                dimension_keys=["targetName"],
                entries=[
                    agentcore.CfnGatewayRateLimit.LimitEntryProperty(
                        dimensions={"targetName": TARGET},
                        requests=[
                            agentcore.CfnGatewayRateLimit.RateConfigProperty(
                                rate=per_minute, period="minute"
                            )
                        ],
                    )
                ],
            )
            limit.node.add_dependency(target)
        self.tool = f"{TARGET}___{tool.name}"
        self.url = gateway.attr_gateway_url
        self.arn = gateway.attr_gateway_arn


_AUTHORIZER_TYPES: Final = {GatewayAuthorizer.IAM: "AWS_IAM", GatewayAuthorizer.JWT: "CUSTOM_JWT"}


def _role(scope: Construct, settings: Settings, retrieve: lambda_.IAlias) -> iam.Role:
    gateways = Stack.of(scope).format_arn(
        service="bedrock-agentcore",
        resource="gateway",
        # the service appends ten characters of its own to the name
        resource_name=f"{settings.name}-*",
    )
    statements = [
        allow("InvokeRetrieval", ["lambda:InvokeFunction"], [retrieve.function_arn]),
        *_evaluate_policies(settings.entrypoint.gateway_policy_engine, gateways),
    ]
    role = service_role(
        scope,
        "bedrock-agentcore",
        gateways,
        description=f"{settings.name}: what the knowledge gateway may do",
        policy="gateway",
        statements=statements,
    )
    if settings.entrypoint.gateway_policy_engine:
        acknowledge(
            role,
            "AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:bedrock-agentcore:<AWS::Region>:"
            f"<AWS::AccountId>:gateway/{settings.name}-*]",
            "The service names the gateway once it has its role.",
        )
    return role


def _evaluate_policies(engine: str, gateways: str) -> list[iam.PolicyStatement]:
    """Return the rights that a gateway's role needs for AgentCore's policies, see "IAM permissions" there."""
    if not engine:
        return []
    evaluate = ["bedrock-agentcore:AuthorizeAction", "bedrock-agentcore:PartiallyAuthorizeActions"]
    return [
        allow("ReadPolicyEngine", ["bedrock-agentcore:GetPolicyEngine"], [engine]),
        allow("EvaluatePolicies", evaluate, [engine, gateways]),
    ]


def _policies(
    entrypoint: EntrypointSettings,
) -> agentcore.CfnGateway.GatewayPolicyEngineConfigurationProperty | None:
    if not entrypoint.gateway_policy_engine:
        return None
    return agentcore.CfnGateway.GatewayPolicyEngineConfigurationProperty(
        arn=entrypoint.gateway_policy_engine, mode=entrypoint.gateway_policy_mode.name
    )


def _authorizer(
    entrypoint: EntrypointSettings,
) -> agentcore.CfnGateway.AuthorizerConfigurationProperty | None:
    if entrypoint.gateway_authorizer is GatewayAuthorizer.IAM:
        return None
    wanted = json.loads(entrypoint.jwt_claims or "{}")
    return agentcore.CfnGateway.AuthorizerConfigurationProperty(
        custom_jwt_authorizer=agentcore.CfnGateway.CustomJWTAuthorizerConfigurationProperty(
            discovery_url=entrypoint.jwt_discovery_url,
            allowed_audience=list(entrypoint.jwt_audiences) or None,
            allowed_clients=list(entrypoint.jwt_clients) or None,
            allowed_scopes=list(entrypoint.jwt_scopes) or None,
            custom_claims=[_claim(*each) for each in wanted.items()] or None,
        )
    )


def _claim(
    name: str, wanted: str | list[str]
) -> agentcore.CfnGateway.CustomClaimValidationTypeProperty:
    """Return the rule that a claim equals a string, or contains one of several."""
    value = agentcore.CfnGateway.ClaimMatchValueTypeProperty
    kind, operator, match = (
        ("STRING", "EQUALS", value(match_value_string=wanted))
        if isinstance(wanted, str)
        else ("STRING_ARRAY", "CONTAINS_ANY", value(match_value_string_list=wanted))
    )
    return agentcore.CfnGateway.CustomClaimValidationTypeProperty(
        inbound_token_claim_name=name,
        inbound_token_claim_value_type=kind,
        authorizing_claim_match_value=agentcore.CfnGateway.AuthorizingClaimMatchValueTypeProperty(
            claim_match_operator=operator, claim_match_value=match
        ),
    )


def _tool(operation: Mapping[str, Any]) -> agentcore.CfnGatewayTarget.ToolDefinitionProperty:
    return agentcore.CfnGatewayTarget.ToolDefinitionProperty(
        name=operation["operationId"],
        description=operation["description"],
        input_schema=_schema(operation["requestBody"]["content"]["application/json"]["schema"]),
    )


def _schema(schema: Mapping[str, Any]) -> agentcore.CfnGatewayTarget.SchemaDefinitionProperty:
    properties = {name: _schema(value) for name, value in schema.get("properties", {}).items()}
    return agentcore.CfnGatewayTarget.SchemaDefinitionProperty(
        type=schema["type"],
        description=schema.get("description"),
        properties=properties or None,
        required=schema.get("required"),
        items=_schema(schema["items"]) if "items" in schema else None,
    )


class DevOpsAgent(Construct):
    """Registers a gateway as an MCP server of AWS DevOps Agent, and lets one agent space use its tool.

    It signs its calls with a role of its own. The service calls the server during registration, so the gateway's target must exist before.

    Args:
        gateway: a gateway with IAM authorization.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, gateway: Gateway
    ) -> None:
        super().__init__(scope, construct_id)
        role = self._role(settings, gateway)
        server = devopsagent.CfnService(
            self,
            "Server",
            service_type="mcpserversigv4",
            service_details=devopsagent.CfnService.ServiceDetailsProperty(
                mcp_server_sig_v4=devopsagent.CfnService.MCPServerSigV4DetailsProperty(
                    # with an underscore and the tool's name, at most 64 characters
                    name=settings.name,
                    endpoint=gateway.url,
                    description="Read-only search of runbooks and postmortems, with exact citations.",
                    authorization_config=devopsagent.CfnService.MCPServerSigV4AuthorizationConfigProperty(
                        region=Stack.of(self).region,
                        service="bedrock-agentcore",
                        mcp_role_arn=role.role_arn,
                    ),
                )
            ),
        )
        server.node.add_dependency(role, gateway)
        devopsagent.CfnAssociation(
            self,
            "Space",
            agent_space_id=settings.entrypoint.devops_agent_space,
            service_id=server.attr_service_id,
            configuration=devopsagent.CfnAssociation.ServiceConfigurationProperty(
                mcp_server_sig_v4=devopsagent.CfnAssociation.MCPServerSigV4ConfigurationProperty(
                    tools=[gateway.tool]
                )
            ),
        )

    def _role(self, settings: Settings, gateway: Gateway) -> iam.Role:
        # a registration's id is known only once it exists, and creating it needs the role
        registrations = Stack.of(self).format_arn(
            service="aidevops", resource="service", resource_name="*"
        )
        return service_role(
            self,
            "aidevops",
            registrations,
            description=f"{settings.name}: what AWS DevOps Agent may do with the knowledge gateway",
            policy="gateway",
            statements=[allow("InvokeGateway", ["bedrock-agentcore:InvokeGateway"], [gateway.arn])],
        )
