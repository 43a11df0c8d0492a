"""A deployment into an account with rules of its own, by the real command line, to a cloud on loopback."""

import json
import shutil
from contextlib import closing

import boto3
import pytest

from infra.setting_values import OWN_TAG
from lambdas.check_release.handler import lambda_handler
from tests.infra.parts import of_type
from tests.infra.synthesis import synthesized
from tests.support.played_aws import PlayedAws
from tools.local_cloud import kinds, registration
from tools.local_cloud.deployment import cloud, deploy_assembly

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

NAME = "knowledge-rag-prod"
TOLD = "PutLifecycleEventHookExecutionStatus"
ROLE = "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-${Qualifier}-"
WHERE = "-${AWS::AccountId}-${AWS::Region}"
ANYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}  # fmt: skip


def client(service):
    return boto3.client(service, region_name=kinds.REGION)


@pytest.fixture(scope="module")
def account():
    """The account as its owners prepared it: their key, their policy."""
    with cloud():
        key = client("kms").create_key(Description="the organisation's")["KeyMetadata"]["Arn"]
        policy = client("iam").create_policy(
            PolicyName="team-boundary", PolicyDocument=json.dumps(ANYTHING)
        )
        yield key, policy["Policy"]["Arn"]


@pytest.fixture(scope="module")
def deployed(account):
    key, boundary = account
    settings = {
        "preset": "prod",
        "kms_key_arn": key,
        "permissions_boundary": boundary,
        "tags": {"team": "SRE: on call", "cost-centre": "4711"},
        "bootstrap_qualifier": "platform",
        "deploy_role_arn": f"{ROLE}deploy-role{WHERE}",
        "execution_role_arn": f"{ROLE}cfn-exec-role{WHERE}",
        "assets_role_arn": f"{ROLE}file-publishing-role{WHERE}",
        "assets_bucket": "cdk-${Qualifier}-assets" + WHERE,
        "release": "canary",
    }
    return deploy_assembly(synthesized(**settings).folder, settings["bootstrap_qualifier"])


def test_both_stacks_are_complete_and_make_no_key(deployed):
    for stack in deployed:
        assert stack.status == "CREATE_COMPLETE"
        assert set(stack.resources) == set(stack.template["Resources"])
        assert not of_type(stack.template, "AWS::KMS::Key")
    assert len(deployed) == 2


def test_every_role_of_the_stacks_is_bounded_and_tagged(account, deployed):
    roles = [
        stack.resources[name]
        for stack in deployed
        for name in of_type(stack.template, "AWS::IAM::Role")
    ]
    assert len(roles) == 10
    for role in roles:
        made = client("iam").get_role(RoleName=role)["Role"]
        assert made["PermissionsBoundary"]["PermissionsBoundaryArn"] == account[1]
        tags = {each["Key"]: each["Value"] for each in made["Tags"]}
        assert tags == {"team": "SRE: on call", "cost-centre": "4711", OWN_TAG: NAME}


def test_the_data_is_under_the_organisation_s_key(account, deployed):
    (source,) = (each for each in kinds.MADE if each.kind == "AWS::Bedrock::DataSource")
    assert source.parameters["serverSideEncryptionConfiguration"] == {"kmsKeyArn": account[0]}
    outputs = {key: value for stack in deployed for key, value in stack.outputs.items()}
    rules = client("s3").get_bucket_encryption(Bucket=outputs["CorpusBucketName"])
    (rule,) = rules["ServerSideEncryptionConfiguration"]["Rules"]
    assert rule["ApplyServerSideEncryptionByDefault"]["KMSMasterKeyID"] == account[0]
    topic = client("sns").get_topic_attributes(TopicArn=outputs["AlarmTopicArn"])
    assert topic["Attributes"]["KmsMasterKeyId"] == account[0]


def test_codedeploy_s_hook_asks_the_versions_that_were_deployed(deployed, monkeypatch):
    assert deployed
    function = client("lambda").get_function_configuration(FunctionName=f"{NAME}-check-release")
    for name, value in function["Environment"]["Variables"].items():
        monkeypatch.setenv(name, value)
    told, asked = [], []
    with closing(PlayedAws()) as played:
        for name, url in played.endpoint("codedeploy").items():
            monkeypatch.setenv(name, url)
        played.play("codedeploy", TOLD, lambda _, body: told.append(json.loads(body)) or {})
        registration.INVOKED.append(
            lambda function, event: asked.append((function.version, event)) or {"status": "ok"}
        )
        try:
            lambda_handler({"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "h-1"}, None)
        finally:
            registration.INVOKED.pop()
    assert [each["status"] for each in told] == ["Succeeded"]
    question = {"query": "Aurora write stall", "max_results": 1, "canary": True}
    assert [event.keys() for _, event in asked] == [question.keys()] * 2


def test_the_assembly_went_through_the_bucket_of_the_bootstrap(deployed):
    bucket = f"cdk-platform-assets-{kinds.ACCOUNT}-{kinds.REGION}"
    assert client("s3").list_objects_v2(Bucket=bucket)["KeyCount"] >= len(deployed)
