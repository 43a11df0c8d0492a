"""What the doctor says of the advice stack's settings; nothing is sent to a destination."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.channel.settings import MAX_DEPLOYED_BYTES
from knowledge_rag.deployment.aws import CallFailed
from knowledge_rag.deployment.doctor.checks import Status, check_stacks
from knowledge_rag.deployment.doctor.settings import (
    check_advice_model,
    check_destinations,
    check_keys,
    check_topics,
)
from tests.support.played_aws import DENIED, Fault

SLACK = """
[destinations.oncall]
kind = "slack"
token_env = "SLACK_BOT_TOKEN"
channel = "C0123ABCDEF"
"""
TOPIC = """
[destinations.mail]
kind = "sns"
topic = "{}"
"""
KEYS = {"SLACK_BOT_TOKEN": "xoxb-1"}


@pytest.fixture
def secret(account):
    def make(keys, **more):
        client = account.client("secretsmanager")
        return client.create_secret(Name="keys", SecretString=json.dumps(keys), **more)["ARN"]

    return make


def only(findings):
    (finding,) = findings
    return finding


def test_without_destinations_nothing_is_checked(planned):
    there = planned()
    assert check_destinations(there) == check_topics(there) == check_keys(there) == ()
    assert check_advice_model(there) == ()


def test_destinations_are_named_with_their_kinds(planned):
    found = only(check_destinations(planned(advice_destinations=SLACK, advice_secret_arn="arn")))
    assert (found.status, found.detail) == (Status.OK, "oncall (slack)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[destinations", "not valid TOML"),
        ("# nothing", "nothing is posted"),
        (SLACK.replace("C0123ABCDEF", "#on-call"), "channel must be the channel's id"),
        (SLACK + "buttons = true", "buttons need the data folder"),
        (SLACK + f"# {'x' * 9}\nlinks = 'https://x.example/{'a' * 3_000}{{path}}'", "bytes without comments"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_file_is_told(planned, text, said):
    if "bytes" in said:
        text = f"links = 'https://x.example/{'a' * MAX_DEPLOYED_BYTES}{{path}}'\n" + SLACK
    there = planned(advice_destinations=text)
    found = only(check_destinations(there))
    assert found.status is Status.PROBLEM
    assert said in found.detail
    assert "bytes" in said or check_keys(there) == check_topics(there) == ()  # which is said once


def test_a_topic_has_to_exist_and_to_be_usable(account, planned):
    sns, kms = account.client("sns"), account.client("kms")
    arn = sns.create_topic(Name="on-call")["TopicArn"]
    there = planned(advice_destinations=TOPIC.format(arn))
    assert only(check_topics(there)).status is Status.OK
    own = kms.create_key()["KeyMetadata"]["KeyId"]
    for key, status in (("alias/aws/sns", Status.OK), (own, Status.WARNING)):
        sns.set_topic_attributes(TopicArn=arn, AttributeName="KmsMasterKeyId", AttributeValue=key)
        assert only(check_topics(there)).status is status
    sns.delete_topic(TopicArn=arn)
    found = only(check_topics(there))
    assert (found.status, found.detail) == (Status.PROBLEM, "mail: there is no such topic")
    elsewhere = planned(advice_destinations=TOPIC.format(arn.replace("us-east-1", "eu-west-1")))
    assert only(check_topics(elsewhere)).status is Status.UNKNOWN


def test_a_topic_alone_needs_no_key(planned):
    text = TOPIC.format("arn:aws:sns:us-east-1:123456789012:on-call")
    assert check_keys(planned(advice_destinations=text)) == ()


def test_keys_that_are_there_are_counted_and_not_shown(planned, secret):
    there = planned(advice_destinations=SLACK, advice_secret_arn=secret(KEYS))
    found = only(check_keys(there))
    assert (found.status, found.detail) == (Status.OK, "the secret has those of oncall")


@pytest.mark.parametrize(
    ("keys", "status", "said"),
    [
        ({}, Status.PROBLEM, "destinations.oncall: the secret has no key SLACK_BOT_TOKEN"),
        ({"SLACK_BOT_TOKEN": ""}, Status.PROBLEM, "has no key SLACK_BOT_TOKEN"),
        ("xoxb-of-slack", Status.PROBLEM, "not a JSON object of keys"),
        ({"SLACK_BOT_TOKEN": "xapp-of-slack"}, Status.WARNING, "oncall: its key doesn't begin with xoxb-"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_keys_is_told_without_them(planned, secret, keys, status, said):
    found = only(check_keys(planned(advice_destinations=SLACK, advice_secret_arn=secret(keys))))
    assert found.status is status
    assert said in found.detail
    assert "of-slack" not in found.detail + found.action


def test_keys_without_a_secret_are_a_problem_that_no_account_is_asked_about(account, planned):
    there = planned(advice_destinations=SLACK)
    named, found = check_destinations(there)
    assert (named.status, found.status, found.asked) == (Status.OK, Status.PROBLEM, False)
    assert found.detail == "oncall needs a key"
    assert check_keys(there) == ()
    assert account.played.calls == []


def test_a_secret_that_is_not_there_or_elsewhere_is_a_problem(account, planned, secret):
    arn = secret(KEYS)
    for given, said in (
        ("on-call/keys", "is not a secret in us-east-1"),
        (arn.replace("us-east-1", "eu-west-1"), "is not a secret in us-east-1"),
        (arn[:-6] + "AAAAAA", "there is no such secret"),
    ):
        found = only(check_keys(planned(advice_destinations=SLACK, advice_secret_arn=given)))
        assert found.status is Status.PROBLEM
        assert said in found.detail
    account.client("secretsmanager").delete_secret(SecretId=arn)
    found = only(check_keys(planned(advice_destinations=SLACK, advice_secret_arn=arn)))
    assert found.detail == "there is no such secret"


def test_a_secret_under_a_key_of_ones_own_needs_that_key(planned, secret):
    key = "arn:aws:kms:us-east-1:123456789012:key/team-keys"
    given = {"advice_destinations": SLACK, "advice_secret_arn": secret(KEYS, KmsKeyId=key)}
    found = only(check_keys(planned(**given)))
    assert found.status is Status.PROBLEM
    assert found.action == "Set advice_secret_key to the key's ARN."
    assert only(check_keys(planned(**given, advice_secret_key=key))).status is Status.OK


def test_a_secret_that_may_not_be_read_is_unknown(account, planned, secret):
    arn = secret(KEYS)
    account.refuse("secretsmanager", "GetSecretValue", DENIED)
    account.played.play("secretsmanager", "DescribeSecret", {"Name": "keys"})
    with pytest.raises(CallFailed, match="secretsmanager:GetSecretValue"):
        check_keys(planned(advice_destinations=SLACK, advice_secret_arn=arn))


def test_the_model_that_writes_is_looked_up(account, planned):
    profile = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert "is active" in only(check_advice_model(planned(advice_model=profile))).detail
    account.refuse("bedrock", "GetFoundationModel", Fault("ResourceNotFoundException", status=404))
    found = only(check_advice_model(planned(advice_model="amazon.nova-pro-v1:0")))
    assert (found.status, found.detail) == (Status.PROBLEM, "us-east-1 has no amazon.nova-pro-v1:0")


def test_the_stack_is_listed_where_there_is_one(account, planned):
    for part in ("data", "service"):
        account.deploy(f"knowledge-rag-dev-{part}")
    assert len(check_stacks(planned())) == 2
    account.deploy("knowledge-rag-dev-advice")
    assert "knowledge-rag-dev-advice is CREATE_COMPLETE" in [
        it.detail for it in check_stacks(planned())
    ]
