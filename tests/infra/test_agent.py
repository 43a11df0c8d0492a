"""The agent: its tool, its role, and an alias that follows every change."""

import json
import re
from dataclasses import replace

import pytest
from aws_cdk import aws_kms as kms

from infra.agent import Agent
from infra.guardrail import Guardrail
from infra.sources import load_sources
from tests.infra.iam import render as text
from tests.infra.service import (
    alias_in,
    bare_stack,
    only,
    settings,
    statements,
    template_of,
)

PROFILE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"


def template(*, sources=None, guardrail=False, key=False, **values):
    stack = bare_stack()
    chosen = settings(entrypoint="agent", **values)
    Agent(
        stack,
        "Agent",
        settings=chosen,
        sources=sources or load_sources(chosen),
        retrieve=alias_in(stack),
        guardrail=Guardrail(stack, "Guardrail", settings=chosen) if guardrail else None,
        encryption_key=kms.Key(stack, "Key") if key else None,
    )
    return template_of(stack)


@pytest.fixture(scope="module")
def plain():
    return template()


@pytest.fixture(scope="module")
def full():
    return template(guardrail=True, key=True)


def agent(template):
    return only(template, "AWS::Bedrock::Agent")


def role(template):
    (found,) = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role" and "knowledge agent" in json.dumps(resource)
    ]
    return found


def grants(template):
    return {
        statement["Sid"]: [text(resource) for resource in _list(statement["Resource"])]
        for statement in statements(role(template))
    }


def conditions(template, sid):
    (found,) = [s for s in statements(role(template)) if s["Sid"] == sid]
    return found["Condition"]


def _list(value):
    return value if isinstance(value, list) else [value]


def test_its_tool_is_the_alias_under_the_schema_of_the_repository(plain):
    (group,) = agent(plain)["ActionGroups"]
    assert text(group["ActionGroupExecutor"]["Lambda"]).startswith("<Live")
    assert json.loads(group["ApiSchema"]["Payload"]) == load_sources(settings()).document


def test_it_has_the_prompt_of_the_repository_and_is_prepared(plain):
    assert agent(plain)["Instruction"] == load_sources(settings()).instruction
    assert agent(plain)["AutoPrepare"] is True
    assert agent(plain)["FoundationModel"] == PROFILE


def test_a_conversation_outlives_a_check_in_the_console(plain):
    assert 60 <= agent(plain)["IdleSessionTTLInSeconds"] <= 5400


def test_only_this_agent_may_invoke_the_alias(plain):
    permission = only(plain, "AWS::Lambda::Permission")
    assert permission["Principal"] == "bedrock.amazonaws.com"
    assert permission["SourceAccount"] == {"Ref": "AWS::AccountId"}
    assert text(permission["SourceArn"]).endswith(".AgentArn>")
    assert text(permission["FunctionName"]).startswith("<Live")


def test_only_agents_of_this_account_may_use_its_role(plain):
    (trust,) = role(plain)["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "bedrock.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    (source,) = trust["Condition"]["ArnLike"].values()
    assert text(source).endswith(":bedrock:<AWS::Region>:<AWS::AccountId>:agent/*")


def test_a_profile_is_granted_with_its_model_in_every_region_it_serves(plain):
    arn = "arn:<AWS::Partition>:bedrock:"
    profile = f"{arn}<AWS::Region>:<AWS::AccountId>:inference-profile/{PROFILE}"
    regions = ("us-east-1", "us-east-2", "us-west-2")
    models = [f"{arn}{region}::foundation-model/{MODEL}" for region in regions]
    assert grants(plain) == {
        "InvokeProfile": [profile],
        "ReadProfile": [profile],
        "InvokeModelThroughProfile": models,
        "ReadModel": models,
    }
    condition = conditions(plain, "InvokeModelThroughProfile")
    assert text(condition["StringEquals"]["bedrock:InferenceProfileArn"]) == profile


def test_a_plain_model_is_granted_in_its_own_region_alone():
    assert grants(template(agent_model=MODEL)) == {
        "InvokeModel": [f"arn:<AWS::Partition>:bedrock:<AWS::Region>::foundation-model/{MODEL}"]
    }


def test_a_global_profile_is_granted_anywhere_through_itself_only():
    granted = template(agent_model=f"global.{MODEL}")
    model = f"foundation-model/{MODEL}"
    assert grants(granted)["InvokeModelThroughProfile"] == [
        f"arn:<AWS::Partition>:bedrock:<AWS::Region>::{model}"
    ]
    assert grants(granted)["InvokeModelAnywhere"] == [f"arn:<AWS::Partition>:bedrock:::{model}"]
    condition = conditions(granted, "InvokeModelAnywhere")["StringEquals"]
    assert condition["aws:RequestedRegion"] == "unspecified"
    assert text(condition["bedrock:InferenceProfileArn"]).endswith(f"/global.{MODEL}")


def test_its_role_invokes_models_and_never_searches_by_itself(full):
    actions = {
        action for statement in statements(role(full)) for action in _list(statement["Action"])
    }
    assert actions == {
        "bedrock:InvokeModel",
        "bedrock:InvokeModelWithResponseStream",
        "bedrock:GetInferenceProfile",
        "bedrock:GetFoundationModel",
        "bedrock:ApplyGuardrail",
        "kms:Decrypt",
        "kms:GenerateDataKey",
    }


def test_a_guardrail_is_attached_by_its_version(full, plain):
    attached = agent(full)["GuardrailConfiguration"]
    assert text(attached["GuardrailVersion"]).endswith(".Version>")
    assert "GuardrailConfiguration" not in agent(plain)


def test_a_key_encrypts_its_prompt_for_agents_only(full, plain):
    assert "CustomerEncryptionKeyArn" in agent(full)
    assert "CustomerEncryptionKeyArn" not in agent(plain)
    (context,) = conditions(full, "ReadOwnPrompt")["ArnLike"].items()
    assert context[0] == "kms:EncryptionContext:aws:bedrock:arn"
    assert text(context[1]).endswith(":agent/*")


def description(template):
    return text(only(template, "AWS::Bedrock::AgentAlias")["Description"])


def test_its_alias_names_the_functions_version(plain):
    assert "no guardrail, function version <Retrieve" in description(plain)


def test_its_alias_names_the_guardrails_version(full):
    assert "guardrail version <GuardrailVersion" in description(full)


@pytest.mark.parametrize("part", ["schema", "instruction"])
def test_its_alias_moves_when_a_source_changes(plain, part):
    sources = load_sources(settings())
    changed = replace(sources, **{part: getattr(sources, part) + " "})
    assert description(template(sources=changed)) != description(plain)


def test_its_alias_moves_when_the_model_changes(plain):
    assert description(template(agent_model=MODEL)) != description(plain)


def test_its_alias_stays_when_nothing_changes(plain):
    assert description(template()) == description(plain)


def test_its_alias_description_fits(full):
    numbered = re.sub("<[^>]+>", "12345678", description(full))  # versions are numbers
    assert len(numbered) <= 200
