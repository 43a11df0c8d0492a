"""What the doctor says of an organisation's key, boundary and bootstrap, against an account on this machine."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.core.key_policy import KEY_USERS
from knowledge_rag.deployment.doctor import checks
from knowledge_rag.deployment.doctor.checks import Status
from knowledge_rag.deployment.doctor.settings import check_boundary, check_key

ROOT = {
    "Effect": "Allow",
    "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
    "Action": "kms:*",
    "Resource": "*",
}


def of(user, **changes):
    principal = {"Service": user.principal.format(region="us-east-1")}
    statement = {"Effect": "Allow", "Principal": principal, "Action": list(user.actions)}
    return statement | {"Resource": "*"} | changes


ALL = [ROOT, *map(of, KEY_USERS)]
LOGS, ALARMS, VECTORS = KEY_USERS


@pytest.fixture
def key(account):
    """Make a key with a policy."""

    def make(statements, **options):
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        return account.client("kms").create_key(Policy=policy, **options)["KeyMetadata"]["Arn"]

    return make


def test_a_key_that_everybody_may_use_who_has_to_is_fine(key, planned):
    (found,) = check_key(planned(kms_key_arn=key(ALL)))
    assert found.status is Status.OK
    assert check_key(planned()) == ()


@pytest.mark.parametrize(
    ("statements", "status", "told"),
    [
        (ALL[1:], Status.PROBLEM, "doesn't leave kms:Decrypt, kms:GenerateDataKey to IAM"),
        ([ROOT, of(ALARMS), of(VECTORS)], Status.PROBLEM, "no log group can be created"),
        ([ROOT, of(LOGS), of(VECTORS)], Status.WARNING, "lost without a trace, unless alarm_topic_arn is set"),
        ([ROOT, of(LOGS), of(ALARMS)], Status.WARNING, "unless vector_store=opensearch"),
        ([*ALL[:2], of(ALARMS, Action="kms:Decrypt"), of(VECTORS)], Status.WARNING, "cloudwatch.amazonaws.com kms:GenerateDataKey:"),
        ([ROOT, of(LOGS, Principal={"Service": "logs.eu-west-1.amazonaws.com"}), *ALL[2:]], Status.PROBLEM, "logs.us-east-1"),
    ],
)  # fmt: skip
def test_each_use_that_a_key_s_policy_does_not_allow_is_told(
    key, planned, statements, status, told
):
    (found,) = check_key(planned(kms_key_arn=key(statements)))
    assert found.status is status
    assert told in found.detail
    assert "docs/adopt.md" in found.action


def test_a_policy_may_name_a_service_by_a_wildcard(key, planned):
    anyone = of(LOGS, Principal="*", Action="kms:*")
    (found,) = check_key(planned(kms_key_arn=key([ROOT, anyone])))
    assert found.status is Status.OK


def test_a_key_that_is_none_is_told(account, key, planned):
    arn = key(ALL)
    other = arn.rpartition("/")[0] + "/00000000-0000-4000-8000-000000000000"
    assert "no such key" in check_key(planned(kms_key_arn=other))[0].detail
    alias = arn.partition(":key/")[0] + ":alias/team"
    assert "not a key's ARN" in check_key(planned(kms_key_arn=alias))[0].detail
    abroad = check_key(planned(kms_key_arn=arn.replace("us-east-1", "eu-west-1")))[0]
    assert abroad.detail == "it is in eu-west-1, and the deployment in us-east-1"
    account.client("kms").disable_key(KeyId=arn.rpartition("/")[2])
    assert check_key(planned(kms_key_arn=arn))[0].detail == "it is Disabled"
    signing = key(ALL, KeySpec="RSA_2048", KeyUsage="SIGN_VERIFY")
    assert "RSA_2048" in check_key(planned(kms_key_arn=signing))[0].detail


def test_a_boundary_has_to_be_a_policy_of_the_account(account, planned):
    document = json.dumps({"Version": "2012-10-17", "Statement": [ROOT | {"Principal": None}]})
    document = document.replace('"Principal": null, ', "")
    policy = account.client("iam").create_policy(PolicyName="team", PolicyDocument=document)
    arn = policy["Policy"]["Arn"]
    (found,) = check_boundary(planned(permissions_boundary=arn))
    assert found.status is Status.OK
    (missing,) = check_boundary(planned(permissions_boundary=arn + "-of-nobody"))
    assert missing.status is Status.PROBLEM
    assert check_boundary(planned()) == ()


def test_a_bootstrap_with_a_qualifier_is_looked_for_under_it(account, planned):
    found = checks.check_bootstrap(planned(bootstrap_qualifier="platform"))
    assert found.status is Status.PROBLEM
    assert "--qualifier platform" in found.action
    name = "/cdk-bootstrap/platform/version"
    account.client("ssm").put_parameter(Name=name, Value="30", Type="String")
    assert checks.check_bootstrap(planned(bootstrap_qualifier="platform")).status is Status.OK
