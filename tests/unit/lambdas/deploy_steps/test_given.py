"""The steps that look at what others made: a bucket of documents, a knowledge base."""

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.given_bucket import GivenBucket
from lambdas.custom_resource import PROPAGATION_SECONDS
from lambdas.deploy_steps.handler import check_base, check_bucket, lambda_handler
from tests.support.ingestion import existing_base

NAME = "team-runbooks"
KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
ALIAS = "arn:aws:kms:us-east-1:123456789012:alias/team"


@pytest.fixture
def s3(bedrock):  # noqa: ARG001 - its endpoint is in the environment
    with mock_aws():
        yield boto3.client("s3", region_name="us-east-1")


@pytest.fixture
def bucket(s3):
    def make(region="", key=None, *, versioned=True):
        placed = {"CreateBucketConfiguration": {"LocationConstraint": region}} if region else {}
        s3.create_bucket(Bucket=NAME, **placed)
        if versioned:
            s3.put_bucket_versioning(Bucket=NAME, VersioningConfiguration={"Status": "Enabled"})
        if key:
            default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
            rules = [{"ApplyServerSideEncryptionByDefault": default}]
            s3.put_bucket_encryption(
                Bucket=NAME, ServerSideEncryptionConfiguration={"Rules": rules}
            )

    return make


@pytest.fixture
def check(s3, time):
    def run(client=s3, **more):
        given = GivenBucket(name=NAME, region="us-east-1", **({"watched": False} | more))
        return check_bucket(client, given, "documents_bucket", time.clock(840))

    return run


def test_a_bucket_that_can_be_read_is_fine(bucket, check):
    bucket()
    assert check() == "team-runbooks: no problems found"


def test_a_bucket_that_is_not_there_is_refused(check):
    with pytest.raises(InvalidSettings, match="documents_bucket = team-runbooks: there is no such"):
        check()


def test_a_bucket_in_another_region_is_refused_and_both_are_named(bucket, check):
    bucket(region="eu-west-1")
    with pytest.raises(
        InvalidSettings, match="it is in eu-west-1, and the deployment in us-east-1"
    ):
        check()


@pytest.mark.parametrize("given", ["", KEY.replace("1234a", "9999a")])
def test_a_key_that_nothing_may_use_is_refused(bucket, check, given):
    bucket(key=KEY)
    with pytest.raises(InvalidSettings, match=f"encrypted with {KEY}.* Set source_key to"):
        check(key=given, key_setting="source_key")


def test_a_key_that_is_set_is_fine_and_so_is_an_alias_that_may_be_of_it(bucket, s3, check):
    bucket(key=KEY)
    assert check(key=KEY) == "team-runbooks: no problems found"
    rules = [
        {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": ALIAS}}
    ]
    s3.put_bucket_encryption(Bucket=NAME, ServerSideEncryptionConfiguration={"Rules": rules})
    assert check(key=KEY) == "team-runbooks: no problems found"
    with pytest.raises(InvalidSettings, match=ALIAS):
        check()


def test_what_only_delays_or_loses_is_named_and_not_refused(bucket, check):
    bucket(versioned=False)
    found = check(watched=True)
    assert "doesn't tell EventBridge" in found
    assert "put-bucket-versioning" in found
    assert check() == "team-runbooks: no problems found"


def stubbed(*answers):
    client = boto3.client("s3", region_name="us-east-1")
    stub = Stubber(client)
    for operation, code, headers in answers:
        stub.add_client_error(operation, code, response_meta={"HTTPHeaders": headers})
    stub.activate()
    return client


@pytest.mark.usefixtures("s3")
def test_a_bucket_that_may_not_be_looked_at_is_not_refused(check, time):
    tries = PROPAGATION_SECONDS // 15 + 1
    found = check(stubbed(*[("head_bucket", "403", {})] * tries))
    assert found.startswith("team-runbooks could not be checked: ")
    assert time.now == PROPAGATION_SECONDS  # new rights take their time


@pytest.mark.usefixtures("s3")
def test_the_region_is_known_where_nothing_may_be_looked_at(check):
    with pytest.raises(InvalidSettings, match="it is in eu-west-1"):
        check(stubbed(("head_bucket", "403", {"x-amz-bucket-region": "eu-west-1"})))


@pytest.fixture
def base(bedrock, ingestion, time):
    def run(wanted="VECTOR", search="HYBRID", found=None):
        if found:
            ingestion.bases["EXISTING01"] = found
        return check_base(bedrock, "EXISTING01", wanted, search, time.clock(840))

    return run


def test_a_knowledge_base_of_its_type_is_fine(base):
    assert base(found=existing_base()) == "EXISTING01 is VECTOR and ACTIVE"
    assert base("MANAGED", found=existing_base("MANAGED")) == "EXISTING01 is MANAGED and ACTIVE"
    assert base(search="SEMANTIC", found=existing_base(store="S3_VECTORS"))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "there is no such knowledge base"),
        (existing_base("KENDRA"), "it is of type KENDRA"),
        (existing_base("SQL"), "it is of type SQL"),
        (existing_base("MANAGED"), "Set knowledge_base_type=MANAGED"),
        (existing_base(status="DELETING"), "its status is DELETING"),
        (existing_base(store="S3_VECTORS"), "Set search_type=SEMANTIC"),
    ],
    ids=["not there", "Kendra", "SQL", "managed", "deleting", "S3 Vectors"],
)
def test_a_knowledge_base_that_can_t_be_asked_is_refused(base, found, said):
    with pytest.raises(InvalidSettings, match=said):
        base(found=found)


def test_a_knowledge_base_that_may_not_be_looked_at_is_not_refused(time, bedrock):
    stub = Stubber(bedrock)
    for _ in range(PROPAGATION_SECONDS // 15 + 1):
        stub.add_client_error("get_knowledge_base", "AccessDeniedException")
    with stub:
        found = check_base(bedrock, "EXISTING01", "VECTOR", "HYBRID", time.clock(840))
    assert found.startswith("EXISTING01 could not be checked: ")


CHECKED = [
    (
        "Bucket",
        {
            "Bucket": NAME,
            "Setting": "source_bucket",
            "KeySetting": "source_key",
            "Watched": "false",
        },
        "team-runbooks: no problems found",
        {"Bucket": "another"},
    ),
    (
        "Base",
        {"KnowledgeBaseId": "EXISTING01", "Type": "VECTOR", "SearchType": "HYBRID"},
        "EXISTING01 is VECTOR and ACTIVE",
        {"Type": "MANAGED"},
    ),
]


@pytest.mark.parametrize("case", CHECKED, ids=lambda case: case[0])
def test_cloudformation_gets_what_was_found(bucket, ingestion, case):
    resource, properties, found, wrong = case
    bucket()
    ingestion.bases["EXISTING01"] = existing_base()
    for given in (properties, properties | wrong):
        lambda_handler(
            {
                "RequestType": "Create",
                "ResponseURL": f"{ingestion.url}/answer",
                "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/a/1",
                "RequestId": "1",
                "LogicalResourceId": "Check",
                "ResourceType": f"Custom::Knowledge{resource}",
                "ResourceProperties": given,
            },
            None,
        )
    fine, refused = ingestion.answers
    assert (fine["Status"], fine["Data"]) == ("SUCCESS", {"Found": found})
    assert refused["Status"] == "FAILED"
    assert refused["Reason"].startswith("InvalidSettings: ")
