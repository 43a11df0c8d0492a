"""The AgentCore gateway: the retrieval function as a tool of the Model Context Protocol.

The gateway invokes the function as its own role, whose policy names one alias; in one account that is
all it takes, so the function's policy names nobody. The library's higher-level ``Gateway`` is not used:
the role that it makes may be assumed for any account's gateway, and it adds a search tool for finding
one tool among one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.settings import GatewayAuthorizer
from infra.tool_schema import instructions_of, tools_of

if TYPE_CHECKING:
    from aws_cdk import aws_lambda as lambda_

    from infra.settings import EntrypointSettings, Settings
    from infra.sources import Sources
    from infra.tool_schema import Tool, ToolSchema

TARGET: Final = "knowledge"
"""Clients see a tool as ``<target>___<tool>``."""


class Gateway(Construct):
    """A gateway with the retrieval function as its only target.

    Args:
        scope: that it is part of.
        construct_id: its name there.
        settings: of the deployment; they say who may call.
        sources: the schema that the tool is derived from.
        retrieve: alias of the function behind the tool.

    Attributes:
        url: that clients of the protocol connect to.
        arn: that callers need ``bedrock-agentcore:InvokeGateway`` on, where they sign with IAM.
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
            protocol_configuration=_protocol(sources),
            authorizer_type=_AUTHORIZER_TYPES[settings.entrypoint.gateway_authorizer],
            authorizer_configuration=_authorizer(settings.entrypoint),
        )
        agentcore.CfnGatewayTarget(
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
            target_configuration=_target(sources, retrieve),
        )
        self.url = gateway.attr_gateway_url
        self.arn = gateway.attr_gateway_arn


_AUTHORIZER_TYPES: Final = {
    GatewayAuthorizer.IAM: "AWS_IAM",
    GatewayAuthorizer.JWT: "CUSTOM_JWT",
}


def _role(scope: Construct, settings: Settings, retrieve: lambda_.IAlias) -> iam.Role:
    gateways = Stack.of(scope).format_arn(
        service="bedrock-agentcore",
        resource="gateway",
        # the service appends ten characters of its own to the name
        resource_name=f"{settings.name}-*",
        arn_format=ArnFormat.SLASH_RESOURCE_NAME,
    )
    invoke = iam.PolicyStatement(
        sid="InvokeRetrieval",
        actions=["lambda:InvokeFunction"],
        resources=[retrieve.function_arn],
    )
    return iam.Role(
        scope,
        "Role",
        description=f"{settings.name}: what the knowledge gateway may do",
        assumed_by=iam.ServicePrincipal(
            "bedrock-agentcore.amazonaws.com",
            conditions={
                "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
                "ArnLike": {"aws:SourceArn": gateways},
            },
        ),
        inline_policies={"gateway": iam.PolicyDocument(statements=[invoke])},
    )


def _protocol(sources: Sources) -> agentcore.CfnGateway.GatewayProtocolConfigurationProperty:
    return agentcore.CfnGateway.GatewayProtocolConfigurationProperty(
        mcp=agentcore.CfnGateway.MCPGatewayConfigurationProperty(
            instructions=instructions_of(sources.document)
        )
    )


def _authorizer(
    entrypoint: EntrypointSettings,
) -> agentcore.CfnGateway.AuthorizerConfigurationProperty | None:
    if entrypoint.gateway_authorizer is GatewayAuthorizer.IAM:
        return None
    return agentcore.CfnGateway.AuthorizerConfigurationProperty(
        custom_jwt_authorizer=agentcore.CfnGateway.CustomJWTAuthorizerConfigurationProperty(
            discovery_url=entrypoint.jwt_discovery_url,
            allowed_audience=list(entrypoint.jwt_audiences),
        )
    )


def _target(
    sources: Sources, retrieve: lambda_.IAlias
) -> agentcore.CfnGatewayTarget.TargetConfigurationProperty:
    tools = [_tool(tool) for tool in tools_of(sources.document)]
    return agentcore.CfnGatewayTarget.TargetConfigurationProperty(
        mcp=agentcore.CfnGatewayTarget.McpTargetConfigurationProperty(
            lambda_=agentcore.CfnGatewayTarget.McpLambdaTargetConfigurationProperty(
                lambda_arn=retrieve.function_arn,
                tool_schema=agentcore.CfnGatewayTarget.ToolSchemaProperty(inline_payload=tools),
            )
        )
    )


def _tool(tool: Tool) -> agentcore.CfnGatewayTarget.ToolDefinitionProperty:
    return agentcore.CfnGatewayTarget.ToolDefinitionProperty(
        name=tool.name, description=tool.description, input_schema=_schema(tool.arguments)
    )


def _schema(schema: ToolSchema) -> agentcore.CfnGatewayTarget.SchemaDefinitionProperty:
    properties = {name: _schema(value) for name, value in schema.properties.items()}
    return agentcore.CfnGatewayTarget.SchemaDefinitionProperty(
        type=schema.type,
        description=schema.description or None,
        properties=properties or None,
        required=list(schema.required) or None,
        items=_schema(schema.items) if schema.items else None,
    )
