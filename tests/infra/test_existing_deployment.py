"""A deployment in front of an existing knowledge base, by the real command line, to a cloud on loopback."""

import shutil

import boto3
import pytest

from lambdas.retrieve_knowledge.settings import load_settings
from tests.infra.synthesis import synthesized
from tools.local_cloud import kinds
from tools.local_cloud.deployment import cloud, deploy_assembly

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

SETTINGS = {
    "knowledge_base_id": "EXISTING01",
    "knowledge_base_type": "MANAGED",
    "source_bucket": "team-docs",
    "source_prefix": "handbook/",
    "entrypoint": "harness",
}


def check_harness(stack):
    """The gateway's tool is all that it has: no shell, no files, no memory."""
    (harness,) = (each for each in kinds.MADE if each.kind == "AWS::BedrockAgentCore::Harness")
    (tool,) = harness.parameters["tools"]
    gateway = tool["config"]["agentCoreGateway"]
    assert gateway == {"gatewayArn": stack.outputs["GatewayArn"], "outboundAuth": {"awsIam": {}}}
    assert harness.parameters["allowedTools"] == [f"@{tool['name']}"]
    assert harness.parameters["memory"] == {"disabled": {}}
    (prompt,) = harness.parameters["systemPrompt"]
    assert "your only tool, knowledge___retrieveKnowledge, reads" in prompt["text"]
    assert stack.outputs["HarnessArn"] == harness.attributes["Arn"]


def test_only_the_service_is_deployed_and_its_function_reads_the_documents_of_the_bucket():
    with cloud():
        (stack,) = deploy_assembly(synthesized(**SETTINGS).folder)
        assert (stack.name, stack.status) == ("knowledge-rag-dev-service", "CREATE_COMPLETE")
        assert set(stack.resources) == set(stack.template["Resources"])
        check_harness(stack)
        assert {each.kind for each in kinds.MADE} & {
            "AWS::Bedrock::KnowledgeBase",
            "AWS::Bedrock::DataSource",
        } == set()
        functions = boto3.client("lambda", region_name=kinds.REGION)
        function = functions.get_function_configuration(
            FunctionName="knowledge-rag-dev-retrieve-knowledge"
        )
        alarms = boto3.client("cloudwatch", region_name=kinds.REGION).describe_alarms()
    variables = function["Environment"]["Variables"] | {"AWS_REGION": kinds.REGION}
    search = load_settings(variables).search
    assert (search.knowledge_base_id, search.source_root) == (
        "EXISTING01",
        "s3://team-docs/handbook/",
    )
    assert search.knowledge_base_type == "MANAGED"
    named = {alarm["AlarmName"] for alarm in alarms["MetricAlarms"]}
    assert "knowledge-rag-dev-error-rate" in named
    assert not any("ingestion" in name for name in named)
