"""From a folder to provable chunks: the starter and the chunker, with Bedrock's part played between."""

import contextlib
import io
import json
import zipfile
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest
from moto import mock_aws

from knowledge_rag.core.metadata import prove
from knowledge_rag.core.outcome import RetrievalResult
from lambdas import custom_resource
from lambdas.chunk_documents import handler as chunker
from lambdas.start_ingestion import handler as starter
from tests.support.ingestion import DATA_SOURCE_ID, KNOWLEDGE_BASE_ID, Ingestion, ended
from tests.support.transformation import CORPUS, INTERMEDIATE, IngestionJob

FOLDER = Path(__file__).parents[2] / "knowledge-corpus"


class Bedrock:
    """Runs an ingestion job as Bedrock does: parse each document, call the transformation, store.

    The job runs behind the answer to its start, while the starter waits to look at it; no time passes.

    Attributes:
        stored: document -> the chunks that would be embedded.
        job: what a look at the job tells.
    """

    def __init__(self, s3):
        self._s3 = s3
        self.stored = {}
        self.job = {"status": "IN_PROGRESS"}

    def clock(self):
        """The starter's time."""
        return SimpleNamespace(
            monotonic=lambda: 0.0, sleep=lambda _: self.job.update(self.ingest())
        )

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
def ingestion():
    server = Ingestion()
    yield server
    server.close()


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
def deploy(s3, ingestion, monkeypatch):
    """Deploy a corpus."""
    return lambda files: _deploy(s3, ingestion, monkeypatch, files)


def _deploy(s3, ingestion, monkeypatch, files):
    """Deploy a corpus; give what Bedrock stored and what the stack's output says."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    s3.put_object(Bucket="assets", Key="corpus.zip", Body=data.getvalue())
    bedrock = Bedrock(s3)
    ingestion.scripts.append([bedrock.job])
    monkeypatch.setattr(custom_resource, "time", bedrock.clock())
    with contextlib.redirect_stdout(io.StringIO()):
        starter.lambda_handler(request(ingestion), None)
    answer = ingestion.answers.pop()
    assert answer["Status"] == "SUCCESS", answer
    return bedrock.stored, answer["Data"]["Summary"]


def request(ingestion):
    return {
        "RequestType": "Create",
        "ResponseURL": f"{ingestion.url}/answer",
        "StackId": "stack",
        "RequestId": "request",
        "LogicalResourceId": "Ingestion",
        "ResourceProperties": {
            "KnowledgeBaseId": KNOWLEDGE_BASE_ID,
            "DataSourceId": DATA_SOURCE_ID,
            "CorpusBucket": CORPUS,
            "IntermediateBucket": INTERMEDIATE,
            "AssetBucket": "assets",
            "AssetKey": "corpus.zip",
            "Chunker": "1",
        },
    }


def test_every_chunk_of_a_deployed_corpus_is_cited_with_its_path_and_lines_in_the_folder(deploy):
    files = {
        str(path.relative_to(FOLDER)): path.read_bytes()
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }

    stored, summary = deploy(files)

    assert summary == f"COMPLETE: {len(files)} documents indexed, 0 failed, 0 deleted"
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
    stored, summary = deploy(
        {"runbooks/good.md": b"# Good\n\ntext\n", "runbooks/bad.md": b"\xff\xfe\x00"}
    )

    assert summary == "COMPLETE: 1 documents indexed, 1 failed, 0 deleted"
    assert stored["runbooks/good.md"]
    assert stored["runbooks/bad.md"] == []
