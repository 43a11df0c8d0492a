"""The gateway: one tool, callers who are known, and a role that invokes one alias."""

import pytest

from infra.gateway import TARGET, Gateway
from infra.sources import load_sources
from knowledge_rag.core.outcome import TOOL_NAMES
from lambdas.retrieve_knowledge.events import ARGUMENTS
from tests.infra.iam import render as text
from tests.infra.service import (
    alias_in,
    bare_stack,
    of_type,
    only,
    settings,
    statements,
    template_of,
)

ISSUER = "https://login.example.com/.well-known/openid-configuration"


def template(**values):
    stack = bare_stack()
    chosen = settings(entrypoint="gateway", **values)
    sources = load_sources(chosen)
    Gateway(stack, "Gateway", settings=chosen, sources=sources, retrieve=alias_in(stack))
    return template_of(stack)


@pytest.fixture(scope="module")
def plain():
    return template()


def role(template):
    (found,) = [
        resource["Properties"]
        for resource in of_type(template, "AWS::IAM::Role")
        if "Policies" in resource["Properties"]
    ]
    return found


def test_callers_sign_with_iam_unless_told_otherwise(plain):
    gateway = only(plain, "AWS::BedrockAgentCore::Gateway")
    assert (gateway["ProtocolType"], gateway["AuthorizerType"]) == ("MCP", "AWS_IAM")
    assert "AuthorizerConfiguration" not in gateway


def test_callers_may_bring_a_token_of_a_named_issuer_for_a_named_audience():
    given = template(
        gateway_authorizer="jwt", jwt_discovery_url=ISSUER, jwt_audiences="oncall,agents"
    )
    gateway = only(given, "AWS::BedrockAgentCore::Gateway")
    assert gateway["AuthorizerType"] == "CUSTOM_JWT"
    assert gateway["AuthorizerConfiguration"] == {
        "CustomJWTAuthorizer": {
            "DiscoveryUrl": ISSUER,
            "AllowedAudience": ["oncall", "agents"],
        }
    }


def test_it_says_what_it_is_for_within_the_protocols_limit(plain):
    gateway = only(plain, "AWS::BedrockAgentCore::Gateway")
    instructions = gateway["ProtocolConfiguration"]["Mcp"]["Instructions"]
    assert "citation" in instructions
    assert len(instructions) <= 2048


def test_there_is_no_search_tool_to_find_one_tool_among_one(plain):
    gateway = only(plain, "AWS::BedrockAgentCore::Gateway")
    assert "SearchType" not in gateway["ProtocolConfiguration"]["Mcp"]


def test_its_one_target_is_the_alias_with_the_tool_of_the_schema(plain):
    target = only(plain, "AWS::BedrockAgentCore::GatewayTarget")
    assert target["Name"] == TARGET
    function = target["TargetConfiguration"]["Mcp"]["Lambda"]
    assert text(function["LambdaArn"]).startswith("<Live")
    (tool,) = function["ToolSchema"]["InlinePayload"]
    assert tool["Name"] in TOOL_NAMES
    assert "status" in tool["Description"]
    arguments = tool["InputSchema"]["Properties"]
    assert tuple(arguments) == ARGUMENTS
    assert tool["InputSchema"]["Required"] == ["query"]
    assert arguments["max_results"]["Type"] == "integer"
    # bounds, which a gateway's schema can't express
    assert "1 to 5" in arguments["max_results"]["Description"]
    assert "Not blank" in arguments["query"]["Description"]


def test_it_calls_the_function_as_its_own_role(plain):
    target = only(plain, "AWS::BedrockAgentCore::GatewayTarget")
    (provider,) = target["CredentialProviderConfigurations"]
    assert provider == {"CredentialProviderType": "GATEWAY_IAM_ROLE"}


def test_its_role_invokes_that_alias_and_does_nothing_else(plain):
    (statement,) = statements(role(plain))
    assert statement["Action"] == "lambda:InvokeFunction"
    assert text(statement["Resource"]).startswith("<Live")


def test_only_this_accounts_gateway_of_this_name_may_use_its_role(plain):
    (trust,) = role(plain)["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "bedrock-agentcore.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    (source,) = trust["Condition"]["ArnLike"].values()
    assert text(source).endswith(":gateway/knowledge-rag-dev-*")


def test_the_functions_own_policy_names_nobody(plain):
    assert of_type(plain, "AWS::Lambda::Permission") == []
