"""The guardrail stops prompt attacks and masks keys, and leaves runbooks alone."""

import pytest

from infra import guardrail as module
from infra.guardrail import Guardrail
from tests.infra.service import bare_stack, of_type, only, settings, template_of


def template():
    stack = bare_stack()
    Guardrail(stack, "Guardrail", settings=settings(guardrail=True))
    return template_of(stack)


@pytest.fixture(scope="module")
def bare():
    return template()


def test_it_is_named_as_the_deployment(bare):
    assert only(bare, "AWS::Bedrock::Guardrail")["Name"] == "knowledge-rag-dev"


def test_it_looks_for_prompt_attacks_on_the_way_in_and_for_nothing_else(bare):
    policy = only(bare, "AWS::Bedrock::Guardrail")["ContentPolicyConfig"]
    assert policy["FiltersConfig"] == [
        {"Type": "PROMPT_ATTACK", "InputStrength": "MEDIUM", "OutputStrength": "NONE"}
    ]


def test_keys_are_masked_on_the_way_out_and_may_be_asked_about(bare):
    policy = only(bare, "AWS::Bedrock::Guardrail")["SensitiveInformationPolicyConfig"]
    entities = policy["PiiEntitiesConfig"]
    assert {entity["Type"] for entity in entities} == {"AWS_ACCESS_KEY", "AWS_SECRET_KEY"}
    for entity in entities:
        assert (entity["OutputEnabled"], entity["OutputAction"]) == (True, "ANONYMIZE")
        assert entity["InputEnabled"] is False


def test_what_would_alter_or_refuse_a_runbook_is_left_out(bare):
    given = only(bare, "AWS::Bedrock::Guardrail")
    assert not {"WordPolicyConfig", "TopicPolicyConfig", "ContextualGroundingPolicyConfig"} & set(
        given
    )


def test_a_change_makes_a_new_version(bare, monkeypatch):
    before = only(bare, "AWS::Bedrock::GuardrailVersion")["Description"]
    assert before == only(template(), "AWS::Bedrock::GuardrailVersion")["Description"]
    monkeypatch.setattr(module, "BLOCKED_INPUT", "No.")
    assert only(template(), "AWS::Bedrock::GuardrailVersion")["Description"] != before


def test_a_changed_filter_makes_a_new_version(bare, monkeypatch):
    (filter_,) = module._CONTENT_POLICY.filters_config
    monkeypatch.setitem(filter_._values, "input_strength", "HIGH")
    version = only(template(), "AWS::Bedrock::GuardrailVersion")
    assert version["Description"] != only(bare, "AWS::Bedrock::GuardrailVersion")["Description"]


def test_there_is_one_version_of_one_guardrail(bare):
    kinds = [resource["Type"] for resource in bare["Resources"].values()]
    assert sorted(kinds) == ["AWS::Bedrock::Guardrail", "AWS::Bedrock::GuardrailVersion"]
    assert of_type(bare, "AWS::Bedrock::GuardrailVersion")
