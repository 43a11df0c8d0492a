"""The data stack in combinations of its settings, checked by cdk-nag; `make nightly` lints them."""

import aws_cdk as cdk
import pytest
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

from infra.data_stack import DataStack
from tests.infra.data import app, only, resources, settings, template, text

S3_VECTORS = {"vector_store": "s3-vectors", "search_type": "SEMANTIC", "min_search_ocu": "0"}
KEYED = {"customer_managed_key": "true"}
COMBINATIONS = {
    "dev": {},
    "prod": {"preset": "prod"},
    "nextgen, private, keyed": {"network": "private", **KEYED},
    "classic, longest name": {"generation": "classic", "name": "a23456789012345678-0"},
    "classic, private, keyed, standby": {
        "generation": "classic",
        "network": "private",
        "standby_replicas": "true",
        **KEYED,
    },
    "s3 vectors": S3_VECTORS,
    "s3 vectors, prod": {"preset": "prod", **S3_VECTORS},
}
WHOLE = {"dev", "prod", "s3 vectors"}
"""Judged as parts of whole deployments, in test_templates.py."""


@pytest.fixture(params=[name for name in COMBINATIONS if name not in WHOLE])
def values(request):
    return COMBINATIONS[request.param]


def nagged(values, change=None):
    """Synthesize with cdk-nag, which raises where it finds something."""
    judged = app()
    chosen = settings(**values)
    stack = DataStack(judged, f"{chosen.name}-data", settings=chosen)
    if change:
        change(stack)
    cdk.Validations.of(judged).add_plugins(AwsSolutionsChecks(judged))
    judged.synth()


def test_cdk_nag_finds_nothing(values):
    nagged(values)


def test_cdk_nag_would_find_something():
    with pytest.raises(RuntimeError, match=r"(?i)validation"):
        nagged({}, lambda stack: s3.Bucket(stack, "Open"))


def test_a_key_of_our_own_is_rotated_named_and_used_by_logs_of_this_deployment_only():
    key = only(template(**COMBINATIONS["prod"]), "AWS::KMS::Key")
    assert key["EnableKeyRotation"] is True
    (logs,) = [each for each in key["KeyPolicy"]["Statement"] if "Condition" in each]
    (group,) = logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    assert text(group).endswith(":log-group:/aws/lambda/knowledge-rag-prod-*")
    alias = only(template(**COMBINATIONS["prod"]), "AWS::KMS::Alias")
    assert alias["AliasName"] == "alias/knowledge-rag-prod-data"


def test_without_one_there_is_no_key():
    assert resources(template(**COMBINATIONS["dev"]), "AWS::KMS::Key") == {}


def test_a_stack_that_is_deleted_leaves_nothing_that_costs_by_the_hour():
    for name in ("dev", "prod"):
        found = template(**COMBINATIONS[name]).to_json()["Resources"].values()
        for resource in found:
            if resource["Type"].startswith(("AWS::OpenSearchServerless", "AWS::Bedrock")):
                assert resource.get("DeletionPolicy", "Delete") == "Delete"


def test_outputs_are_what_a_person_needs_next():
    outputs = template(**COMBINATIONS["dev"]).to_json()["Outputs"]
    assert set(outputs) == {
        "CollectionName",
        "CorpusBucketName",
        "DataSourceId",
        "IngestAgain",
        "KnowledgeBaseId",
        "LastIngestion",
    }
