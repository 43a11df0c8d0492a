"""The service stack where settings change it, and where it has to fit what runs; the goldens pin the rest.

What its roles and policies allow stands in ``grants.txt``.
"""

import json
import re
import shlex
from dataclasses import replace
from types import SimpleNamespace

import aws_cdk as cdk
import pytest
from cdk_nag import AwsSolutionsChecks

from infra import guardrail as guardrail_module
from infra.agent import Agent
from infra.gateway import Gateway
from infra.guardrail import Guardrail
from infra.retrieval import Retrieval
from infra.service_stack import AGENTS_CLASSIC_NOTE, COLD_START_WARNING, ServiceStack
from infra.settings import Entrypoint, Preset
from infra.sources import load_sources
from knowledge_rag.core.outcome import TOOL_NAMES
from lambdas.retrieve_knowledge.events import ARGUMENTS, to_query
from lambdas.retrieve_knowledge.settings import load_settings as function_settings
from tests.infra.iam import render, statements
from tests.infra.parts import alias_in, app, bare_stack, of_type, only, settings, template_of

KINDS = [(preset, entrypoint) for preset in Preset for entrypoint in Entrypoint]
DATA = SimpleNamespace(
    chunk_function_name="x-chunk-documents",
    ingestion=SimpleNamespace(
        name="x-start-ingestion", rule_name="x-changes", dead_letters_name="x-changes-failed.fifo"
    ),
    collection_name="x-vectors",
)
AGENT = {"AWS::Bedrock::Agent", "AWS::Bedrock::AgentAlias", "AWS::Lambda::Permission"}
GATEWAY = {"AWS::BedrockAgentCore::Gateway", "AWS::BedrockAgentCore::GatewayTarget"}
HARNESS = {"AWS::BedrockAgentCore::Harness"}
EXPECTED = {
    Entrypoint.AGENT: (AGENT, {"AgentId", "AgentAliasId"}),
    Entrypoint.GATEWAY: (GATEWAY, {"GatewayUrl", "GatewayArn"}),
    Entrypoint.BOTH: (AGENT | GATEWAY, {"AgentId", "AgentAliasId", "GatewayUrl", "GatewayArn"}),
    Entrypoint.HARNESS: (GATEWAY | HARNESS, {"GatewayUrl", "GatewayArn", "HarnessArn"}),
    Entrypoint.NONE: (set(), set()),
}


def stack_name(preset, entrypoint):
    """A name as long as one may be, so that whatever is derived from it fits."""
    return f"{preset}-{entrypoint}-".ljust(20, "x")


@pytest.fixture(scope="module")
def synthesized(tmp_path_factory):
    """All entry points in both presets, judged by cdk-nag, which raises at a finding."""
    made = app(outdir=str(tmp_path_factory.mktemp("cdk.out")))
    cdk.Validations.of(made).add_plugins(AwsSolutionsChecks(made))
    for preset, entrypoint in KINDS:
        name = stack_name(preset, entrypoint)
        chosen = settings(preset=preset, entrypoint=entrypoint, name=name)
        ServiceStack(made, name, settings=chosen, data=DATA)
    return made.synth()


@pytest.mark.parametrize(("preset", "entrypoint"), KINDS)
def test_each_entry_point_has_what_it_needs_and_no_other(synthesized, preset, entrypoint):
    template = synthesized.get_stack_by_name(stack_name(preset, entrypoint)).template
    kinds, outputs = EXPECTED[entrypoint]
    made = {resource["Type"] for resource in template["Resources"].values()}
    assert made & (AGENT | GATEWAY | HARNESS) == kinds
    doors = ("Agent", "Gateway", "Harness")
    told = {name for name in template["Outputs"] if name.startswith(doors)}
    assert told == outputs
    assert "Fn::ImportValue" not in json.dumps(template)
    # the knowledge base's id is read on deployment
    assert {
        "Type": "AWS::SSM::Parameter::Value<String>",
        "Default": f"/{stack_name(preset, entrypoint)}/knowledge-base-id",
    } in template["Parameters"].values()


def test_the_command_to_try_it_asks_the_alias_what_the_function_takes(synthesized):
    template = synthesized.get_stack_by_name(stack_name(Preset.DEV, Entrypoint.NONE)).template
    words = shlex.split(render(template["Outputs"]["TryIt"]["Value"]))
    assert words[:3] == ["aws", "lambda", "invoke"]
    assert words[words.index("--function-name") + 1] == "<RetrievalRetrieveLive>"
    assert to_query(json.loads(words[words.index("--payload") + 1]), 5).text.endswith("?")


@pytest.mark.parametrize(
    ("level", "note", "told", "untold"),
    [
        (
            "WARNING",
            COLD_START_WARNING,
            (Preset.DEV, Entrypoint.NONE),
            (Preset.PROD, Entrypoint.NONE),
        ),
        (
            "INFO",
            AGENTS_CLASSIC_NOTE,
            (Preset.PROD, Entrypoint.AGENT),
            (Preset.PROD, Entrypoint.GATEWAY),
        ),
    ],
)
def test_what_would_surprise_is_told_before_it_is_deployed(synthesized, level, note, told, untold):
    def count(kind):  # of the note: a bundle without Python 3.13 has a warning of its own
        messages = synthesized.get_stack_by_name(stack_name(*kind)).messages
        return sum(str(m.level).endswith(level) and m.entry.data.startswith(note) for m in messages)

    assert (count(told), count(untold)) == (1, 0)


# the retrieval function


def environment(*, guardrail=False, **values):
    stack, chosen = bare_stack(), settings(**values)
    applied = Guardrail(stack, "Guardrail", settings=chosen) if guardrail else None
    Retrieval(
        stack, "Retrieval", settings=chosen, knowledge_base_id="ABCDEFGHIJ", guardrail=applied
    )
    variables = only(template_of(stack), "AWS::Lambda::Function")["Environment"]["Variables"]
    known_on_deployment = {"GUARDRAIL_ID": "abc", "GUARDRAIL_VERSION": "1"} if guardrail else {}
    return variables | known_on_deployment


def search(**values):
    """Give the search settings that the function itself reads from its environment."""
    return function_settings(environment(**values) | {"AWS_REGION": "eu-west-1"}).search


def test_its_environment_is_one_that_it_accepts():
    read = search()
    assert read.knowledge_base_id == "ABCDEFGHIJ"
    assert (read.search_type, read.evidence_floor) == ("HYBRID", 0.385)
    assert read.guardrail is read.priority is None


def test_floor_and_guardrail_reach_it():
    read = search(guardrail=True, evidence_floor=0.4)
    assert read.evidence_floor == 0.4
    assert read.guardrail.version == "1"


def test_a_floor_belongs_to_its_search_type():
    read = search(search_type="SEMANTIC", evidence_floor=0.3)
    assert (read.search_type, read.evidence_floor) == ("SEMANTIC", 0.3)
    assert "EVIDENCE_FLOOR_HYBRID" not in environment(search_type="SEMANTIC", evidence_floor=0.3)


def test_the_measured_floor_is_of_one_knowledge_base_and_search_type():
    assert environment()["FLOOR_PARAMETER"] == "/knowledge-rag-dev/evidence-floor/ABCDEFGHIJ/hybrid"
    semantic = environment(vector_store="s3-vectors", search_type="SEMANTIC")
    assert semantic["FLOOR_PARAMETER"].endswith("/ABCDEFGHIJ/semantic")
    assert semantic["EVIDENCE_FLOOR_SEMANTIC"] == "0.2"


@pytest.mark.parametrize("floor", ["off", 0.4])
def test_nothing_is_measured_where_the_floor_is_set(floor):
    chosen = environment(evidence_floor=floor)
    assert "FLOOR_PARAMETER" not in chosen
    assert chosen.get("EVIDENCE_FLOOR_HYBRID") == (None if floor == "off" else "0.4")


def test_a_source_policy_and_its_scope_reach_it():
    scope = {"equals": {"key": "service", "value": "north"}}
    read = search(source_policy="website-first", secondary_scope=scope)
    assert read.priority.secondary_scope == scope
    assert search(source_policy="website-first").priority.secondary_scope is None


# the guardrail


@pytest.mark.parametrize("change", ["words", "filter"])
def test_a_changed_guardrail_makes_a_new_version(monkeypatch, change):
    def version():
        stack = bare_stack()
        Guardrail(stack, "Guardrail", settings=settings())
        return only(template_of(stack), "AWS::Bedrock::GuardrailVersion")["Description"]

    before = version()
    assert version() == before
    if change == "words":
        monkeypatch.setattr(guardrail_module, "BLOCKED_INPUT", "No.")
    else:
        (filter_,) = guardrail_module._CONTENT_POLICY.filters_config
        monkeypatch.setitem(filter_._values, "input_strength", "HIGH")
    assert version() != before


# the agent

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
ARN = "arn:<AWS::Partition>:bedrock:<AWS::Region>"


def agent(*, sources=None, guardrail=False, **values):
    stack, chosen = bare_stack(), settings(entrypoint="agent", **values)
    Agent(
        stack,
        "Agent",
        settings=chosen,
        sources=sources or load_sources(chosen),
        retrieve=alias_in(stack),
        guardrail=Guardrail(stack, "Guardrail", settings=chosen) if guardrail else None,
    )
    return template_of(stack)


def grants(template):
    return [
        (action, *statement.resources, statement.conditions)
        for statement in statements(template)
        if statement.holder == "AgentRole"
        for action in statement.actions
    ]


def test_a_plain_model_is_granted_in_its_own_region_alone():
    model = f"{ARN}::foundation-model/{MODEL}"
    assert grants(agent(agent_model=MODEL)) == [
        ("bedrock:InvokeModel", model, ""),
        ("bedrock:InvokeModelWithResponseStream", model, ""),
    ]


def test_a_global_profile_is_granted_anywhere_through_itself_only():
    profile = f"{ARN}:<AWS::AccountId>:inference-profile/global.{MODEL}"
    home = f"{ARN}::foundation-model/{MODEL}"
    anywhere = f"arn:<AWS::Partition>:bedrock:::foundation-model/{MODEL}"
    through = f"StringEquals bedrock:InferenceProfileArn = {profile}"
    invoked = {grant[1:] for grant in grants(agent(agent_model=f"global.{MODEL}"))}
    assert invoked == {
        (profile, ""),
        (home, ""),  # looked up
        (home, through),
        (anywhere, f"StringEquals aws:RequestedRegion = unspecified and {through}"),
    }


def description(template):
    return render(only(template, "AWS::Bedrock::AgentAlias")["Description"])


def test_the_agents_alias_moves_when_anything_it_serves_changes():
    sources = load_sources(settings())
    descriptions = [
        description(agent()),
        description(agent(sources=replace(sources, schema=sources.schema + " "))),
        description(agent(sources=replace(sources, instruction=sources.instruction + " "))),
        description(agent(agent_model=MODEL)),
        description(agent(guardrail=True)),
    ]
    assert len(set(descriptions)) == len(descriptions)
    assert description(agent()) == descriptions[0]
    assert "function version <Retrieve" in descriptions[0]
    numbered = re.sub("<[^>]+>", "12345678", descriptions[-1])  # versions are numbers
    assert len(numbered) <= 200


# the gateway


def gateway(**values):
    stack, chosen = bare_stack(), settings(entrypoint="gateway", **values)
    sources = load_sources(chosen)
    Gateway(stack, "Gateway", settings=chosen, sources=sources, retrieve=alias_in(stack))
    return template_of(stack)


def test_callers_may_bring_a_token_of_a_named_issuer_for_a_named_audience():
    issuer = "https://login.example.com/.well-known/openid-configuration"
    given = gateway(
        gateway_authorizer="jwt", jwt_discovery_url=issuer, jwt_audiences="oncall,agents"
    )
    made = only(given, "AWS::BedrockAgentCore::Gateway")
    assert made["AuthorizerType"] == "CUSTOM_JWT"
    assert made["AuthorizerConfiguration"] == {
        "CustomJWTAuthorizer": {"DiscoveryUrl": issuer, "AllowedAudience": ["oncall", "agents"]}
    }


def test_a_token_without_an_audience_is_known_by_its_client_scopes_and_claims():
    issuer = "https://login.example.com/.well-known/openid-configuration"
    given = gateway(
        gateway_authorizer="jwt",
        jwt_discovery_url=issuer,
        jwt_clients=["on-call-bot"],
        jwt_scopes=["knowledge/read"],
        jwt_claims={"team": "sre", "groups": ["admins", "on-call"]},
    )
    made = only(given, "AWS::BedrockAgentCore::Gateway")["AuthorizerConfiguration"]
    assert made["CustomJWTAuthorizer"] == {
        "DiscoveryUrl": issuer,
        "AllowedClients": ["on-call-bot"],
        "AllowedScopes": ["knowledge/read"],
        "CustomClaims": [
            {
                "InboundTokenClaimName": "team",
                "InboundTokenClaimValueType": "STRING",
                "AuthorizingClaimMatchValue": {
                    "ClaimMatchOperator": "EQUALS",
                    "ClaimMatchValue": {"MatchValueString": "sre"},
                },
            },
            {
                "InboundTokenClaimName": "groups",
                "InboundTokenClaimValueType": "STRING_ARRAY",
                "AuthorizingClaimMatchValue": {
                    "ClaimMatchOperator": "CONTAINS_ANY",
                    "ClaimMatchValue": {"MatchValueStringList": ["admins", "on-call"]},
                },
            },
        ],
    }


def test_a_gateway_lets_as_many_requests_through_as_are_set():
    assert of_type(gateway(), "AWS::BedrockAgentCore::GatewayRateLimit") == {}
    made = gateway(gateway_requests_per_minute=600)
    limit = only(made, "AWS::BedrockAgentCore::GatewayRateLimit")
    (target,) = of_type(made, "AWS::BedrockAgentCore::GatewayTarget").values()
    assert limit["DimensionKeys"] == ["targetName"]
    assert limit["Entries"] == [
        {
            "Dimensions": {"targetName": target["Name"]},
            "Requests": [{"Rate": 600, "Period": "minute"}],
        }
    ]


ENGINE = "arn:aws:bedrock-agentcore:us-east-1:123456789012:policy-engine/team-0123456789"


@pytest.mark.parametrize(("mode", "sent"), [("enforce", "ENFORCE"), ("log-only", "LOG_ONLY")])
def test_the_organisation_s_policies_decide_over_calls_of_a_gateway(mode, sent):
    made = gateway(gateway_policy_engine=ENGINE, gateway_policy_mode=mode)
    given = only(made, "AWS::BedrockAgentCore::Gateway")
    assert given["PolicyEngineConfiguration"] == {"Arn": ENGINE, "Mode": sent}
    assert "PolicyEngineConfiguration" not in only(gateway(), "AWS::BedrockAgentCore::Gateway")


def test_the_gateways_one_tool_is_that_of_the_schema():
    made = gateway()
    mcp = only(made, "AWS::BedrockAgentCore::Gateway")["ProtocolConfiguration"]["Mcp"]
    assert len(mcp["Instructions"]) <= 2048
    target = only(made, "AWS::BedrockAgentCore::GatewayTarget")["TargetConfiguration"]
    (tool,) = target["Mcp"]["Lambda"]["ToolSchema"]["InlinePayload"]
    assert tool["Name"] in TOOL_NAMES
    arguments = tool["InputSchema"]["Properties"]
    assert tuple(arguments) == ARGUMENTS
    assert tool["InputSchema"]["Required"] == ["query"]
    assert arguments["max_results"]["Type"] == "integer"
    # bounds, which a gateway's schema can't express
    assert "1 to 5" in arguments["max_results"]["Description"]
    assert "Not blank" in arguments["query"]["Description"]
    assert of_type(made, "AWS::Lambda::Permission") == {}  # its own role calls the function
