"""The step that waits for the index, on loopback collections and moto's STS."""

import contextlib
import io
import json

import pytest
from moto import mock_aws

from knowledge_rag.core.errors import DeadlineExceeded
from lambdas.deploy_steps import handler
from lambdas.deploy_steps.index import ANSWERS, READY_SECONDS, Index, make_ready
from tests.support.ingestion import Ingestion
from tools.local_cloud.searching import Searching

PATH = "/co1/knowledge-1a2b3c4d"
ROLE = "arn:aws:iam::123456789012:role/knowledge-base"


@pytest.fixture
def collection(aws_environment):
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    aws_environment.setenv("AWS_SESSION_TOKEN", "testing")
    server = Searching()
    server.add(PATH, {"service": {"Type": "keyword"}, "title": {"Type": "text", "Index": True}})
    with mock_aws():
        yield server
    server.close()


@pytest.fixture
def wait(collection, time):
    def run(end=840):
        index = Index(f"{collection.url}/co1", "knowledge-1a2b3c4d", ("service",), ("title",))
        make_ready(index, ROLE, time.clock(end))

    return run


@pytest.mark.parametrize("answer", [403, 404, 500, 503])
def test_it_waits_until_the_index_is_searched_by_the_knowledge_bases_role(
    wait, collection, time, answer
):
    collection.not_yet[PATH] = [answer] * 5
    wait()
    assert collection.calls[-ANSWERS:] == [("_search", 200)] * ANSWERS
    assert 0 < time.now < 60


def test_an_answer_that_does_not_last_is_none(wait, collection):
    collection.not_yet[PATH] = [200, 200, 404]
    wait()
    searches = [status for what, status in collection.calls if what == "_search"]
    assert searches == [200, 200, 404, *[200] * ANSWERS]


def test_a_keyword_is_found_under_both_names_and_nothing_is_a_date(wait, collection):
    wait()
    assert collection.mappings[PATH]["service"]["fields"]["keyword"]["type"] == "keyword"
    assert collection.mappings[PATH]["title"]["fields"]["keyword"]["type"] == "keyword"
    assert collection.dates is False


def test_a_mapping_that_the_service_does_not_take_undoes_no_deployment(wait, collection):
    collection.refuses_mapping = True
    wait()
    assert collection.calls[0] == ("_mapping", 400)
    assert collection.calls[-1] == ("_search", 200)


def test_it_ends_in_time_and_says_what_was_answered(wait, collection, time, monkeypatch):
    monkeypatch.setattr("lambdas.deploy_steps.index.POLL_SECONDS", 30)
    collection.not_yet[PATH] = [403] * 1_000
    with pytest.raises(DeadlineExceeded, match=r"after 300 s\. The last answer: .* 403: .*no such"):
        wait()
    assert READY_SECONDS - 30 <= time.now <= READY_SECONDS


def test_a_collection_that_can_not_be_reached_is_named(time, collection):
    collection.close()
    index = Index(f"{collection.url}/co1", "knowledge-1a2b3c4d", (), ())
    with pytest.raises(DeadlineExceeded, match="Could not connect"):
        make_ready(index, ROLE, time.clock(30))


@pytest.fixture
def cloudformation():
    server = Ingestion()
    yield server
    server.close()


def answered(cloudformation, kind, **properties):
    event = {
        "RequestType": kind,
        "ResourceType": "Custom::KnowledgeIndex",
        "ResponseURL": f"{cloudformation.url}/answer",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Index",
        "ResourceProperties": properties,
    }
    with contextlib.redirect_stdout(io.StringIO()):
        handler.lambda_handler(event, None)
    return cloudformation.answers.pop()


def test_the_step_is_answered_for(collection, cloudformation, monkeypatch):
    monkeypatch.setattr("lambdas.custom_resource.time.sleep", lambda _: None)
    properties = {
        "Endpoint": f"{collection.url}/co1",
        "IndexName": "knowledge-1a2b3c4d",
        "ReaderRole": ROLE,
        "Keywords": ["service"],
        "Words": ["title"],
    }
    assert answered(cloudformation, "Create", **properties)["Status"] == "SUCCESS"
    assert json.dumps(collection.mappings[PATH]).count("keyword") >= 4
    missing = answered(cloudformation, "Update", **properties | {"IndexName": ""})
    assert (missing["Status"], "lack IndexName" in missing["Reason"]) == ("FAILED", True)
    collection.calls.clear()
    assert answered(cloudformation, "Delete")["Status"] == "SUCCESS"
    assert collection.calls == []
