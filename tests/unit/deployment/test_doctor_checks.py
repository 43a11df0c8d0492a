"""Each check of the doctor, against an account on this machine and with an unmodified boto3."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.settings import load_settings
from knowledge_rag.deployment.aws import CallFailed, Trouble
from knowledge_rag.deployment.doctor import checks, settings
from knowledge_rag.deployment.doctor.checks import Status
from tests.support.account import concurrency, retrieve_quota
from tests.support.played_aws import DENIED, Fault, stack_in
from tools.local_cloud.deployment import CDK

NAME = "knowledge-rag-dev"


def only(findings):
    (finding,) = findings
    return finding


# credentials and region


def test_who_is_calling_is_told(aws):
    found = checks.check_credentials(aws())
    assert found.status is Status.OK
    assert "123456789012" in found.detail


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ExpiredToken", "have expired"),
        ("InvalidClientTokenId", "does not know"),
        ("SignatureDoesNotMatch", "does not know"),
    ],
)
def test_credentials_that_aws_refuses_are_a_problem(account, aws, code, said):
    account.refuse("sts", "GetCallerIdentity", Fault(code, status=403))
    found = checks.check_credentials(aws())
    assert found.status is Status.PROBLEM
    assert said in found.detail
    assert found.action


def test_a_region_of_another_spelling_is_a_problem_only_where_nothing_answers(aws):
    there = aws()
    there.region = "us-esat-1"
    assert checks.check_region(there, reached=False).status is Status.PROBLEM
    assert checks.check_region(there, reached=True).status is Status.WARNING


# services


def test_a_service_that_refuses_is_there(account, planned):
    account.played.play("opensearchserverless", "ListCollections", DENIED)
    found = checks.service_check("OpenSearch Serverless")(planned())
    assert found.status is Status.OK
    assert "missing permission aoss:ListCollections" in found.detail


@pytest.mark.parametrize(
    ("name", "variable", "status"),
    [
        ("Bedrock knowledge bases", "AWS_ENDPOINT_URL_BEDROCK_AGENT", Status.PROBLEM),
        ("AgentCore Gateway", "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL", Status.WARNING),
    ],
)
def test_a_service_where_nothing_answers_is_not_offered(account, planned, name, variable, status):
    account.environment[variable] = "http://127.0.0.1:9"
    found = checks.service_check(name)(planned())
    assert found.status is status
    assert "us-east-1" in found.action


# models


def test_a_model_that_may_be_used_is_fine(planned):
    assert checks.check_embedding_model(planned()).status is Status.OK


def test_a_model_that_the_region_lacks_is_a_problem(account, planned):
    account.played.play(
        "bedrock", "GetFoundationModel", Fault("ResourceNotFoundException", status=404)
    )
    found = checks.check_embedding_model(planned())
    assert found.status is Status.PROBLEM
    assert "list-foundation-models" in found.action


@pytest.mark.parametrize(
    ("access", "status"),
    [
        ({"regionAvailability": "NOT_AVAILABLE"}, Status.PROBLEM),
        ({"authorizationStatus": "NOT_AUTHORIZED"}, Status.PROBLEM),
        ({"agreementAvailability": {"status": "NOT_AVAILABLE"}}, Status.WARNING),
        ({"entitlementAvailability": "NOT_AVAILABLE"}, Status.WARNING),
    ],
)
def test_access_to_a_model_is_judged(account, planned, access, status):
    account.played.play("bedrock", "GetFoundationModelAvailability", access)
    found = checks.check_embedding_model(planned())
    assert found.status is status
    assert found.action


def test_a_model_with_an_end_date_is_a_warning(account, planned):
    legacy = {"modelArn": "a", "modelId": "m", "modelLifecycle": {"status": "LEGACY"}}
    account.played.play("bedrock", "GetFoundationModel", {"modelDetails": legacy})
    found = checks.check_embedding_model(planned())
    assert found.status is Status.WARNING
    assert "legacy" in found.detail


def test_unknown_access_is_told_beside_the_model_that_exists(account, planned):
    account.played.play("bedrock", "GetFoundationModelAvailability", DENIED)
    found = checks.check_embedding_model(planned())
    assert found.status is Status.UNKNOWN
    assert "bedrock:GetFoundationModelAvailability" in found.detail


@pytest.mark.parametrize(("wanted", "status"), [(True, Status.PROBLEM), (False, Status.WARNING)])
def test_a_missing_profile_stops_only_who_wants_an_agent(account, planned, wanted, status):
    account.played.play("bedrock", "GetInferenceProfile", Fault("ResourceNotFoundException"))
    assert checks.check_agent_model(planned(agent_wanted=wanted)).status is status


def test_a_profile_tells_where_it_sends_requests(planned):
    assert "us-east-1, us-west-2" in checks.check_agent_model(planned()).detail


def test_a_plain_model_of_an_agent_is_looked_up_as_one(account, planned):
    checks.check_agent_model(planned(agent_model="amazon.nova-pro-v1:0"))
    assert "bedrock:GetFoundationModel" in account.played.calls


# Agents Classic


def test_without_an_agent_nobody_can_tell(planned):
    found = checks.check_agents_classic(planned())
    assert found.status is Status.UNKNOWN
    assert "create-agent" in found.action


def test_who_has_an_agent_may_make_more(account, planned):
    account.client("bedrock-agent").create_agent(
        agentName="a", agentResourceRoleArn="arn:aws:iam::123456789012:role/agent"
    )
    assert checks.check_agents_classic(planned()).status is Status.OK


# quotas


@pytest.mark.parametrize(("rate", "status"), [(20.0, Status.OK), (2.0, Status.WARNING)])
def test_the_rate_of_retrieve_is_judged(account, planned, rate, status):
    account.played.play("service-quotas", "GetServiceQuota", retrieve_quota(rate))
    found = checks.check_retrieve(planned())
    assert found.status is status
    assert f"{rate:g} requests per second" in found.detail


@pytest.mark.parametrize(
    "answer",
    [
        {"Quota": {"QuotaName": "Guardrails per account", "Value": 1.0}},
        Fault("NoSuchResourceException"),
    ],
    ids=["the code means another quota by now", "the account has no value"],
)
def test_a_quota_that_can_not_be_known_is_unknown(account, planned, answer):
    account.played.play("service-quotas", "GetServiceQuota", answer)
    assert checks.check_retrieve(planned()).status is Status.UNKNOWN


@pytest.mark.parametrize(
    ("total", "unreserved", "status"),
    [
        (1000, 1000, Status.OK),
        (1000, 120, Status.OK),
        (1000, 119, Status.WARNING),
        (10, 10, Status.WARNING),  # a new account
    ],
)
def test_what_can_be_reserved_leaves_lambda_its_hundred(
    account, planned, total, unreserved, status
):
    account.played.play("lambda", "GetAccountSettings", concurrency(total, unreserved))
    found = checks.check_concurrency(planned())
    assert found.status is status
    assert ("reserved_concurrency=0" in found.action) is (status is Status.WARNING)


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"maxIndexingCapacityInOCU": 10, "maxSearchCapacityInOCU": 10}, Status.OK),
        ({"maxIndexingCapacityInOCU": 10, "maxSearchCapacityInOCU": 1}, Status.WARNING),
        ({}, Status.OK),
    ],
)
def test_the_accounts_own_bound_on_capacity_is_judged(account, planned, limits, status):
    answer = {"accountSettingsDetail": {"capacityLimits": limits}}
    account.played.play("opensearchserverless", "GetAccountSettings", answer)
    assert checks.check_capacity(planned()).status is status


def test_what_the_checks_take_for_the_presets_is_what_the_presets_say():
    dev, prod = (load_settings({"knowledge-rag": {"preset": name}}) for name in ("dev", "prod"))
    assert dev.name == NAME
    for preset in (dev, prod):
        assert preset.store.embedding_model == checks.DEFAULT_EMBEDDING_MODEL
        assert preset.entrypoint.agent_model == checks.DEFAULT_AGENT_MODEL
    assert prod.retrieval.reserved_concurrency == checks.RESERVED
    assert dev.store.max_ocu == checks.ENOUGH_OCU
    assert checks.PINNED_CLI == CDK


# CDK


def test_a_region_without_bootstrap_is_told_the_command(account, planned):
    account.client("ssm").delete_parameter(Name="/cdk-bootstrap/hnb659fds/version")
    found = checks.check_bootstrap(planned())
    assert found.status is Status.PROBLEM
    assert "bootstrap aws://" in found.action


def test_an_old_bootstrap_is_a_problem(account, planned):
    name = "/cdk-bootstrap/hnb659fds/version"
    account.client("ssm").put_parameter(Name=name, Value="5", Type="String", Overwrite=True)
    assert checks.check_bootstrap(planned()).status is Status.PROBLEM


@pytest.mark.parametrize(
    ("program", "prints", "status"),
    [
        ("node", "v24.1.0", Status.OK),
        ("node", "v18.20.8", Status.PROBLEM),
        ("cdk", "2.1148.1 (build abc)", Status.OK),
        ("cdk", "3.0.0 (build abc)", Status.WARNING),
    ],
)
def test_the_tools_of_this_machine_are_asked_for_their_version(
    planned, tools, program, prints, status
):
    script = tools / program
    script.write_text(f"#!/bin/sh\necho '{prints}'\n")
    script.chmod(0o755)
    check = checks.check_node if program == "node" else checks.check_cli
    assert check(planned()).status is status


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """The only folder that programs are looked for in."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_node_that_does_not_run_is_not_said_to_be_missing(planned, tools):
    (tools / "node").write_text("#!/bin/sh\nexit 1\n")
    (tools / "node").chmod(0o755)
    found = checks.check_node(planned())
    assert found.status is Status.PROBLEM
    assert found.detail == f"{tools / 'node'} does not report its version"


@pytest.mark.usefixtures("tools")
def test_a_machine_without_node_is_a_problem(planned):
    for check in (checks.check_node, checks.check_cli):
        assert check(planned()).status is Status.PROBLEM


# stacks


def test_stacks_that_do_not_exist_yet_are_fine(planned):
    assert only(checks.check_stacks(planned())).status is Status.OK


def test_half_a_deployment_is_a_warning(account, planned):
    account.deploy(f"{NAME}-data")
    there, missing = checks.check_stacks(planned())
    assert there.status is Status.OK
    assert missing.status is Status.WARNING
    assert f"{NAME}-service" in missing.detail


def test_in_front_of_an_existing_knowledge_base_the_service_is_the_whole_deployment(
    account, planned
):
    account.deploy(f"{NAME}-service", KnowledgeBaseId="EXISTING01")
    found = only(checks.check_stacks(planned()))
    assert (found.status, found.detail) == (Status.OK, f"{NAME}-service is CREATE_COMPLETE")


@pytest.mark.parametrize(
    ("state", "status", "said"),
    [
        ("UPDATE_COMPLETE", Status.OK, ""),
        ("UPDATE_IN_PROGRESS", Status.WARNING, "Wait"),
        ("ROLLBACK_COMPLETE", Status.PROBLEM, "delete-stack"),
        ("UPDATE_ROLLBACK_FAILED", Status.PROBLEM, "events"),
    ],
)
def test_the_states_of_stacks_are_judged(account, planned, state, status, said):
    account.refuse("cloudformation", "DescribeStacks", stack_in(state))
    found = checks.check_stacks(planned())[0]
    assert found.status is status
    assert said in found.action


# leftovers


def summaries(*names):
    return {"collectionSummaries": [{"id": name[-6:], "name": name} for name in names]}


def test_a_collection_without_a_stack_is_a_problem_with_its_price(account, planned):
    left = summaries(f"{NAME}-abc123", "knowledge-rag-dev2-abc123", "other")
    account.played.play("opensearchserverless", "ListCollections", left)
    found = checks.check_collections(planned())
    assert found.status is Status.PROBLEM
    assert found.detail.startswith(f"{NAME}-abc123: no stack owns it")
    assert "$0.24 an hour (us-east-1, 2026-11-21)" in found.detail


def test_the_living_stacks_collection_is_no_leftover_but_its_predecessor_is(account, planned):
    account.deploy(f"{NAME}-data", CollectionName=f"{NAME}-abc123")
    play = account.played.play
    play("opensearchserverless", "ListCollections", summaries(f"{NAME}-abc123"))
    assert checks.check_collections(planned()).status is Status.OK
    play("opensearchserverless", "ListCollections", summaries(f"{NAME}-abc123", f"{NAME}-000000"))
    found = checks.check_collections(planned())
    assert found.detail.startswith(f"{NAME}-000000")


def test_a_group_tells_what_its_minimum_costs(account, planned):
    limits = {"minSearchCapacityInOCU": 1.0, "minIndexingCapacityInOCU": 1.0}
    group = {"name": f"{NAME}-abc123", "capacityLimits": limits}
    answer = {"collectionGroupSummaries": [group]}
    account.played.play("opensearchserverless", "ListCollectionGroups", answer)
    found = checks.check_groups(planned())
    assert found.status is Status.PROBLEM
    assert "$0.48 an hour when idle" in found.detail


def test_every_page_of_a_listing_is_read(account, planned):
    def page(_path, body):
        if b"nextToken" in body:
            return summaries(f"{NAME}-abc123")
        return {**summaries("other"), "nextToken": "more"}

    account.played.play("opensearchserverless", "ListCollections", page)
    assert checks.check_collections(planned()).status is Status.PROBLEM


def test_a_vector_bucket_that_is_left_is_a_warning(account, planned):
    account.client("s3vectors").create_vector_bucket(vectorBucketName=f"{NAME}-data-vectors")
    found = checks.check_vector_buckets(planned())
    assert found.status is Status.WARNING
    account.deploy(f"{NAME}-data")
    assert checks.check_vector_buckets(planned()).status is Status.OK


def test_a_call_that_is_refused_names_the_permission(account, planned):
    said = "User: arn:aws:iam::1:user/u is not authorized to perform: aoss:ListCollections on x"
    account.played.play(
        "opensearchserverless", "ListCollections", Fault("AccessDeniedException", said, 403)
    )
    with pytest.raises(CallFailed, match="missing permission aoss:ListCollections") as raised:
        checks.check_collections(planned())
    assert raised.value.trouble is Trouble.DENIED


# the documents' bucket


KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
NAME_OF_BUCKET = "team-runbooks"


@pytest.fixture
def bucket(account):
    """Make a bucket; what it lacks is named."""

    def make(*lacks, key=None):
        s3 = account.client("s3")
        s3.create_bucket(Bucket=NAME_OF_BUCKET)
        if "versions" not in lacks:
            s3.put_bucket_versioning(
                Bucket=NAME_OF_BUCKET, VersioningConfiguration={"Status": "Enabled"}
            )
        if key is not None:
            default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key}
            rules = [{"ApplyServerSideEncryptionByDefault": default}]
            s3.put_bucket_encryption(
                Bucket=NAME_OF_BUCKET, ServerSideEncryptionConfiguration={"Rules": rules}
            )

    return make


def documents(planned, key="", *, events=True):
    found = replace(planned(), documents_bucket=NAME_OF_BUCKET, documents_key=key)
    if events:  # moto keeps the setting, and leaves it out of its answer
        found.aws._session.events.register(
            "after-call.s3.GetBucketNotificationConfiguration",
            lambda parsed, **_: parsed.update(EventBridgeConfiguration={}),
        )
    return settings.check_documents(found)


def test_a_bucket_that_can_be_watched_is_fine(bucket, planned):
    bucket()
    assert only(documents(planned)).status is Status.OK
    assert settings.check_documents(planned()) == ()


def test_a_bucket_that_is_not_there_is_a_problem(planned):
    assert "no such bucket" in only(documents(planned)).detail


def test_a_bucket_without_events_or_versions_says_so(bucket, planned):
    bucket("versions")
    silent, unversioned = documents(planned, events=False)
    assert (silent.status, unversioned.status) == (Status.PROBLEM, Status.WARNING)
    assert "EventBridge" in silent.detail
    assert "put-bucket-versioning" in unversioned.action


def test_a_key_that_nothing_here_may_use_is_a_problem(bucket, planned):
    bucket(key=KEY)
    assert only(documents(planned, key=KEY)).status is Status.OK
    found = only(documents(planned))
    assert found.status is Status.PROBLEM
    assert KEY in found.detail
    assert "documents_key" in found.action
