"""A deployment into an account with rules of its own, by the real command line, to a cloud on loopback."""

import json
import shutil

import boto3
import pytest

from infra.setting_values import OWN_TAG
from tests.infra.parts import of_type
from tests.infra.synthesis import synthesized
from tools.local_cloud import kinds
from tools.local_cloud.deployment import cloud, deploy_assembly

pytestmark = pytest.mark.skipif(
    shutil.which("npx") is None, reason="npx is not installed: Node >= 20 brings it"
)

NAME = "knowledge-rag-prod"
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
    assert len(roles) == 8
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


def test_the_assembly_went_through_the_bucket_of_the_bootstrap(deployed):
    bucket = f"cdk-platform-assets-{kinds.ACCOUNT}-{kinds.REGION}"
    assert client("s3").list_objects_v2(Bucket=bucket)["KeyCount"] >= len(deployed)
