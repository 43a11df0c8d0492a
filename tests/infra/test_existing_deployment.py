"""A deployment in front of an existing knowledge base, by the real command line, to a cloud on loopback."""

import shlex
import shutil

import boto3
import jmespath
import pytest

from lambdas.deploy_steps.handler import KEPT
from lambdas.retrieve_knowledge.settings import load_settings
from tests.infra import parts
from tests.infra.parts import of_type
from tests.infra.synthesis import synthesized
from tools.local_cloud import kinds
from tools.local_cloud.deployment import cloud, deploy_assembly, furnish
from tools.local_cloud.registration import FAILED, run_in_process

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

FUNCTION = "knowledge-rag-dev-retrieve-knowledge"
SETTINGS = {
    "knowledge_base_id": "EXISTING01",
    "knowledge_base_type": "MANAGED",
    "source_bucket": "team-docs",
    "source_prefix": "handbook/",
    "entrypoint": "harness",
}


@pytest.fixture(scope="module")
def stack():
    with cloud() as running:
        furnish(running, parts.settings(**SETTINGS))
        (deployed,) = deploy_assembly(synthesized(**SETTINGS).folder)
        yield deployed


def test_only_the_service_is_deployed(stack):
    assert (stack.name, stack.status) == ("knowledge-rag-dev-service", "CREATE_COMPLETE")
    assert set(stack.resources) == set(stack.template["Resources"])
    made = {each.kind for each in kinds.MADE}
    assert not made & {"AWS::Bedrock::KnowledgeBase", "AWS::Bedrock::DataSource"}
    alarms = boto3.client("cloudwatch", region_name=kinds.REGION).describe_alarms()["MetricAlarms"]
    named = {alarm["AlarmName"] for alarm in alarms}
    assert "knowledge-rag-dev-error-rate" in named
    assert not any("ingestion" in name for name in named)


def test_the_bucket_and_the_knowledge_base_were_looked_at(stack):
    assert stack.outputs["SourceBucketCheck"] == "team-docs: no problems found"
    assert stack.outputs["KnowledgeBaseCheck"] == "EXISTING01 is MANAGED and ACTIVE"


def test_the_gateway_s_tool_is_all_that_the_harness_has(stack):
    (harness,) = (each for each in kinds.MADE if each.kind == "AWS::BedrockAgentCore::Harness")
    (tool,) = harness.parameters["tools"]
    gateway = tool["config"]["agentCoreGateway"]
    assert gateway == {"gatewayArn": stack.outputs["GatewayArn"], "outboundAuth": {"awsIam": {}}}
    assert harness.parameters["allowedTools"] == [f"@{tool['name']}"]
    assert harness.parameters["memory"] == {"disabled": {}}
    (prompt,) = harness.parameters["systemPrompt"]
    assert "your only tool, knowledge___retrieveKnowledge, reads" in prompt["text"]
    assert stack.outputs["HarnessArn"] == harness.attributes["Arn"]


@pytest.mark.usefixtures("stack")
def test_the_function_reads_the_documents_of_the_bucket():
    functions = boto3.client("lambda", region_name=kinds.REGION)
    function = functions.get_function_configuration(FunctionName=FUNCTION)
    variables = function["Environment"]["Variables"] | {"AWS_REGION": kinds.REGION}
    search = load_settings(variables).search
    assert search.knowledge_base_id == "EXISTING01"
    assert search.source_root == "s3://team-docs/handbook/"
    assert search.knowledge_base_type == "MANAGED"


def test_one_command_goes_back_and_five_old_versions_stay(stack):
    client = boto3.client("lambda", region_name=kinds.REGION)
    live = client.get_alias(FunctionName=FUNCTION, Name="live")["FunctionVersion"]
    assert live == "1"
    for number in range(2, 10):  # as many deployments of other settings
        client.update_function_configuration(FunctionName=FUNCTION, Description=str(number))
        made = client.publish_version(FunctionName=FUNCTION)["Version"]
        client.update_alias(FunctionName=FUNCTION, Name="live", FunctionVersion=made)
    run_in_process(update_of(stack))
    assert FAILED == []
    assert versions(client) == ["4", "5", "6", "7", "8", "9"]
    assert len(versions(client)) == KEPT + 1
    run(client, stack.outputs["RollBack"])
    alias = client.get_alias(FunctionName=FUNCTION, Name="live")
    assert alias["FunctionVersion"] == "8"
    run_in_process(update_of(stack))  # whatever is used stays
    assert versions(client) == ["4", "5", "6", "7", "8", "9"]


def versions(client):
    listed = client.list_versions_by_function(FunctionName=FUNCTION)["Versions"]
    return sorted((it["Version"] for it in listed if it["Version"] != "$LATEST"), key=int)


def update_of(stack):
    (name,) = of_type(stack.template, "Custom::KnowledgeVersions")
    function = boto3.client("lambda", region_name=kinds.REGION).get_function(
        FunctionName="knowledge-rag-dev-service-steps", Qualifier="live"
    )
    return {
        "RequestType": "Update",
        "ServiceToken": function["Configuration"]["FunctionArn"],
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/knowledge-rag-dev-service/1",
        "RequestId": "00000000-0000-0000-0000-000000000002",
        "LogicalResourceId": name,
        "PhysicalResourceId": stack.resources[name],
        "ResourceType": "Custom::KnowledgeVersions",
        "ResourceProperties": {"Function": FUNCTION, "Version": "9"},
        "OldResourceProperties": {"Function": FUNCTION, "Version": "8"},
    }


def run(client, command):
    """Do what the command of the AWS command line does, its inner one first."""
    outer, _, rest = command.partition("$(")
    inner, _, _ = rest.rpartition(")")
    *_, query = (it[1] for it in options(inner) if it[0] == "--query")
    listed = client.list_versions_by_function(FunctionName=dict(options(inner))["--function-name"])
    version = jmespath.search(query, listed)
    given = dict(options(f"{outer}{version}"))
    assert given.pop("--region") == kinds.REGION
    client.update_alias(
        FunctionName=given.pop("--function-name"),
        Name=given.pop("--name"),
        FunctionVersion=given.pop("--function-version"),
    )
    assert given == {}


def options(command):
    words = shlex.split(command)
    assert words[:2] == ["aws", "lambda"]
    return list(zip(words[3::2], words[4::2], strict=True))
