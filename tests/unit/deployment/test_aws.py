"""Calling AWS: as whom, where, and what a failure is called."""

from __future__ import annotations

import pytest

from infra.setting_values import name as allowed_name
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.deployment.aws import Aws, CallFailed, Trouble
from knowledge_rag.deployment.stacks import check_name, find_stack
from tests.support.played_aws import Fault, Raw


@pytest.fixture
def surroundings(monkeypatch, tmp_path):
    """A configuration file with a profile, and nothing in the environment."""
    for each in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(each, raising=False)
    config = tmp_path / "config"
    config.write_text("[profile ops]\nregion = eu-central-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return monkeypatch


def test_the_region_that_is_named_wins(surroundings):
    assert Aws().region == ""
    assert Aws(profile="ops").region == "eu-central-1"
    surroundings.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    surroundings.setenv("AWS_REGION", "eu-west-2")
    assert Aws().region == "eu-west-2"
    assert Aws("eu-west-3").region == "eu-west-3"


@pytest.mark.parametrize("options", [{"region": "us east"}, {"profile": "nobody"}])
@pytest.mark.usefixtures("surroundings")
def test_what_nobody_could_have_meant_is_refused(options):
    with pytest.raises(InvalidRequest):
        Aws(**options)


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [
        (Fault("AccessDeniedException", status=403), Trouble.DENIED),
        (Fault("ThrottlingException"), Trouble.THROTTLED),
        (Fault("ExpiredTokenException", status=403), Trouble.EXPIRED),
        (Fault("SomethingElse"), Trouble.REFUSED),
    ],
)
def test_a_failure_is_named_by_what_can_be_done(account, aws, fault, trouble):
    account.played.play("lambda", "GetAccountSettings", fault)
    with pytest.raises(CallFailed) as raised:
        aws().call("lambda", "get_account_settings")
    assert raised.value.trouble is trouble
    assert raised.value.action == "lambda:GetAccountSettings"


def test_an_address_where_nobody_answers_is_unreachable(account, aws):
    account.environment["AWS_ENDPOINT_URL_LAMBDA"] = "http://127.0.0.1:9"
    with pytest.raises(CallFailed) as raised:
        aws().call("lambda", "get_account_settings")
    assert raised.value.trouble is Trouble.UNREACHABLE


def test_a_parameter_that_the_operation_does_not_take_is_a_failure_of_the_call(aws):
    with pytest.raises(CallFailed, match="ParamValidationError"):
        aws().call("lambda", "get_function_configuration", FunctionName="")


def test_a_long_message_is_told_in_one_short_line(account, aws):
    account.played.play("lambda", "GetAccountSettings", Fault("Odd", "a\nb " * 500))
    with pytest.raises(CallFailed) as raised:
        aws().call("lambda", "get_account_settings")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300


def test_only_a_stack_that_does_not_exist_is_none(account, aws):
    assert find_stack(aws(), "knowledge-rag-dev-data") is None
    account.refuse("cloudformation", "DescribeStacks", Fault("ValidationError", "no such name"))
    with pytest.raises(CallFailed):
        find_stack(aws(), "x")


def test_a_deleted_stack_is_none(account, aws):
    from tests.support.played_aws import stack_in

    account.refuse("cloudformation", "DescribeStacks", stack_in("DELETE_COMPLETE"))
    assert find_stack(aws(), "knowledge-rag-dev-data") is None


@pytest.mark.parametrize(
    "name",
    ["abc", "knowledge-rag-prod", "ab", "a" * 21, "A-b", "a--b", "a-", "-ab", "1ab", "a_b", ""],
)
def test_a_deployments_name_is_what_the_setting_takes(name):
    try:
        allowed_name(max_characters=20)(name)
        allowed = True
    except ValueError:
        allowed = False
    try:
        check_name(name)
        taken = True
    except InvalidRequest:
        taken = False
    assert taken is allowed


HOTEL = Raw(b"<html>Welcome! Please sign in.</html>", "text/html")


def test_a_page_of_html_is_no_answer(account, aws):
    account.played.play("service-quotas", "GetServiceQuota", HOTEL)
    wanted = {"ServiceCode": "a", "QuotaCode": "b"}
    with pytest.raises(CallFailed, match="no Quota in it"):
        aws().call("service-quotas", "get_service_quota", expect="Quota", **wanted)


def test_neither_is_one_in_the_place_of_xml(account, aws):
    account.refuse("cloudformation", "DescribeStacks", HOTEL)
    with pytest.raises(CallFailed):
        find_stack(aws(), "knowledge-rag-dev-data")
