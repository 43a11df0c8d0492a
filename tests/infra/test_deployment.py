"""A deployment from the first command to the last, by the real command line, to a cloud on loopback.

What the services would refuse is refused there too (`test_local_cloud.py`); Docker, an account and the
internet are not needed.
"""

import itertools
import json
import shutil
from pathlib import Path

import boto3
import pytest

from lambdas.deploy_steps import index
from lambdas.start_ingestion import handler
from tests.infra.synthesis import EVERYTHING, synthesized
from tools.local_cloud import kinds
from tools.local_cloud.changes import deployed_changes
from tools.local_cloud.deployment import cloud, deploy_assembly

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

CORPUS = Path(__file__).parents[2] / "knowledge-corpus"
NAME = "knowledge-rag-prod"
SETTINGS = EVERYTHING | {"handbook_url": "https://wiki.example.com/alarms"}


@pytest.fixture(scope="module")
def loopback():
    with cloud() as running:
        yield running


@pytest.fixture(scope="module")
def deployed(loopback):  # noqa: ARG001 - it runs
    handler._jobs.cache_clear()
    stacks = deploy_assembly(synthesized(**SETTINGS).folder)
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


def test_every_document_is_cut_into_chunks_of_its_own_lines_after_the_deployment(
    deployed, loopback
):
    assert loopback.ingestion.started == {}  # which waited for no job
    files = {path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.md")}
    assert deployed["data"].outputs["LastMirror"].startswith(f"{len(files)} written")
    changes = deployed_changes(NAME, loopback.clock)
    for name in sorted(files):
        changes.tell(deployed["data"].outputs["CorpusBucketName"], name)
    changes.pass_time(1_200)
    (told,) = [record for record in changes.log if record.get("message") == "ingestion job is over"]
    assert (told["indexed"], told["failed"]) == (len(files), 0)
    assert set(loopback.ingestion.contents) == files
    for content in itertools.chain.from_iterable(loopback.ingestion.contents.values()):
        metadata = content["contentMetadata"]
        lines = (CORPUS / metadata["source_file"]).read_text(encoding="utf-8").split("\n")
        cited = "\n".join(lines[metadata["start_line"] - 1 : metadata["end_line"]])
        assert content["contentBody"].endswith(cited)


def test_the_knowledge_base_was_made_once_its_own_role_could_search_the_index(
    deployed,  # noqa: ARG001 - what it made
    loopback,
):
    assert loopback.searching.calls == [
        ("_mapping", 200),
        ("_search", 404),
        *[("_search", 200)] * index.ANSWERS,
    ]
    order = [each.kind for each in kinds.MADE]
    assert order.index("Custom::KnowledgeIndex") < order.index("AWS::Bedrock::KnowledgeBase")
    (fields,) = loopback.searching.mappings.values()
    assert fields["service"]["fields"]["keyword"]["type"] == "keyword"


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


def test_aws_devops_agent_may_use_the_gateway_s_tool(deployed):
    (server,) = made("AWS::DevOpsAgent::Service")
    details = server.parameters["serviceDetails"]["mcpserversigv4"]
    assert details["endpoint"] == deployed["service"].outputs["GatewayUrl"]
    assert details["authorizationConfig"]["service"] == "bedrock-agentcore"
    (space,) = made("AWS::DevOpsAgent::Association")
    assert space.parameters["serviceId"] == server.reference
    assert space.parameters["configuration"]["mcpserversigv4"]["tools"] == [
        "knowledge___retrieveKnowledge"
    ]
    order = [each.kind for each in kinds.MADE]
    assert order.index("AWS::BedrockAgentCore::GatewayTarget") < order.index(server.kind)


def test_the_canary_s_schedule_invokes_the_alias(deployed):
    (schedule,) = made("AWS::Scheduler::Schedule")
    target = client("scheduler").get_schedule(Name=f"{NAME}-canary", GroupName=NAME)["Target"]
    assert target["Arn"] == deployed["service"].outputs["RetrieveFunctionArn"]
    assert json.loads(target["Input"])["canary"] is True
    assert schedule.parameters["ScheduleExpression"] == "rate(5 minutes)"


def test_alarms_reach_pagerduty_and_the_channel(deployed):
    topic = deployed["service"].outputs["AlarmTopicArn"]
    (page,) = client("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert page["Protocol"] == "https"
    (slack,) = made("AWS::Chatbot::SlackChannelConfiguration")
    assert slack.parameters["SnsTopicArns"] == [topic]
