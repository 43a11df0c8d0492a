"""The steps of a deployment: a request of CloudFormation's in, its answer at the answer address."""

import contextlib
import io
import json
import zipfile
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from knowledge_rag.core.errors import InvalidRequest
from lambdas import custom_resource
from lambdas.deploy_steps import handler
from lambdas.deploy_steps.handler import (
    DRAIN_SECONDS,
    KEPT,
    POLL_SECONDS,
    _drain,
    lambda_handler,
    remove_old,
)
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended

STACK = "arn:aws:cloudformation:us-east-1:123456789012:stack/knowledge-rag-dev-data/1"
PROPERTIES = {
    "Custom::KnowledgeDocuments": {
        "DocumentsBucket": "corpus",
        "IntermediateBucket": "intermediate",
        "AssetBucket": "assets",
        "AssetKey": "corpus.zip",
        "Chunking": "7",
    },
    "Custom::KnowledgeTearDown": {
        "KnowledgeBaseId": KNOWLEDGE_BASE_ID,
        "DataSourceId": DATA_SOURCE_ID,
        "EmptiedBuckets": ["corpus", "intermediate"],
    },
}


class Context:
    def __init__(self, seconds=900):
        self._seconds = seconds

    def get_remaining_time_in_millis(self):
        return self._seconds * 1000


@pytest.fixture
def s3(bedrock):  # noqa: ARG001 - its endpoint is in the environment
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        for bucket in ("assets", "corpus", "intermediate"):
            client.create_bucket(Bucket=bucket)
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("runbooks/a.md", "# A\n")
        client.put_object(Bucket="assets", Key="corpus.zip", Body=data.getvalue())
        yield client


@pytest.fixture
def request_of(ingestion):
    def make(kind, resource="", **properties):
        resource = f"Custom::Knowledge{resource or 'TearDown' if kind == 'Delete' else 'Documents'}"
        request = {
            "RequestType": kind,
            "ResponseURL": f"{ingestion.url}/answer?X-Amz-Signature=abc%2F",
            "StackId": STACK,
            "RequestId": "4a3b2c1d",
            "LogicalResourceId": "Step",
            "ResourceType": resource,
            "ResourceProperties": PROPERTIES[resource] | properties,
        }
        return request if kind == "Create" else request | {"PhysicalResourceId": "Step"}

    return make


def run(event, seconds=900):
    """Call the handler; give its log lines."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert lambda_handler(event, Context(seconds)) is None
    return [json.loads(line) for line in output.getvalue().splitlines()]


def keys(s3, bucket):
    return [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", ())]


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_deployment_copies_and_waits_for_no_job(s3, ingestion, request_of, kind):
    run(request_of(kind))

    assert keys(s3, "corpus") == ["runbooks/a.md"]
    assert ingestion.calls == []
    assert ingestion.answers == [
        {
            "Status": "SUCCESS",
            "Reason": "",
            "PhysicalResourceId": "Step",
            "StackId": STACK,
            "RequestId": "4a3b2c1d",
            "LogicalResourceId": "Step",
            "Data": {"Summary": "1 written, 0 unchanged, 0 deleted"},
        }
    ]


@pytest.mark.parametrize(
    ("kind", "resource"), [("Delete", "Documents"), ("Create", "TearDown"), ("Update", "TearDown")]
)
def test_a_step_is_done_when_it_is_due_and_no_other_time(s3, ingestion, request_of, kind, resource):
    s3.put_object(Bucket="corpus", Key="by-hand.md", Body=b"")
    event = request_of(kind)
    event["ResourceType"] = f"Custom::Knowledge{resource}"

    run(event)

    assert ingestion.answers[0]["Status"] == "SUCCESS"
    assert keys(s3, "corpus") == ["by-hand.md"]
    assert ingestion.calls == []


@pytest.mark.usefixtures("s3")
def test_a_step_that_nobody_knows_is_named(ingestion, request_of):
    event = request_of("Create") | {"ResourceType": "Custom::Other"}

    run(event)

    assert "Custom::Other" in ingestion.answers[0]["Reason"]


def test_there_is_time_left_to_answer_when_the_work_takes_too_long(s3, ingestion, request_of):
    run(request_of("Create"), seconds=60)

    assert "time is up while copying runbooks/a.md" in ingestion.answers[0]["Reason"]
    assert keys(s3, "corpus") == []


def test_a_corpus_that_is_not_there_undoes_the_deployment(s3, ingestion, request_of):
    s3.delete_object(Bucket="assets", Key="corpus.zip")

    run(request_of("Create"))

    assert ingestion.answers[0]["Status"] == "FAILED"
    assert ingestion.calls == []


NOBODY_READS = {
    "Statement": {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::assets/*",
    }
}


def test_a_right_that_is_not_known_yet_is_waited_for(s3, ingestion, request_of, monkeypatch):
    s3.put_bucket_policy(Bucket="assets", Policy=json.dumps(NOBODY_READS))
    monkeypatch.setattr(
        custom_resource.time, "sleep", lambda _: s3.delete_bucket_policy(Bucket="assets")
    )

    run(request_of("Create"))

    assert ingestion.answers[0]["Status"] == "SUCCESS"
    assert keys(s3, "corpus") == ["runbooks/a.md"]


def test_a_right_that_never_comes_undoes_the_deployment(s3, ingestion, request_of, monkeypatch):
    s3.put_bucket_policy(Bucket="assets", Policy=json.dumps(NOBODY_READS))
    monkeypatch.setattr(custom_resource.time, "sleep", lambda _: None)

    run(request_of("Create"), seconds=70)

    assert ingestion.answers[0]["Status"] == "FAILED"
    assert "Forbidden" in ingestion.answers[0]["Reason"]


@pytest.mark.usefixtures("s3")
def test_missing_properties_are_named(ingestion, request_of):
    run(request_of("Create", AssetKey="", Chunking=None))

    assert "AssetKey, Chunking" in ingestion.answers[0]["Reason"]


def test_deletion_drains_and_empties(s3, ingestion, request_of):
    for bucket in ("corpus", "intermediate"):
        s3.put_object(Bucket=bucket, Key="x", Body=b"")
    ingestion.jobs = {"JOBOVER001": [ended("COMPLETE")]}

    run(request_of("Delete"))

    assert ingestion.calls == ["list"]
    assert keys(s3, "corpus") == keys(s3, "intermediate") == []
    assert ingestion.answers[0]["Status"] == "SUCCESS"


def test_a_job_that_never_stops_leaves_time_to_empty_the_buckets(
    s3, ingestion, request_of, monkeypatch, time
):
    passing = SimpleNamespace(monotonic=lambda: time.now, sleep=time.sleep)
    monkeypatch.setattr(custom_resource, "time", passing)
    s3.put_object(Bucket="corpus", Key="x", Body=b"")
    ingestion.jobs = {"JOBSTUCK01": ["STOPPING"]}

    run(request_of("Delete"))

    assert DRAIN_SECONDS - POLL_SECONDS <= time.now <= DRAIN_SECONDS
    assert keys(s3, "corpus") == []
    assert ingestion.answers[0]["Status"] == "SUCCESS"


def test_deletion_keeps_data_that_is_to_be_kept(s3, ingestion, request_of):
    s3.put_object(Bucket="corpus", Key="x", Body=b"")

    run(request_of("Delete", EmptiedBuckets=[]))

    assert keys(s3, "corpus") == ["x"]
    assert ingestion.calls == ["list"]


def test_a_stack_without_a_knowledge_base_is_emptied_and_asks_for_no_job(s3, ingestion, request_of):
    s3.put_object(Bucket="corpus", Key="x", Body=b"")
    event = request_of("Delete")
    event["ResourceProperties"] = {"EmptiedBuckets": ["corpus"]}

    logs = run(event)

    assert ingestion.answers[0]["Status"] == "SUCCESS"
    assert keys(s3, "corpus") == []
    assert (logs, ingestion.calls) == ([], [])


def test_deletion_succeeds_whatever_is_broken(s3, ingestion, request_of):
    s3.put_object(Bucket="intermediate", Key="x", Body=b"")

    logs = run(
        request_of(
            "Delete", EmptiedBuckets=["not-there", "intermediate"], DataSourceId="GONE000000"
        )
    )

    assert ingestion.answers[0]["Status"] == "SUCCESS"
    assert [log["step"] for log in logs] == ["drain the running job", "empty not-there"]
    assert keys(s3, "intermediate") == []


@pytest.mark.usefixtures("s3")
def test_deletion_of_what_was_never_made_succeeds(ingestion, request_of):
    event = request_of("Delete")
    event["ResourceProperties"] = {}

    run(event)

    assert ingestion.answers[0]["Status"] == "SUCCESS"


@pytest.mark.usefixtures("s3")
def test_an_answer_that_is_refused_is_given_again(ingestion, request_of):
    ingestion.refused_answers = 1

    run(request_of("Create"))

    assert len(ingestion.answers) == 1


@pytest.mark.parametrize("event", [{}, [], None, {"RequestType": "Create"}, {"query": "rds"}])
def test_what_is_no_request_of_cloudformation_is_refused(event):
    with pytest.raises(InvalidRequest, match="not a CloudFormation request"):
        lambda_handler(event, None)


# a running job is stopped before its data source is deleted

DENIED = (403, "AccessDeniedException", "User is not authorized to perform the operation")


@pytest.fixture
def drain(bedrock, time):  # noqa: ARG001 - its endpoint is in the environment
    def run(end=780):
        source = {"knowledgeBaseId": KNOWLEDGE_BASE_ID, "dataSourceId": DATA_SOURCE_ID}
        _drain(source, time.clock(end))

    return run


def test_draining_stops_what_runs_and_waits_for_it(drain, ingestion):
    ingestion.jobs = {"JOBOVER001": [ended("COMPLETE")], "JOBRUNS001": ["IN_PROGRESS"]}

    drain()

    assert ingestion.calls == ["list", "stop", "list"]
    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_finds_the_running_job_behind_many_old_ones(drain, ingestion):
    ingestion.jobs = {f"JOBOVER{number:03}": [ended("COMPLETE")] for number in range(30)}
    ingestion.jobs["JOBRUNS001"] = ["IN_PROGRESS"]

    drain()

    assert ingestion.jobs["JOBRUNS001"] == ["STOPPED"]


def test_draining_survives_a_job_that_ended_by_itself_meanwhile(drain, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS", ended("COMPLETE")]}
    ingestion.stop_refusals = [(400, "ValidationException", "the job is over")]

    drain()

    assert ingestion.calls == ["list", "stop", "list"]


def test_draining_that_may_not_be_done_raises(drain, ingestion):
    ingestion.jobs = {"JOBRUNS001": ["IN_PROGRESS"]}
    ingestion.stop_refusals = [DENIED]

    with pytest.raises(ClientError, match="not authorized"):
        drain()


def test_draining_where_nothing_runs_stops_nothing(drain, ingestion, time):
    ingestion.jobs = {"JOBOVER001": [ended("FAILED")]}

    drain()

    assert ingestion.calls == ["list"]
    assert time.slept == []


def test_draining_gives_up_when_its_time_is_up(drain, ingestion, time):
    ingestion.jobs = {"JOBSTUCK01": ["STOPPING"]}

    drain(end=60)

    assert time.now <= 60
    assert "stop" not in ingestion.calls


# old versions are removed, and never one that is used or may be wanted back


@pytest.fixture
def function():
    """Lambda's client, and how to say which versions and aliases there are."""
    client = boto3.client(
        "lambda", "us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with Stubber(client) as stub:

        def has(*versions, **aliases):
            made = [
                {"FunctionVersion": str(uses)}
                if isinstance(uses, int)
                else {
                    "FunctionVersion": str(uses[0]),
                    "RoutingConfig": {"AdditionalVersionWeights": {str(uses[1]): 0.1}},
                }
                for uses in aliases.values()
            ]
            stub.add_response("list_aliases", {"Aliases": made}, {"FunctionName": "f"})
            listed = [{"Version": version} for version in ("$LATEST", *map(str, versions))]
            stub.add_response(
                "list_versions_by_function", {"Versions": listed}, {"FunctionName": "f"}
            )

        def loses(*versions):
            for version in versions:
                wanted = {"FunctionName": "f", "Qualifier": str(version)}
                stub.add_response("delete_function", {}, wanted)

        yield client, has, loses, stub
        stub.assert_no_pending_responses()


def test_the_newest_five_beside_the_one_in_use_are_kept(function):
    client, has, loses, _ = function
    has(2, 3, 4, 9, 10, 11, 12, 13, live=13)
    loses(2, 3)
    assert remove_old(client, "f") == ["2", "3"]
    assert KEPT == 5


def test_nothing_goes_while_there_are_few(function):
    client, has, _, _ = function
    has(1, 2, 3, 4, 5, 6, live=6)
    assert remove_old(client, "f") == []


def test_an_old_version_that_an_alias_uses_is_kept(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 1)
    client, has, loses, _ = function
    has(1, 2, 3, 4, 5, live=1, other=(3, 2))
    loses(4)
    assert remove_old(client, "f") == ["4"]


def test_versions_are_compared_as_numbers(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 1)
    client, has, loses, _ = function
    has(9, 10, 100, live=100)
    loses(9)
    assert remove_old(client, "f") == ["9"]


def test_what_lambda_refuses_is_told(function, monkeypatch):
    monkeypatch.setattr(handler, "KEPT", 0)
    client, has, _, stub = function
    has(1, 2, live=2)
    stub.add_client_error("delete_function", "ResourceConflictException")
    with pytest.raises(ClientError):
        remove_old(client, "f")
