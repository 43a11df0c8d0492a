"""The cloud of one machine refuses what the services would refuse: else a deployment proves nothing."""

import pytest

from tools.local_cloud.deployment import main
from tools.local_cloud.kinds import KINDS
from tools.local_cloud.shapes import InvalidPropertiesError, parameters


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_property_is_refused(kind):
    rule = KINDS[kind]
    with pytest.raises(InvalidPropertiesError, match="Wrong is not known"):
        parameters(rule.service, rule.operation, {"Wrong": 1})


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


def test_wrong_settings_are_told_before_anything_starts(capsys):
    assert main(["knowledge-rag:preset=nope", "knowledge-rag:corpus"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert '  preset = "nope"; allowed: dev or prod' in told.err.splitlines()
    assert '  corpus = ""; allowed: text that isn\'t blank' in told.err.splitlines()
