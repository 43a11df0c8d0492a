"""``knowledge-rag doctor`` as a user runs it, against an account on this machine."""

from __future__ import annotations

import pytest

from tests.support.account import account_fixture, concurrency, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import assert_one_line
from tests.support.handbook import shown
from tests.support.played_aws import DENIED


@pytest.fixture
def doctor(cli, account):
    """Run the command with the account as it is then."""
    return lambda *arguments, **variables: cli(
        "doctor", *arguments, **{**account.environment, **variables}
    )


def test_a_healthy_account_exits_0(doctor):
    ran = doctor()
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.splitlines()[0].startswith("ok       credentials")
    assert ran.out.splitlines()[-1].startswith("Nothing found that would stop a deployment")
    assert ran.err == ""


def test_a_missing_bootstrap_exits_1_and_the_handbook_shows_what_is_printed(doctor, account):
    play = account.played.play
    left = [{"id": "1", "name": "knowledge-rag-dev-abc123"}]
    play("lambda", "GetAccountSettings", concurrency(10, 10))
    play("opensearchserverless", "ListCollections", {"collectionSummaries": left})
    play("service-quotas", "GetServiceQuota", DENIED)
    account.client("ssm").delete_parameter(Name="/cdk-bootstrap/hnb659fds/version")
    of_this_machine = ("Node.js", "CDK command line")

    def without_tools(text):
        return [each for each in text.splitlines() if not each[9:].startswith(of_this_machine)]

    ran = doctor()
    assert ran.code == 1
    assert without_tools(shown("knowledge-rag doctor")) == without_tools(ran.out)


def test_json_says_the_same(doctor, account):
    account.played.play("lambda", "GetAccountSettings", DENIED)
    ran = doctor("--json")
    assert ran.code == 0
    found = {each["check"]: each for each in ran.json["findings"]}
    assert found["quota: Lambda concurrency"]["status"] == "unknown"
    assert found["CDK bootstrap"]["status"] == "ok"
    assert ran.json["counts"]["unknown"] == 2


def test_a_machine_without_a_network_exits_4(doctor, account):
    dead = dict.fromkeys(
        (name for name in account.environment if name.startswith("AWS_ENDPOINT_URL")),
        "http://127.0.0.1:9",
    )
    ran = doctor(**dead)
    assert ran.code == 4
    assert "Nothing could be checked" in ran.out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--region", "not a region"], "not a region"),
        (["--profile", "nobody"], "nobody"),
        (["--name", "No Name"], "single hyphens"),
    ],
)
def test_what_nobody_could_have_meant_exits_2(doctor, arguments, part):
    ran = doctor(*arguments)
    assert ran.code == 2
    assert_one_line(ran.err, part)
