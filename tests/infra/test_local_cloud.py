"""The cloud of one machine refuses what the services would refuse: else a deployment proves nothing."""

import pytest
from moto import mock_aws

from tools.local_cloud import kinds
from tools.local_cloud.deployment import main
from tools.local_cloud.kinds import KINDS, make
from tools.local_cloud.shapes import InvalidPropertiesError, operation_shape, parameters


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_property_is_refused(kind):
    rule = KINDS[kind]
    with pytest.raises(InvalidPropertiesError, match="Wrong is not known"):
        parameters(rule.service, rule.operation, {"Wrong": 1})


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_required_property_is_refused(kind):
    rule = KINDS[kind]
    required = operation_shape(rule.service, rule.operation).required_members
    if kind == "AWS::KMS::Key":
        assert not required  # the one operation that needs nothing
        return
    with pytest.raises(InvalidPropertiesError) as raised:
        parameters(rule.service, rule.operation, {})
    assert required
    for name in required:
        assert f"'{name}' failed to satisfy constraint: Member must not be null" in str(
            raised.value
        )


def agent(**properties):
    return parameters("bedrock-agent", "CreateAgent", {"AgentName": "a", **properties})


@pytest.mark.parametrize(
    ("properties", "constraint"),
    [
        ({"GuardrailConfiguration": {"Wrong": 1}}, "GuardrailConfiguration.Wrong is not known"),
        ({"OrchestrationType": "SOMETHING"}, "enum value set"),
        ({"IdleSessionTTLInSeconds": 59}, "greater than or equal to 60"),
        ({"Instruction": "too short"}, "length greater than or equal to 40"),
        ({"AgentResourceRoleArn": "no arn"}, "regular expression pattern"),
        ({"AgentName": 7}, "must be of type string"),
    ],
)
def test_a_value_that_the_service_would_refuse_is_refused(properties, constraint):
    with pytest.raises(InvalidPropertiesError, match=constraint):
        agent(**properties)


def test_what_the_service_takes_is_taken_as_it_names_it():
    assert agent(IdleSessionTTLInSeconds="600", Tags={"a": "b"}) == {
        "agentName": "a",
        "idleSessionTTLInSeconds": 600,
        "tags": {"a": "b"},
    }


@mock_aws
def test_a_vector_bucket_without_a_name_is_named_as_cloudformation_does(
    aws_environment,  # noqa: ARG001 - sets the environment
    monkeypatch,
):
    monkeypatch.setattr(kinds, "MADE", [])
    bucket = make("AWS::S3Vectors::VectorBucket", {}).attributes["VectorBucketArn"]
    index = make(
        "AWS::S3Vectors::Index",
        {
            "IndexName": "knowledge",
            "VectorBucketArn": bucket,
            "DataType": "float32",
            "Dimension": 1024,
            "DistanceMetric": "cosine",
        },
    )
    assert index.attributes["IndexArn"] == f"{bucket}/index/knowledge"


def test_wrong_settings_are_told_before_anything_starts(capsys):
    assert main(["knowledge-rag:preset=nope", "knowledge-rag:corpus"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert '  preset = "nope": allowed is dev or prod' in told.err.splitlines()
    assert '  corpus = "": allowed is a text that is not blank' in told.err.splitlines()
