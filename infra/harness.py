"""The AgentCore harness: a managed agent loop whose only tool is the gateway's.

A harness has a shell and a file system of its own unless its tools are listed. Here the list contains only
the gateway, so that text in a document can't run anything. The tool is read-only, and the harness
has no memory: every answer comes from the retrievals of its own turn.

Its role follows the sample in "Security and access controls" of the harness, without the unused parts:
no memory, no browser, no code interpreter. Public-network harnesses pull their image from ECR Public.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aws_cdk import Stack
from aws_cdk import aws_bedrockagentcore as agentcore
from constructs import Construct

from infra.agent import ACTION_GROUP, invoke_statements
from infra.cloudformation import acknowledge, allow, service_role

if TYPE_CHECKING:
    from aws_cdk import aws_iam as iam

    from infra.gateway import Gateway
    from infra.settings import Settings
    from infra.sources import Sources

TOOLS: Final = "knowledge"
"""The gateway's name in the harness."""

MAX_ITERATIONS: Final = 4
"""Three rounds of queries and the answer; nothing else limits a harness's own loop."""

TIMEOUT_SECONDS: Final = 120

_LOGS: Final = "/aws/bedrock-agentcore/runtimes/*"
_NAMESPACE: Final = "bedrock-agentcore"
_IDENTIFYING: Final = (
    "bedrock-agentcore:GetWorkloadAccessToken",
    "bedrock-agentcore:GetWorkloadAccessTokenForJWT",
)
_TRACING: Final = (
    *("PutTraceSegments", "PutTelemetryRecords"),
    *("GetSamplingRules", "GetSamplingTargets"),
)


class Harness(Construct):
    """A harness that answers with the deployment's model, prompt and gateway.

    Args:
        gateway: a gateway with IAM authorization.

    Attributes:
        arn: the harness's ARN; callers need ``bedrock-agentcore:InvokeHarness`` and
            ``bedrock-agentcore:InvokeAgentRuntime`` on it.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        sources: Sources,
        gateway: Gateway,
    ) -> None:
        super().__init__(scope, construct_id)
        name = settings.name.replace("-", "_")
        role = _role(self, settings, name, gateway)
        prompt = sources.instruction.replace(ACTION_GROUP, gateway.tool)
        made = agentcore.CfnHarness(
            self,
            "Harness",
            harness_name=name,
            execution_role_arn=role.role_arn,
            model=agentcore.CfnHarness.HarnessModelConfigurationProperty(
                bedrock_model_config=agentcore.CfnHarness.HarnessBedrockModelConfigProperty(
                    model_id=settings.entrypoint.agent_model
                )
            ),
            system_prompt=[agentcore.CfnHarness.HarnessSystemContentBlockProperty(text=prompt)],
            tools=[_tool(gateway)],
            allowed_tools=[f"@{TOOLS}"],
            memory=agentcore.CfnHarness.HarnessMemoryConfigurationProperty(disabled={}),
            max_iterations=MAX_ITERATIONS,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        made.node.add_dependency(role, gateway)
        self.arn = made.attr_arn


def _tool(gateway: Gateway) -> agentcore.CfnHarness.HarnessToolProperty:
    return agentcore.CfnHarness.HarnessToolProperty(
        type="agentcore_gateway",
        name=TOOLS,
        config=agentcore.CfnHarness.HarnessToolConfigurationProperty(
            agent_core_gateway=agentcore.CfnHarness.HarnessAgentCoreGatewayConfigProperty(
                gateway_arn=gateway.arn,
                outbound_auth=agentcore.CfnHarness.HarnessGatewayOutboundAuthProperty(aws_iam={}),
            )
        ),
    )


def _role(scope: Construct, settings: Settings, name: str, gateway: Gateway) -> iam.Role:
    stack = Stack.of(scope)
    everything = stack.format_arn(service="bedrock-agentcore", resource="*")
    directory = stack.format_arn(
        service="bedrock-agentcore", resource="workload-identity-directory", resource_name="default"
    )
    # the service appends ten characters of its own to the name
    identity = f"{directory}/workload-identity/harness_{name}-*"
    groups, group, streams = (
        f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:{which}"
        for which in ("*", _LOGS, f"{_LOGS}:log-stream:*")
    )
    statements = [
        *invoke_statements(
            scope, settings.entrypoint.agent_model, settings.entrypoint.agent_model_regions
        ),
        allow("InvokeGateway", ["bedrock-agentcore:InvokeGateway"], [gateway.arn]),
        allow("KnowItself", _IDENTIFYING, [directory, identity]),
        allow(
            "PullImage", ["ecr-public:GetAuthorizationToken", "sts:GetServiceBearerToken"], ["*"]
        ),
        allow("Trace", [f"xray:{it}" for it in _TRACING], ["*"]),
        allow("FindLogs", ["logs:DescribeLogGroups"], [groups]),
        allow("MakeLogs", ["logs:CreateLogGroup", "logs:DescribeLogStreams"], [group]),
        allow("WriteLogs", ["logs:CreateLogStream", "logs:PutLogEvents"], [streams]),
        allow(
            "WriteMetrics",
            ["cloudwatch:PutMetricData"],
            ["*"],
            {"StringEquals": {"cloudwatch:namespace": _NAMESPACE}},
        ),
    ]
    role = service_role(
        scope,
        "bedrock-agentcore",
        everything,
        description=f"{settings.name}: what the knowledge harness may do",
        policy="harness",
        statements=statements,
    )
    reason = (
        "Of the service's own sample: traces, metrics and the image have no resource, and the"
        " harness's log group and identity are named by the service when it is made."
    )
    logs = "arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:log-group:"
    own = (
        "arn:<AWS::Partition>:bedrock-agentcore:<AWS::Region>:<AWS::AccountId>:"
        f"workload-identity-directory/default/workload-identity/harness_{name}-*"
    )
    for resource in ("*", f"{logs}*", f"{logs}{_LOGS}", f"{logs}{_LOGS}:log-stream:*", own):
        acknowledge(role, f"AwsSolutions-IAM5[Resource::{resource}]", reason)
    return role
