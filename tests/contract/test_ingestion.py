"""From a folder to provable chunks: what copies and what chunks, with Bedrock's part played between."""

import contextlib
import io
import json
import zipfile
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import RetrievalResult
from lambdas.chunk_documents import handler as chunker
from lambdas.deploy_steps import handler as steps
from tests.support.ingestion import ended
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob

FOLDER = Path(__file__).parents[2] / "knowledge-corpus"


class Bedrock:
    """Runs an ingestion job as Bedrock does: parse each document, call the transformation, store.

    Attributes:
        stored: document -> the chunks that would be embedded.
    """

    def __init__(self, s3):
        self._s3 = s3
        self.stored = {}

    def ingest(self):
        job = IngestionJob(self._s3)
        keys = [item["Key"] for item in self._s3.list_objects_v2(Bucket=CORPUS)["Contents"]]
        for key in keys:
            data = self._s3.get_object(Bucket=CORPUS, Key=key)["Body"].read()
            job.add(key, data, data.decode(errors="replace"))
        answer = chunker.lambda_handler(job.event, None)
        for key, file in zip(keys, answer["outputFiles"], strict=True):
            self.stored[key] = job.contents(file)
        failed = sum(not chunks for chunks in self.stored.values())
        return ended("COMPLETE", new=len(keys) - failed, failed=failed)


@pytest.fixture
def s3(aws_environment, ingestion):
    aws_environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
    aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT", ingestion.url)
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        for bucket in ("assets", CORPUS, INTERMEDIATE):
            client.create_bucket(Bucket=bucket)
        chunker._service.cache_clear()
        yield client
        chunker._service.cache_clear()


@pytest.fixture
def deploy(s3, ingestion):
    """Deploy a corpus."""
    return lambda files: _deploy(s3, ingestion, files)


def _deploy(s3, ingestion, files):
    """Deploy a corpus; give what Bedrock stored, and how many documents were indexed and failed."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    s3.put_object(Bucket="assets", Key="corpus.zip", Body=data.getvalue())
    bedrock = Bedrock(s3)
    with contextlib.redirect_stdout(io.StringIO()):
        steps.lambda_handler(request(ingestion), None)
        answer = ingestion.answers.pop()
        assert answer["Status"] == "SUCCESS", answer
        counts = bedrock.ingest()["statistics"]
    return bedrock.stored, counts["numberOfNewDocumentsIndexed"], counts["numberOfDocumentsFailed"]


def request(ingestion):
    return {
        "RequestType": "Create",
        "ResponseURL": f"{ingestion.url}/answer",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Ingestion",
        "ResourceType": "Custom::KnowledgeDocuments",
        "ResourceProperties": {
            "DocumentsBucket": CORPUS,
            "IntermediateBucket": INTERMEDIATE,
            "AssetBucket": "assets",
            "AssetKey": "corpus.zip",
            "Chunking": "1",
        },
    }


def test_every_chunk_of_a_deployed_corpus_is_cited_with_its_path_and_lines_in_the_folder(deploy):
    files = {
        str(path.relative_to(FOLDER)): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }

    stored, *counts = deploy(files)

    assert counts == [len(files), 0]
    assert set(stored) == set(files)
    for source_file, chunks in stored.items():
        lines = files[source_file].decode("utf-8-sig").split("\n")
        for chunk in chunks:
            proven = prove(chunk["contentBody"], json.loads(json.dumps(chunk["contentMetadata"])))
            assert isinstance(proven, RetrievalResult)
            citation = proven.citation
            assert citation.source_file == source_file
            assert proven.content == "\n".join(lines[citation.start_line - 1 : citation.end_line])


def test_a_document_that_can_not_be_read_is_told_and_the_others_are_ingested(deploy):
    stored, *counts = deploy(
        {"runbooks/good.md": b"# Good\n\ntext\n", "runbooks/bad.md": b"\xff\xfe\x00"}
    )

    assert counts == [1, 1]
    assert stored["runbooks/good.md"]
    assert stored["runbooks/bad.md"] == []
