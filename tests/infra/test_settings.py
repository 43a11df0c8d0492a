"""Settings: presets, the command line over the file, and every mistake named at once."""

import json

import pytest

from infra.settings import (
    SETTINGS,
    Entrypoint,
    Network,
    Preset,
    SearchType,
    SettingsError,
    VectorStore,
    load_settings,
)

KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd"
ABROAD = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd"
ENGINE = "arn:aws:bedrock-agentcore:us-east-1:123456789012:policy-engine/team-0123456789"
ISSUER = "https://id.example.com/.well-known/openid-configuration"
TOKEN = {"gateway_authorizer": "jwt", "jwt_clients": "a", "jwt_discovery_url": ISSUER}
EXISTING = {"knowledge_base_id": "EXISTING01", "source_bucket": "team-docs"}
MANAGED = {"knowledge_base_id": "EXISTING01", "knowledge_base_type": "MANAGED"}
BUCKET = {"documents": "bucket", "documents_bucket": "team-runbooks"}
ADVICE = {"advice_destinations": "oncall.toml"}
AGENT = {"entrypoint": "agent"}
NOVA = "amazon.nova-pro-v1:0"


def settings(region=None, **values):
    return load_settings({"knowledge-rag": values}, region)


def problems(region=None, **values):
    with pytest.raises(SettingsError) as raised:
        settings(region, **values)
    return str(raised.value).splitlines()[1:]


def test_nothing_set_is_the_dev_preset():
    assert load_settings({}) == settings(preset="dev")


@pytest.mark.parametrize("preset", list(Preset))
def test_every_value_of_a_preset_may_also_be_given(preset):
    column = 1 + list(Preset).index(preset)
    values = {key: row[column] for key, row in SETTINGS.items()}
    assert settings(preset=preset, **json.loads(json.dumps(values))) == settings(preset=preset)


def test_production_keeps_its_data_its_capacity_and_its_own_key():
    prod = settings(preset="prod")
    assert prod.removal == "retain"
    assert prod.customer_managed_key
    assert (prod.store.standby, prod.store.min_search_ocu) == (True, 1)


def test_the_command_line_wins_over_the_file():
    context = {
        "knowledge-rag": {"entrypoint": "agent", "network": "private"},
        "knowledge-rag:entrypoint": "both",
        "@aws-cdk/core:something": True,
    }
    read = load_settings(context)
    assert read.entrypoint.kind is Entrypoint.BOTH
    assert read.store.network is Network.PRIVATE


def test_a_setting_without_its_prefix_is_not_passed_over():
    with pytest.raises(SettingsError) as raised:
        load_settings({"preset": "prod", "@aws-cdk/core:something": True})
    assert str(raised.value).splitlines()[1:] == [
        '  preset = "prod"; allowed: knowledge-rag:preset, with its prefix'
    ]


def test_the_command_line_may_give_them_all_as_one_object():
    assert load_settings({"knowledge-rag": '{"preset": "prod"}'}) == settings(preset="prod")


def test_texts_of_the_command_line_are_read_as_what_they_are():
    read = settings(
        guardrail="TRUE",
        min_search_ocu="2",
        error_rate_percent="7.5",
        agent_model_regions="us-east-1, us-west-2",
        entrypoint="Agent",
        evidence_floor="",
    )
    assert read.retrieval.guardrail
    assert read.store.min_search_ocu == 2
    assert read.thresholds.error_rate_percent == 7.5
    assert read.entrypoint.agent_model_regions == ("us-east-1", "us-west-2")
    assert read.retrieval.evidence_floor == "auto"


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("preset", "staging", "dev or prod"),
        ("name", "Knowledge_RAG", "lower-case letters"),
        ("name", "a-name-that-is-far-too-long", "3 to 20"),
        ("log_retention_days", 10, "1, 3, 5, 7, 14"),
        ("documents", "git", "folder or bucket"),
        ("documents_bucket", "s3://team-runbooks", "the name of a bucket"),
        ("documents_prefix", "/sre", "a key prefix that ends in /"),
        ("documents_prefix", "sre", "a key prefix that ends in /"),
        ("documents_key", "alias/team", "the ARN of a KMS key"),
        ("alarm_email", "on call", "one e-mail address"),
        ("alarm_email", "a@b.cc, d@e.ff", "one e-mail address"),
        ("embedding_model", "my-model", "amazon.titan-embed-text-v2:0"),
        ("embedding_dimension", 384, "256 or 512 or 1024"),
        ("embedding_dimension", 0, "1 to 4096"),
        ("search_type", "VECTOR", "HYBRID or SEMANTIC"),
        ("evidence_floor", "high", "auto, off or a number"),
        ("evidence_floor", "nan", "auto, off or a number"),
        ("evidence_floor", [], "auto, off or a number"),
        ("min_search_ocu", 1.5, "a whole number"),
        ("min_search_ocu", True, "a whole number"),
        ("min_search_ocu", 8, "at most max_ocu"),
        ("max_ocu", 3, "one of 1, 2, 4, 8, 16"),
        ("guardrail", "maybe", "true or false"),
        ("network", None, "public or private"),
        ("jwt_audiences", ["me"], "unset unless gateway_authorizer=jwt"),
        ("jwt_clients", ["me"], "unset unless gateway_authorizer=jwt"),
        ("jwt_claims", "{", "an object that maps a claim's name"),
        ("jwt_claims", {"a b": "c"}, "an object that maps a claim's name"),
        ("jwt_claims", {"team": ""}, "an object that maps a claim's name"),
        ("jwt_claims", {"team": []}, "an object that maps a claim's name"),
        ("jwt_claims", {"team": 7}, "an object that maps a claim's name"),
        ("devops_agent_space", "a b", "the id of an agent space"),
        ("gateway_requests_per_minute", -1, "0 to 1000000"),
        ("jwt_discovery_url", "http://a/.well-known/openid-configuration", "https"),
        ("zero_result_warning_percent", 60, "at most zero_result_alarm_percent"),
        ("error_rate_percent", 101, "0 to 100"),
        ("corpus", " ", "text that isn't blank"),
        ("source_policy", "pdf-first", "off or website-first"),
        ("secondary_scope", "service=north", "an object with one operator"),
        ("secondary_scope", {}, "an object with one operator"),
        ("secondary_scope", {"a": 1, "b": 2}, "an object with one operator"),
        ("date_order", "ymd", "mdy or dmy"),
        ("release", "linear", "at-once or canary"),
        ("entrypont", "agent", "unknown setting; known: preset, name"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(key, value, allowed):
    (line,) = problems(**{key: value})
    assert line.startswith(f"  {key} = {json.dumps(value)}")
    assert allowed in line


def test_a_scope_may_be_text_or_an_object_and_goes_with_a_policy():
    scope = {"equals": {"key": "service", "value": "north"}}
    for given in (scope, json.dumps(scope)):
        read = settings(source_policy="website-first", secondary_scope=given)
        assert json.loads(read.retrieval.secondary_scope) == scope
    (line,) = problems(secondary_scope=scope)
    assert "unset unless source_policy=website-first" in line
    assert settings(source_policy="website-first", secondary_scope=" ") == settings(
        source_policy="website-first"
    )


@pytest.mark.parametrize(
    ("values", "key", "allowed"),
    [
        ({"source_policy": "website-first", "search_type": "SEMANTIC"}, "source_policy", "off unless search_type=HYBRID"),
        ({"documents_bucket": "team-runbooks"}, "documents_bucket", "unset unless documents=bucket"),
        ({"documents": "bucket", "corpus": "runbooks"}, "corpus", "unset with documents=bucket"),
        ({"documents": "bucket", "documents_key": KEY}, "documents_key", "unset unless documents_bucket is set"),
        (BUCKET | {"documents_key": ABROAD}, "documents_key", "a key of us-east-1, where this is deployed"),
        ({"generation": "classic", "min_search_ocu": 1}, "min_search_ocu", "0 with generation=classic, which never"),
        ({"vector_store": "s3-vectors", "search_type": "SEMANTIC", "network": "private"}, "network", "public with vector_store=s3-vectors"),
        ({"vector_store": "s3-vectors"}, "search_type", "SEMANTIC with vector_store=s3-vectors"),
        # the gateway
        ({"devops_agent_space": "abc", "entrypoint": "none"}, "devops_agent_space", "unset unless there is a gateway with gateway_authorizer=iam"),
        (TOKEN | {"devops_agent_space": "abc"}, "devops_agent_space", "unset unless there is a gateway with gateway_authorizer=iam"),
        (TOKEN | {"entrypoint": "harness"}, "gateway_authorizer", "iam with entrypoint=harness"),
        ({"gateway_policy_engine": ENGINE, "entrypoint": "none"}, "gateway_policy_engine", "unset unless there is a gateway"),
        ({"gateway_policy_engine": ENGINE.replace("us-east-1", "eu-west-1")}, "gateway_policy_engine", "a policy engine in us-east-1"),
        ({"gateway_policy_engine": "team-0123456789"}, "gateway_policy_engine", "the ARN of a policy engine"),
        ({"gateway_policy_mode": "log-only"}, "gateway_policy_mode", "enforce unless gateway_policy_engine is set"),
        # models
        (AGENT | {"agent_model": "claude"}, "agent_model", "the id of a foundation model"),
        (AGENT | {"agent_model": f"eu.{NOVA}"}, "agent_model", "one that us-east-1 offers"),
        (AGENT | {"agent_model_regions": ["nowhere", "us-east-1"]}, "agent_model_regions", "region names"),
        (AGENT | {"agent_model": NOVA, "agent_model_regions": ["us-east-1"]}, "agent_model_regions", "with an inference profile only"),
        ({"advice_model": NOVA}, "advice_model", "unset unless advice_destinations is set"),
        (ADVICE | {"advice_model": f"eu.{NOVA}"}, "advice_model", "one that us-east-1 offers"),
        (ADVICE | {"advice_model": "claude"}, "advice_model", "the id of a foundation model"),
        (ADVICE | {"advice_model": "Claude!"}, "advice_model", "the id of a model or of an inference profile"),
        (ADVICE | {"advice_model": NOVA, "advice_model_regions": ["us-east-1"]}, "advice_model_regions", "with an inference profile only"),
        (ADVICE | {"advice_model_regions": ["us-east-1"]}, "advice_model_regions", "unset unless advice_model is set"),
        # an existing knowledge base
        ({"knowledge_base_id": "kb-1"}, "knowledge_base_id", "the id of a knowledge base"),
        (EXISTING | {"source_bucket": "Team_Docs"}, "source_bucket", "the name of a bucket"),
        (EXISTING | {"source_prefix": "a/b"}, "source_prefix", "a key prefix that ends in /"),
        (EXISTING | {"source_prefix": "/a/"}, "source_prefix", "a key prefix"),
        (EXISTING | {"source_key": "alias/aws/s3"}, "source_key", "the ARN of a KMS key"),
        (EXISTING | {"source_key": ABROAD}, "source_key", "a key of us-east-1, where this is deployed"),
        ({"source_bucket": "team-docs"}, "source_bucket", "unset unless knowledge_base_id is set"),
        ({"knowledge_base_type": "MANAGED"}, "knowledge_base_type", "unset unless knowledge_base_id is set"),
        ({"knowledge_base_id": "EXISTING01", "source_prefix": "a/"}, "source_prefix", "unset unless source_bucket is set"),
        (MANAGED, "source_bucket", "a bucket, with knowledge_base_type=MANAGED"),
        (EXISTING | {"vector_store": "opensearch"}, "vector_store", "unset with this existing knowledge base"),
        (EXISTING | {"corpus": "docs"}, "corpus", "unset with this existing knowledge base"),
        (EXISTING | MANAGED | {"search_type": "HYBRID"}, "search_type", "unset with this existing knowledge base"),
        (EXISTING | {"source_policy": "website-first"}, "source_policy", "off with source_bucket"),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_are_told(values, key, allowed):
    (line,) = problems("us-east-1", **values)
    assert line.split()[0] == key
    assert allowed in line


def test_every_mistake_is_told_at_once():
    lines = problems(preset="x", network="lan", guardrail=7, entrypont="agent")
    assert [line.split()[0] for line in lines] == ["entrypont", "preset", "network", "guardrail"]


@pytest.mark.parametrize("text", ["preset=prod", "[" * 100_000], ids=["words", "nested"])
def test_settings_that_are_no_object_are_refused(text):
    with pytest.raises(SettingsError, match="an object of settings"):
        load_settings({"knowledge-rag": text})
    (line,) = problems(secondary_scope=text)
    assert "an object with one operator" in line


def test_a_store_without_keywords_has_semantic_search():
    read = settings(vector_store="s3-vectors", search_type="semantic")
    assert (read.store.kind, read.retrieval.search_type) == (
        VectorStore.S3_VECTORS,
        SearchType.SEMANTIC,
    )


def test_a_harness_has_a_gateway_and_a_model_s_regions():
    read = settings(entrypoint="harness", agent_model="eu.amazon.nova-pro-v1:0").entrypoint
    assert (read.gateway, read.agent, read.harness) == (True, False, True)
    assert "eu-central-1" in read.agent_model_regions


def test_token_callers_need_an_issuer_and_an_audience_or_a_client():
    assert len(problems(gateway_authorizer="jwt")) == 2
    token = {"gateway_authorizer": "jwt", "jwt_discovery_url": ISSUER}
    # any client of the issuer may have a scope or a claim
    (line,) = problems(**token, jwt_scopes=["read"], jwt_claims={"team": "sre"})
    assert "one audience or more, or jwt_clients" in line
    assert settings(**token, jwt_clients="bot, graph").entrypoint.jwt_clients == ("bot", "graph")
    given = settings(**token, jwt_clients="bot", jwt_claims='{"groups": ["a", "b"], "team": "sre"}')
    assert json.loads(given.entrypoint.jwt_claims) == {"groups": ["a", "b"], "team": "sre"}
    assert settings(**token, jwt_audiences=["sre"]).entrypoint.jwt_audiences == ("sre",)


def test_an_inference_profile_brings_the_regions_it_serves():
    read = settings(entrypoint="agent", agent_model="eu.amazon.nova-pro-v1:0").entrypoint
    assert "eu-west-1" in read.agent_model_regions
    plain = settings(entrypoint="agent", agent_model="amazon.nova-pro-v1:0").entrypoint
    assert plain.agent_model_regions == ()


def test_a_model_that_nothing_uses_may_be_of_another_part_of_the_world():
    assert settings("eu-west-1", agent_model="us.amazon.nova-pro-v1:0")  # no agent, no matter


def test_a_model_of_advice_brings_its_regions():
    read = settings(**ADVICE, advice_model=f"us.{NOVA}")
    assert read.advice.model_regions == ("us-east-1", "us-east-2", "us-west-2")
    assert settings(**ADVICE).advice.model == ""


def test_an_existing_knowledge_base_and_its_documents_are_named():
    read = settings(**EXISTING, source_prefix="a/b/", source_key=KEY, knowledge_base_type="managed")
    assert read.existing.knowledge_base_id == "EXISTING01"
    assert (read.existing.bucket, read.existing.prefix) == ("team-docs", "a/b/")
    assert (read.existing.key, read.existing.kind) == (KEY, "MANAGED")
    assert settings(knowledge_base_id="EXISTING01").existing.bucket == ""
    assert settings().existing.knowledge_base_id == ""
