"""A run that was stopped anywhere can be removed, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from knowledge_rag.core.errors import InvalidRequest
from tests.support.played_aws import DENIED, Fault, stack_in
from tools.prove_live.record import Deployment, Record, only_one, unfinished
from tools.prove_live.teardown import DENIAL, NotRemovedError, Remover, taken

BYSTANDER = "krp-zzzzzz-os"


@pytest.fixture
def record():
    made = Record.new("123456789012", "us-east-1")
    made.deployments.append(Deployment(f"{made.run}-os", {"name": f"{made.run}-os"}))
    return made


@pytest.fixture
def others(account):
    """Leave what looks like a run's and is somebody else's."""
    account.deploy(f"{BYSTANDER}-data")
    account.client("logs").create_log_group(logGroupName=f"/aws/lambda/{BYSTANDER}-retrieve")
    account.client("ssm").put_parameter(Name=f"/{BYSTANDER}/floor", Value="1", Type="String")


def left(account):
    groups = account.client("logs").describe_log_groups()["logGroups"]
    parameters = account.client("ssm").describe_parameters()["Parameters"]
    stacks = account.client("cloudformation").describe_stacks()["Stacks"]
    return {
        "stacks": sorted(each["StackName"] for each in stacks),
        "groups": sorted(each["logGroupName"] for each in groups),
        "parameters": sorted(
            each["Name"] for each in parameters if not each["Name"].startswith("/cdk")
        ),
    }


def remover(aws, record, waits=None):
    told = []
    waits = waits if waits is not None else []
    return Remover(aws(), record, waits.append, told.append)


def test_stacks_parameters_and_log_groups_of_the_run_go_and_others_stay(
    account,
    aws,
    record,
    others,  # noqa: ARG001 - they are there
):
    before = left(account)
    name = record.deployments[0].name
    for part in ("data", "service"):
        account.deploy(f"{name}-{part}")
    logs, ssm = account.client("logs"), account.client("ssm")
    for group in (f"/aws/lambda/{name}-retrieve", f"/aws/vendedlogs/{name}-gateway"):
        logs.create_log_group(logGroupName=group)
    ssm.put_parameter(Name=f"/{name}/evidence-floor/KB/hybrid", Value="0.4", Type="String")
    assert len(taken(aws(), record)) == 5
    remover(aws, record).remove(record.deployments[0])
    assert left(account) == before
    assert taken(aws(), record) == []


def test_removing_what_was_never_made_is_no_error(account, aws, record, others):  # noqa: ARG001 - they are there
    before = left(account)
    remover(aws, record).remove(record.deployments[0])
    assert left(account) == before


def test_the_fault_is_taken_from_the_role_before_it_is_deleted(account, aws, record):
    iam = account.client("iam")
    for role in ("theirs", "others"):
        iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}")
        denial = {"Effect": "Deny", "Action": "bedrock:Retrieve", "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [denial]})
        iam.put_role_policy(RoleName=role, PolicyName=DENIAL, PolicyDocument=document)
    record.deployments[0].denied_role = "theirs"
    remover(aws, record).remove(record.deployments[0])
    assert iam.list_role_policies(RoleName="theirs")["PolicyNames"] == []
    assert iam.list_role_policies(RoleName="others")["PolicyNames"] == [DENIAL]


def test_a_role_that_is_gone_holds_nothing_up(account, aws, record):  # noqa: ARG001 - empty
    record.deployments[0].denied_role = "gone"
    remover(aws, record).remove(record.deployments[0])


def test_a_stack_that_is_older_than_the_run_is_somebody_else_s(account, aws, record):
    name = f"{record.deployments[0].name}-data"
    account.deploy(name)
    later = datetime.now(UTC) + timedelta(minutes=16)
    newer = replace(record, created=later.isoformat())
    with pytest.raises(NotRemovedError, match="older than the run"):
        remover(aws, newer).remove(newer.deployments[0])
    assert left(account)["stacks"] == [name]


def test_a_deployment_of_another_run_is_refused(account, aws, record, others):  # noqa: ARG001 - they are there
    before = left(account)
    with pytest.raises(InvalidRequest, match="is not of"):
        remover(aws, record).remove(Deployment(BYSTANDER, {}))
    assert left(account) == before


@pytest.mark.parametrize(("account_id", "region"), [("999999999999", ""), ("", "eu-west-1")])
def test_credentials_of_another_account_or_region_are_refused(aws, record, account_id, region):
    other = replace(record, account=account_id or record.account, region=region or record.region)
    with pytest.raises(InvalidRequest, match="use credentials of"):
        remover(aws, other).check_account("123456789012")


class Scripted:
    """CloudFormation that goes from one state to the next with each deletion."""

    def __init__(self, account, *states):
        self.states = list(states)
        account.refuse("cloudformation", "DescribeStacks", self.describe)
        account.played.play("cloudformation", "DeleteStack", self.delete)
        self.deletions = 0

    def describe(self, _path, body):
        if b"-service" in body or not self.states:
            return Fault("ValidationError", "Stack with id x does not exist")
        return stack_in(self.states[0])

    def delete(self, _path, _body):
        self.deletions += 1
        self.states.pop(0)
        return {}


def test_a_stack_whose_deletion_is_under_way_is_waited_for(account, aws, record):
    script = Scripted(account, "DELETE_IN_PROGRESS")

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:
            script.states.clear()

    waits = []
    Remover(aws(), record, wait, lambda _: None)._remove_stack(f"{record.run}-os-data")
    assert (len(waits), script.deletions) == (3, 0)


def test_what_the_person_may_not_list_is_said_and_holds_nothing_up(account, aws, record):
    account.played.play("opensearchserverless", "ListCollections", DENIED)
    told = []
    Remover(aws(), record, lambda _: None, told.append).remove(record.deployments[0])
    assert told == ["could not check for remains: missing permission aoss:ListCollections"]


def test_a_bucket_that_is_not_empty_is_emptied_with_all_versions(account, aws, record):
    s3 = account.client("s3")
    s3.create_bucket(Bucket="of-the-run")
    s3.create_bucket(Bucket="of-others")
    enabled = {"Status": "Enabled"}
    s3.put_bucket_versioning(Bucket="of-the-run", VersioningConfiguration=enabled)
    for bucket in ("of-the-run", "of-others"):
        s3.put_object(Bucket=bucket, Key="a", Body=b"1")
        s3.put_object(Bucket=bucket, Key="a", Body=b"2")
    s3.delete_object(Bucket="of-the-run", Key="a")
    remover(aws, record)._empty("of-the-run")
    found = s3.list_object_versions(Bucket="of-the-run")
    assert "Versions" not in found
    assert "DeleteMarkers" not in found
    assert len(s3.list_object_versions(Bucket="of-others")["Versions"]) == 1


def test_a_record_is_on_disk_whole_before_and_after_each_change(tmp_path, record):
    record.write(tmp_path)
    assert unfinished(tmp_path) == [record]
    record.deployments[0].denied_role = "role"
    record.write(tmp_path)
    assert unfinished(tmp_path)[0].deployments[0].denied_role == "role"
    record.deployments[0].removed = True
    record.write(tmp_path)
    assert unfinished(tmp_path) == []
    assert [path.name for path in (tmp_path / record.run).iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    "change",
    [
        {"run": "prod"},
        {"deployments": [{"name": "knowledge-rag-prod", "settings": {}}]},
        {"deployments": "none"},
        {"created": "yesterday"},
    ],
)
def test_a_record_that_was_tampered_with_deletes_nothing(tmp_path, record, change):
    record.write(tmp_path)
    path = tmp_path / record.run / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidRequest, match=r"record\.json"):
        unfinished(tmp_path)


def test_a_record_cut_short_is_reported(tmp_path, record):
    record.write(tmp_path)
    path = tmp_path / record.run / "record.json"
    path.write_text(path.read_text()[:20])
    with pytest.raises(InvalidRequest, match="remove the deployments in it by hand"):
        unfinished(tmp_path)


def test_two_runs_at_once_are_refused(tmp_path):
    with only_one(tmp_path), pytest.raises(InvalidRequest, match="another run"), only_one(tmp_path):
        pass
    with only_one(tmp_path):
        pass
