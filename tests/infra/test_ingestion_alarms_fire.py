"""The alarms on ingestion, on what the real chunker and the real start_ingestion emit."""

import contextlib
import io
import json

import boto3
import pytest
from moto import mock_aws

from lambdas.chunk_documents import handler as chunk_documents
from lambdas.start_ingestion import handler as start_ingestion
from tests.support.cloudwatch import alarms_of, emitted, series
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, ended
from tests.support.monitoring import monitored
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob
from tools.local_cloud.changes import Clock, TimedJobs

DEPLOYMENT = "knowledge-rag-dev"
ALARMS = {
    key: alarm
    for key, alarm in alarms_of(monitored(), DEPLOYMENT).items()
    if key.startswith(("ingestion-", "chunking-"))
}


class Context:
    def get_remaining_time_in_millis(self):
        return 900_000


@pytest.fixture
def s3(aws_environment):
    aws_environment.setenv("POWERTOOLS_SERVICE_NAME", DEPLOYMENT)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    chunk_documents._service.cache_clear()
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        for bucket in (CORPUS, INTERMEDIATE, "assets"):
            client.create_bucket(Bucket=bucket)
        yield client
    chunk_documents._service.cache_clear()


@pytest.fixture
def bedrock(aws_environment):
    clock = Clock()
    server = TimedJobs(clock)
    server.clock = clock
    aws_environment.setenv("POWERTOOLS_SERVICE_NAME", DEPLOYMENT)
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", server.url)
    aws_environment.setenv("KNOWLEDGE_BASE_ID", KNOWLEDGE_BASE_ID)
    aws_environment.setenv("DATA_SOURCE_ID", DATA_SOURCE_ID)
    start_ingestion._jobs.cache_clear()
    yield server
    start_ingestion._jobs.cache_clear()
    server.close()


def samples_of(handler, event):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        handler(event, Context())
    records = [json.loads(line) for line in output.getvalue().splitlines()]
    return emitted(record for record in records if "_aws" in record)


def chunked(s3, data, parsed):
    job = IngestionJob(s3)
    job.add("runbooks/a.md", data, parsed)
    return samples_of(chunk_documents.lambda_handler, job.event)


def ingested(bedrock, end):
    """Serve a message until its job has ended in a state."""
    bedrock.ingest = lambda: end
    samples = {}
    for _ in range(2):
        samples = samples_of(start_ingestion.lambda_handler, message(bedrock.clock.now))
        bedrock.clock.now += 60
    return samples


def message(sent):
    attributes = {"SentTimestamp": str(int(sent * 1000))}
    return {"Records": [{"messageId": "m-1", "attributes": attributes}]}


def fired(samples):
    return {key for key, alarm in ALARMS.items() if alarm.fires(samples)}


@pytest.mark.parametrize(
    ("data", "parsed", "expected"),
    [
        (b"# A\n\nText.\n", "# A\n\nText.\n", set()),
        (b"# A\n\n\xff\n", "# A\n\n?\n", {"chunking-failed-files"}),
        (b"# A\n\nText.\n", "# A\n\nOther text.\n", {"chunking-mismatches"}),
        (b"`kubectl gett pods`\n", "`kubectl gett pods`\n", {"chunking-drift"}),
    ],
    ids=["good", "unreadable", "changed by the parser", "with a command that is none"],
)
def test_a_file_that_is_not_searchable_as_it_stands_warns(s3, data, parsed, expected):
    assert fired(chunked(s3, data, parsed)) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (ended("COMPLETE", new=3), set()),
        (ended("COMPLETE", new=3, failed=1), {"ingestion-failed-documents"}),
        (ended("FAILED", "no access"), {"ingestion-failed-jobs"}),
        (ended("STOPPED"), {"ingestion-failed-jobs"}),
    ],
    ids=["complete", "without one document", "failed", "stopped"],
)
def test_a_job_that_leaves_something_out_warns(bedrock, end, expected):
    assert fired(ingested(bedrock, end)) == expected


@pytest.mark.parametrize(
    ("key", "function"),
    [("chunking-function-errors", "chunk"), ("ingestion-function-errors", "ingest")],
)
def test_a_function_that_crashed_warns(key, function):
    name = series("AWS/Lambda", "Errors", FunctionName=f"{DEPLOYMENT}-{function}")
    assert fired({name: [0, 1]}) == {key}
    assert fired({name: [0, 0]}) == set()


@pytest.mark.parametrize(
    ("key", "name"),
    [
        (
            "ingestion-lost-events",
            series("AWS/Events", "FailedInvocations", RuleName=f"{DEPLOYMENT}-changes"),
        ),
        (
            "ingestion-dead-letters",
            series(
                "AWS/SQS",
                "ApproximateNumberOfMessagesVisible",
                QueueName=f"{DEPLOYMENT}-changes-failed.fifo",
            ),
        ),
    ],
)
def test_a_change_that_is_lost_or_given_up_warns(key, name):
    assert fired({name: [0, 1]}) == {key}
    assert fired({name: [0, 0]}) == set()
