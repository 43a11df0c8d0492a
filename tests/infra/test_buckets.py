"""The corpus and the intermediate bucket, and what is logged of them."""

import pytest

from infra.buckets import BATCHES
from lambdas.chunk_documents.transform import EXTRACTED
from tests.infra.data import resources, template, text

DEV = {"preset": "dev"}
PROD = {"preset": "prod"}


def bucket(name, **values):
    found = resources(template(**values), "AWS::S3::Bucket")
    (logical,) = [key for key in found if key.startswith(f"Buckets{name}")]
    return found[logical]


def rules(name, **values):
    found = bucket(name, **values)["Properties"]["LifecycleConfiguration"]["Rules"]
    return {rule["Id"]: rule for rule in found}


@pytest.mark.parametrize("values", [DEV, PROD], ids=["dev", "prod"])
def test_no_bucket_is_public_or_has_lists_of_its_own(values):
    for found in resources(template(**values), "AWS::S3::Bucket").values():
        assert set(found["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
        (rule,) = found["Properties"]["OwnershipControls"]["Rules"]
        assert rule["ObjectOwnership"] == "BucketOwnerEnforced"
        assert "AccessControl" not in found["Properties"]


@pytest.mark.parametrize("values", [DEV, PROD], ids=["dev", "prod"])
def test_every_bucket_refuses_what_does_not_come_by_modern_tls(values):
    policies = resources(template(**values), "AWS::S3::BucketPolicy").values()
    denied = {}
    for policy in policies:
        name = policy["Properties"]["Bucket"]["Ref"]
        denied[name] = [
            statement["Condition"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
            and statement["Principal"] == {"AWS": "*"}
            and statement["Action"] == "s3:*"
        ]
    assert set(denied) == set(resources(template(**values), "AWS::S3::Bucket"))
    for conditions in denied.values():
        assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
        assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions


def test_documents_can_be_had_back_for_ninety_days():
    assert bucket("Corpus", **DEV)["Properties"]["VersioningConfiguration"]["Status"] == "Enabled"
    old = rules("Corpus", **DEV)["old-versions"]
    assert old["NoncurrentVersionExpiration"] == {"NoncurrentDays": 90}


def test_batches_of_an_ingestion_job_go_after_a_week_and_the_text_of_documents_stays():
    expiring = [
        rule for rule in rules("Intermediate", **DEV).values() if "ExpirationInDays" in rule
    ]
    assert [(rule["ExpirationInDays"], rule["Prefix"]) for rule in expiring] == [(7, BATCHES)]
    assert not EXTRACTED.startswith(BATCHES)


@pytest.mark.parametrize("name", ["Corpus", "Intermediate"])
def test_uploads_that_were_never_finished_go_after_a_day(name):
    upload = rules(name, **DEV)["uploads"]["AbortIncompleteMultipartUpload"]
    assert upload == {"DaysAfterInitiation": 1}


@pytest.mark.parametrize("name", ["Corpus", "Intermediate"])
def test_without_a_key_of_our_own_s3_encrypts_under_its_own(name):
    (rule,) = bucket(name, **DEV)["Properties"]["BucketEncryption"][
        "ServerSideEncryptionConfiguration"
    ]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


@pytest.mark.parametrize("name", ["Corpus", "Intermediate"])
def test_with_a_key_of_our_own_objects_are_under_it(name):
    (rule,) = bucket(name, **PROD)["Properties"]["BucketEncryption"][
        "ServerSideEncryptionConfiguration"
    ]
    (key,) = resources(template(**PROD), "AWS::KMS::Key")
    default = rule["ServerSideEncryptionByDefault"]
    assert default["SSEAlgorithm"] == "aws:kms"
    assert text(default["KMSMasterKeyID"]) == f"<{key}.Arn>"
    assert rule["BucketKeyEnabled"] is True


@pytest.mark.parametrize("name", ["Corpus", "Intermediate"])
def test_where_data_is_kept_access_to_it_is_logged(name):
    logged = bucket(name, **PROD)["Properties"]["LoggingConfiguration"]
    assert logged["DestinationBucketName"]["Ref"].startswith("BucketsAccessLogs")
    assert logged["LogFilePrefix"] == f"{name.lower()}/"


def test_access_logs_are_kept_as_long_as_other_logs_under_s3s_own_key():
    assert rules("AccessLogs", **PROD)["logs"]["ExpirationInDays"] == 90
    (rule,) = bucket("AccessLogs", **PROD)["Properties"]["BucketEncryption"][
        "ServerSideEncryptionConfiguration"
    ]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_only_the_logging_service_of_this_account_writes_access_logs():
    policies = resources(template(**PROD), "AWS::S3::BucketPolicy").values()
    allowed = [
        statement
        for policy in policies
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert len(allowed) == 2  # one a source bucket
    for statement in allowed:
        assert statement["Principal"] == {"Service": "logging.s3.amazonaws.com"}
        assert statement["Action"] == "s3:PutObject"
        assert statement["Condition"]["StringEquals"] == {
            "aws:SourceAccount": {"Ref": "AWS::AccountId"}
        }


def test_where_data_goes_with_the_stack_there_is_no_log_bucket_to_hold_it_up():
    assert len(resources(template(**DEV), "AWS::S3::Bucket")) == 2
    assert "LoggingConfiguration" not in bucket("Corpus", **DEV)["Properties"]


@pytest.mark.parametrize(("values", "policy"), [(DEV, "Delete"), (PROD, "Retain")])
def test_data_stays_or_goes_as_the_settings_say(values, policy):
    for found in resources(template(**values), "AWS::S3::Bucket").values():
        assert found["DeletionPolicy"] == found["UpdateReplacePolicy"] == policy
