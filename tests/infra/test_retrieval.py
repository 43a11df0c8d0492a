"""The retrieval function: its environment, its limits, and the little that it may do."""

import json

import pytest
from policy_sentry.querying.actions import get_action_data

from infra.guardrail import Guardrail
from infra.retrieval import DENIED, MEMORY_MB, Retrieval
from lambdas.retrieve_knowledge.settings import load_settings as load_environment
from tests.infra.iam import render as text
from tests.infra.service import bare_stack, of_type, only, settings, template_of


def template(*, guardrail=False, knowledge_base_id="ABCDEFGHIJ", **values):
    stack = bare_stack()
    chosen = settings(**values)
    applied = Guardrail(stack, "Guardrail", settings=chosen) if guardrail else None
    Retrieval(
        stack,
        "Retrieval",
        settings=chosen,
        knowledge_base_id=knowledge_base_id,
        guardrail=applied,
    )
    return template_of(stack)


@pytest.fixture(scope="module")
def plain():
    return template()


@pytest.fixture(scope="module")
def full():
    return template(guardrail=True, evidence_floor=0.4, reserved_concurrency=20)


def environment(template):
    return only(template, "AWS::Lambda::Function")["Environment"]["Variables"]


def granted(template):
    return only(template, "AWS::IAM::Policy")["PolicyDocument"]["Statement"]


def test_the_function_is_named_for_people_on_call(plain):
    function = only(plain, "AWS::Lambda::Function")
    assert function["FunctionName"] == "knowledge-rag-dev-retrieve-knowledge"
    assert function["Handler"] == "lambdas.retrieve_knowledge.handler.lambda_handler"


def test_it_starts_from_a_snapshot_and_is_reached_by_its_alias(plain):
    function = only(plain, "AWS::Lambda::Function")
    assert function["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert only(plain, "AWS::Lambda::Alias")["Name"] == "live"


def test_lambda_gives_up_after_the_functions_own_budget_and_not_before(plain):
    assert 2 < only(plain, "AWS::Lambda::Function")["Timeout"] <= 5
    assert only(plain, "AWS::Lambda::Function")["MemorySize"] == MEMORY_MB


def test_its_environment_is_one_that_it_accepts(plain):
    read = load_environment(environment(plain) | {"AWS_REGION": "eu-west-1"})
    assert read.search.search_type == "HYBRID"
    assert read.search.evidence_floor is None
    assert read.search.guardrail is None


def test_floor_and_guardrail_reach_it(full):
    known_on_deployment = {"GUARDRAIL_ID": "abc", "GUARDRAIL_VERSION": "1"}
    values = environment(full) | known_on_deployment | {"AWS_REGION": "eu-west-1"}
    read = load_environment(values)
    assert read.search.evidence_floor == 0.4
    assert "Version" in text(environment(full)["GUARDRAIL_VERSION"])


def test_a_source_policy_reaches_it():
    scope = {"equals": {"key": "service", "value": "north"}}
    values = environment(template(source_policy="website-first", secondary_scope=scope))
    read = load_environment(values | {"AWS_REGION": "eu-west-1"})
    assert values["SOURCE_POLICY"] == "website-first"
    assert read.search.priority.secondary_scope == scope


def test_without_a_source_policy_nothing_is_said_of_one(plain):
    read = load_environment(environment(plain) | {"AWS_REGION": "eu-west-1"})
    assert read.search.priority is None
    assert not {"SOURCE_POLICY", "SECONDARY_SCOPE"} & set(environment(plain))


def test_a_floor_belongs_to_its_search_type():
    values = environment(template(search_type="SEMANTIC", evidence_floor=0.3))
    assert values["SEARCH_TYPE"] == "SEMANTIC"
    assert values["EVIDENCE_FLOOR_SEMANTIC"] == "0.3"
    assert "EVIDENCE_FLOOR_HYBRID" not in values


def test_nothing_is_set_that_it_does_not_know(full):
    known = {"KNOWLEDGE_BASE_ID", "SEARCH_TYPE", "EVIDENCE_FLOOR_HYBRID"}
    known |= {"GUARDRAIL_ID", "GUARDRAIL_VERSION"}
    assert {name for name in environment(full) if not name.startswith("POWERTOOLS_")} == known


def test_concurrency_is_kept_only_where_it_is_asked_for(plain, full):
    assert "ReservedConcurrentExecutions" not in only(plain, "AWS::Lambda::Function")
    assert only(full, "AWS::Lambda::Function")["ReservedConcurrentExecutions"] == 20


def test_it_may_search_one_knowledge_base_and_nothing_else(plain):
    allowed = [s for s in granted(plain) if s["Effect"] == "Allow"]
    (search,) = allowed
    assert search["Action"] == "bedrock:Retrieve"
    assert text(search["Resource"]).endswith(
        ":bedrock:<AWS::Region>:<AWS::AccountId>:knowledge-base/ABCDEFGHIJ"
    )


def test_with_a_guardrail_it_may_also_apply_that_one(full):
    actions = {s["Action"]: s["Resource"] for s in granted(full) if s["Effect"] == "Allow"}
    assert set(actions) == {"bedrock:Retrieve", "bedrock:ApplyGuardrail"}
    assert text(actions["bedrock:ApplyGuardrail"]).endswith(".GuardrailArn>")


def test_changing_any_knowledge_base_is_denied(plain):
    (deny,) = [s for s in granted(plain) if s["Effect"] == "Deny"]
    assert tuple(deny["Action"]) == DENIED
    assert deny["Resource"] == "*"


@pytest.mark.parametrize("action", DENIED)
def test_each_denied_action_exists_and_writes(action):
    service, name = action.split(":")
    (first, *_) = get_action_data(service, name)[service]
    assert first["access_level"] == "Write"


def test_a_replaced_knowledge_base_makes_a_new_version(full):
    (version,) = of_type(full, "AWS::Lambda::Version")
    description = text(version["Properties"]["Description"])
    assert description.startswith("knowledge base ABCDEFGHIJ, guardrail version <Guardrail")


def test_no_policy_of_aws_is_attached(full):
    assert "ManagedPolicyArns" not in json.dumps(of_type(full, "AWS::IAM::Role"))
