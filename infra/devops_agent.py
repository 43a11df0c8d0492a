"""The gateway as an MCP server of AWS DevOps Agent, which signs its calls with a role of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Stack
from aws_cdk import aws_devopsagent as devopsagent
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.cloudformation import allow, on_behalf_of

if TYPE_CHECKING:
    from infra.gateway import Gateway
    from infra.settings import Settings

SERVICE_TYPE: Final = "mcpserversigv4"


class DevOpsAgent(Construct):
    """Registers a gateway and lets one agent space use its tool.

    The service calls the server during registration, so the gateway's target must exist before.

    Args:
        gateway: a gateway with IAM authorization.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, gateway: Gateway
    ) -> None:
        super().__init__(scope, construct_id)
        role = _role(self, settings, gateway)
        server = devopsagent.CfnService(
            self,
            "Server",
            service_type=SERVICE_TYPE,
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


def _role(scope: Construct, settings: Settings, gateway: Gateway) -> iam.Role:
    # a registration's id is known only once it exists, and creating it needs the role
    registrations = Stack.of(scope).format_arn(
        service="aidevops", resource="service", resource_name="*"
    )
    invoke = allow("InvokeGateway", ["bedrock-agentcore:InvokeGateway"], [gateway.arn])
    return iam.Role(
        scope,
        "Role",
        description=f"{settings.name}: what AWS DevOps Agent may do with the knowledge gateway",
        assumed_by=iam.ServicePrincipal(
            "aidevops.amazonaws.com", conditions=on_behalf_of(registrations)
        ),
        inline_policies={"gateway": iam.PolicyDocument(statements=[invoke])},
    )
