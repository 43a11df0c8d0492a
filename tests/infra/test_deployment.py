"""A deployment from the first command to the last, by the real command line, to a cloud on loopback.

What the services would refuse is refused there too (`test_local_cloud.py`); Docker, an account and the
internet are not needed.
"""

import json
import re
import shutil
from pathlib import Path

import boto3
import pytest

from knowledge_rag.core import telemetry
from knowledge_rag.core.alarms import Thresholds
from tools.local_cloud import kinds
from tools.local_cloud.deployment import cloud, deploy

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

CORPUS = Path(__file__).parents[2] / "knowledge-corpus"
NAME = "knowledge-rag-prod"
CONTEXT = ("knowledge-rag:preset=prod", "knowledge-rag:entrypoint=both")


@pytest.fixture(scope="module")
def loopback():
    with cloud() as running:
        yield running


@pytest.fixture(scope="module")
def deployed(loopback, tmp_path_factory):
    assert loopback.ingestion.contents == []
    stacks = deploy(CONTEXT, tmp_path_factory.mktemp("assembly"))
    return {stack.name.removeprefix(f"{NAME}-"): stack for stack in stacks}


def made(kind):
    return [each for each in kinds.MADE if each.kind == kind]


def client(service):
    return boto3.client(service, region_name=kinds.REGION)


def test_both_stacks_are_complete(deployed):
    for stack in deployed.values():
        assert stack.status == "CREATE_COMPLETE"
        assert set(stack.resources) == set(stack.template["Resources"])
    assert set(deployed) == {"data", "service"}


def test_every_output_has_a_value(deployed):
    for stack in deployed.values():
        assert set(stack.outputs) == set(stack.template["Outputs"])
        assert [key for key, value in stack.outputs.items() if not value or "${" in value] == []


def test_the_corpus_is_in_its_bucket_byte_for_byte(deployed):
    s3 = client("s3")
    bucket = deployed["data"].outputs["CorpusBucketName"]
    stored = {
        each["Key"]: s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()
        for each in s3.list_objects_v2(Bucket=bucket)["Contents"]
    }
    files = {
        path.relative_to(CORPUS).as_posix(): path.read_bytes()
        for path in CORPUS.rglob("*")
        if path.is_file()
    }
    assert stored == files


def test_every_document_was_cut_into_chunks_of_its_own_lines(deployed, loopback):
    files = list(CORPUS.rglob("*.md"))
    told = deployed["data"].outputs["LastIngestion"]
    assert told.startswith(f"COMPLETE: {len(files)} documents indexed, 0 failed")
    for content in loopback.ingestion.contents:
        metadata = content["contentMetadata"]
        lines = (CORPUS / metadata["source_file"]).read_text(encoding="utf-8").split("\n")
        cited = "\n".join(lines[metadata["start_line"] - 1 : metadata["end_line"]])
        assert content["contentBody"].endswith(cited)
    cut = {content["contentMetadata"]["source_file"] for content in loopback.ingestion.contents}
    assert cut == {path.relative_to(CORPUS).as_posix() for path in files}


def test_the_function_knows_its_knowledge_base(deployed):
    function = client("lambda").get_function_configuration(
        FunctionName=f"{NAME}-retrieve-knowledge", Qualifier="live"
    )
    environment = function["Environment"]["Variables"]
    assert environment["KNOWLEDGE_BASE_ID"] == deployed["data"].outputs["KnowledgeBaseId"]
    assert environment["SEARCH_TYPE"] == "HYBRID"
    assert environment["GUARDRAIL_ID"] in deployed["service"].outputs["GuardrailId"]
    assert environment["POWERTOOLS_SERVICE_NAME"] == NAME
    assert function["Handler"] == "lambdas.retrieve_knowledge.handler.lambda_handler"


def test_only_the_agent_and_the_gateway_may_call_it(deployed):
    policy = json.loads(
        client("lambda").get_policy(FunctionName=f"{NAME}-retrieve-knowledge")["Policy"]
    )
    callers = [
        (each["Principal"]["Service"], each["Condition"]["ArnLike"]["AWS:SourceArn"])
        for each in policy["Statement"]
    ]
    (agent,) = made("AWS::Bedrock::Agent")
    assert callers == [("bedrock.amazonaws.com", agent.attributes["AgentArn"])]
    (target,) = made("AWS::BedrockAgentCore::GatewayTarget")
    alias = deployed["service"].outputs["RetrieveFunctionArn"]
    assert target.parameters["targetConfiguration"]["mcp"]["lambda"]["lambdaArn"] == alias


def test_the_roles_are_as_the_template_says(deployed):
    iam = client("iam")
    for stack in deployed.values():
        for name, resource in stack.template["Resources"].items():
            if resource["Type"] == "AWS::IAM::Role":
                role = stack.resources[name]
                assert iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"] == []
                assert "AssumeRolePolicyDocument" in iam.get_role(RoleName=role)["Role"]


def test_the_agent_runs_its_own_instruction_and_schema(deployed):
    (agent,) = made("AWS::Bedrock::Agent")
    prompt = (CORPUS.parent / "prompts" / "knowledge-rag-agent.txt").read_text(encoding="utf-8")
    assert agent.parameters["instruction"].strip() == prompt.strip()
    (alias,) = made("AWS::Bedrock::AgentAlias")
    assert re.search(r"[0-9a-f]{8,}", alias.parameters["description"])
    assert alias.parameters["agentId"] == deployed["service"].outputs["AgentId"]


def test_the_knowledge_base_embeds_into_the_index_that_was_made_for_it(deployed):
    assert deployed["data"].status == "CREATE_COMPLETE"
    (base,) = made("AWS::Bedrock::KnowledgeBase")
    (index,) = made("AWS::OpenSearchServerless::Index")
    (collection,) = made("AWS::OpenSearchServerless::Collection")
    storage = base.parameters["storageConfiguration"]["opensearchServerlessConfiguration"]
    assert storage["vectorIndexName"] == index.parameters["indexName"]
    assert storage["collectionArn"] == collection.attributes["Arn"]
    fields = index.parameters["indexSchema"]["Mappings"]["Properties"]
    assert set(storage["fieldMapping"].values()) <= set(fields)


def test_documents_are_cut_by_our_own_function(deployed):
    assert deployed["data"].status == "CREATE_COMPLETE"
    (source,) = made("AWS::Bedrock::DataSource")
    ingestion = source.parameters["vectorIngestionConfiguration"]
    assert ingestion["chunkingConfiguration"] == {"chunkingStrategy": "NONE"}
    (step,) = ingestion["customTransformationConfiguration"]["transformations"]
    assert step["stepToApply"] == "POST_CHUNKING"
    function = step["transformationFunction"]["transformationLambdaConfiguration"]["lambdaArn"]
    assert re.fullmatch(rf"arn:aws:lambda:.*:function:{NAME}-chunk-documents:live", function)


def test_the_alarms_stand_with_their_thresholds(deployed):
    alarms = {
        each["AlarmName"]: each for each in client("cloudwatch").describe_alarms()["MetricAlarms"]
    }
    assert alarms[f"{NAME}-latency-p95"]["Threshold"] == Thresholds().latency_p95_ms
    topic = deployed["service"].outputs["AlarmTopicArn"]
    for alarm in alarms.values():
        assert alarm["AlarmActions"] == [topic]
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["AlarmDescription"]


def test_the_dashboard_shows_what_the_functions_emit(deployed):
    cloudwatch = client("cloudwatch")
    (entry,) = cloudwatch.list_dashboards()["DashboardEntries"]
    assert entry["DashboardName"] == deployed["service"].outputs["DashboardName"]
    body = cloudwatch.get_dashboard(DashboardName=entry["DashboardName"])["DashboardBody"]
    assert json.loads(body)["widgets"]
    for metric in (telemetry.RETRIEVAL_LATENCY, telemetry.RETRIEVAL_ERRORS):
        assert f'"{telemetry.NAMESPACE}","{metric}"' in body.replace(", ", ",")
