"""The alarms on ingestion, on what the real chunker and the real starter emit."""

import contextlib
import io
import json
import zipfile

import boto3
import pytest
from moto import mock_aws

from lambdas.chunk_documents import handler as chunk_documents
from lambdas.start_ingestion import handler as start_ingestion
from tests.support.cloudwatch import alarms_of, emitted, series
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, Ingestion, ended
from tests.support.monitoring import monitored
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob

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
    server = Ingestion()
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", server.url)
    yield server
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


def ingested(s3, bedrock, end):
    bedrock.scripts = [[end]]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("runbooks/a.md", "# A\n")
    s3.put_object(Bucket="assets", Key="corpus.zip", Body=archive.getvalue())
    request = {
        "RequestType": "Create",
        "ResponseURL": f"{bedrock.url}/answer",
        "StackId": "arn:aws:cloudformation:us-east-1:123456789012:stack/data/1",
        "RequestId": "1",
        "LogicalResourceId": "Ingestion",
        "ResourceType": "Custom::KnowledgeIngestion",
        "ResourceProperties": {
            "KnowledgeBaseId": KNOWLEDGE_BASE_ID,
            "DataSourceId": DATA_SOURCE_ID,
            "CorpusBucket": CORPUS,
            "IntermediateBucket": INTERMEDIATE,
            "AssetBucket": "assets",
            "AssetKey": "corpus.zip",
            "Chunker": "1",
            "EmptyOnDelete": "false",
        },
    }
    return samples_of(start_ingestion.lambda_handler, request)


def fired(samples):
    return {key for key, alarm in ALARMS.items() if alarm.fires(samples)}


@pytest.mark.parametrize(
    ("data", "parsed", "expected"),
    [
        (b"# A\n\nText.\n", "# A\n\nText.\n", set()),
        (b"# A\n\n\xff\n", "# A\n\n?\n", {"chunking-failed-files"}),
        (b"# A\n\nText.\n", "# A\n\nOther text.\n", {"chunking-mismatches"}),
    ],
    ids=["good", "unreadable", "changed by the parser"],
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
def test_a_job_that_leaves_something_out_warns(s3, bedrock, end, expected):
    assert fired(ingested(s3, bedrock, end)) == expected


@pytest.mark.parametrize(
    ("key", "function"),
    [("chunking-function-errors", "chunk"), ("ingestion-function-errors", "ingest")],
)
def test_a_function_that_crashed_warns(key, function):
    name = series("AWS/Lambda", "Errors", FunctionName=f"{DEPLOYMENT}-{function}")
    assert fired({name: [0, 1]}) == {key}
    assert fired({name: [0, 0]}) == set()
