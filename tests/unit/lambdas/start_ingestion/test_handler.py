"""A batch of the queue in; what comes again, what is logged and what is counted out."""

import contextlib
import io
import json

import pytest
from botocore.exceptions import ClientError

from knowledge_rag.core.errors import InvalidRequest
from lambdas.start_ingestion import handler
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended
from tools.local_cloud.changes import Clock, TimedJobs


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def jobs(aws_environment, clock):
    server = TimedJobs(clock)
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", server.url)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    aws_environment.setenv("KNOWLEDGE_BASE_ID", KNOWLEDGE_BASE_ID)
    aws_environment.setenv("DATA_SOURCE_ID", DATA_SOURCE_ID)
    handler._jobs.cache_clear()
    yield server
    handler._jobs.cache_clear()
    server.close()


@pytest.fixture
def serve(jobs, clock):  # noqa: ARG001 - its address is in the environment
    def run(message_id="m-1", sent=None):
        record = {
            "messageId": message_id,
            "attributes": {"SentTimestamp": str(int((sent or clock.now) * 1000))},
        }
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            again = handler.lambda_handler({"Records": [record]}, None)["batchItemFailures"]
        records = [json.loads(line) for line in output.getvalue().splitlines()]
        assert again in ([], [{"itemIdentifier": message_id}])
        return bool(again), records

    return run


def test_a_message_comes_again_until_its_job_has_ended(serve, jobs, clock):
    jobs.ingest = lambda: ended("COMPLETE", new=3, modified=2, deleted=1)
    sent = clock.now
    assert serve(sent=sent)[0]
    clock.now += 30
    assert serve(sent=sent)[0]
    clock.now += 40
    again, records = serve(sent=sent)
    assert not again
    metrics = records[-1]
    assert metrics["KnowledgeIngestionJobs"] == [1]
    assert metrics["ingestion_job_id"] in jobs.started
    assert metrics["KnowledgeIngestionDocuments"] == [5]
    assert metrics["KnowledgeIngestionFailedJobs"] == [0]
    assert len(jobs.started) == 1


def test_failures_are_told_in_bedrocks_words_on_one_line(serve, jobs, clock):
    jobs.ingest = lambda: ended("FAILED", "the model\n is\tnot enabled", "x" * 400, failed=4)
    serve()
    clock.now += 60
    _, records = serve()
    line, metrics = records[-2:]
    assert (line["level"], line["failed"]) == ("ERROR", 4)
    assert line["reason"].startswith("the model is not enabled xxx")
    assert len(line["reason"]) == 300
    assert metrics["KnowledgeIngestionFailedJobs"] == [1]
    assert metrics["KnowledgeIngestionFailedDocuments"] == [4]


def test_a_change_before_a_job_that_is_complete_needs_none(serve, jobs, clock):
    jobs.by_hand()
    clock.now += 60
    again, records = serve(sent=clock.now - 400)
    assert not again
    assert [record for record in records if "_aws" in record] == []
    assert len(jobs.started) == 1


@pytest.mark.parametrize(
    ("result", "age"),
    [
        pytest.param(ended("COMPLETE"), 380, id="it began while changes were still swallowed"),
        pytest.param(ended("FAILED"), 500, id="it failed"),
        pytest.param(ended("STOPPED"), 500, id="it was stopped"),
    ],
)
def test_a_job_that_may_not_have_seen_the_change_is_followed_by_another(
    serve, jobs, clock, result, age
):
    jobs.ingest = lambda: result
    jobs.by_hand()
    clock.now += 60
    assert serve(sent=clock.now - age)[0]
    assert len(jobs.started) == 2


def test_a_running_job_is_waited_for_whoever_started_it(serve, jobs, clock):
    jobs.by_hand()
    assert serve()[0]
    assert len(jobs.started) == 1
    clock.now += 60
    assert serve()[0]
    assert len(jobs.started) == 2


@pytest.mark.parametrize(
    "code",
    [
        "ConflictException",
        "InternalServerException",
        "ServiceQuotaExceededException",
        "ThrottlingException",
    ],
)
def test_what_time_mends_is_waited_for(serve, jobs, code):
    jobs.refusals = [(400, code, "later")] * 9
    again, records = serve()
    assert again
    assert records[-1]["reason"] == code


def test_what_time_does_not_mend_raises(serve, jobs):
    jobs.denied = True
    with pytest.raises(ClientError, match="AccessDenied"):
        serve()


@pytest.mark.parametrize("event", [None, [], {}, {"Records": [{}]}, {"Records": 7}, {"query": "x"}])
def test_what_is_no_batch_of_messages_is_refused(event):
    with pytest.raises(InvalidRequest, match="not a batch of queue messages"):
        handler.lambda_handler(event, None)
