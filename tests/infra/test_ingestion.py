"""The chunker's and the starter's functions: what they may do, and when ingestion runs."""

import shutil

import pytest
from aws_cdk.assertions import Template

from infra import ingestion
from infra.data_stack import DataStack
from tests.infra.data import (
    actions,
    app,
    before,
    only,
    resources,
    settings,
    stack,
    statements,
    template,
    text,
    the,
)

DEV = {"preset": "dev"}
PROD = {"preset": "prod"}
CHUNK = "ChunkDocumentsChunkRole"
START = "StartIngestionStartRole"
CUSTOM = "Custom::KnowledgeIngestion"
OWN = {"WriteOwnLogs", "WriteTraces", "DecryptOwnEnvironment"}
"""Of every function's role, see :mod:`infra.python_function`."""


def may(role, **values):
    found = statements(template(**values), role)
    return {name: actions(each) for name, each in found.items() if name not in OWN}


def on(role, name, **values):
    resource = statements(template(**values), role)[name]["Resource"]
    return [text(each) for each in (resource if isinstance(resource, list) else [resource])]


def function(name, **values):
    found = [
        each["Properties"]
        for each in resources(template(**values), "AWS::Lambda::Function").values()
        if each["Properties"]["FunctionName"].endswith(name)
    ]
    (properties,) = found
    return properties


def trigger(**values):
    return only(template(**values), CUSTOM)


def deployed(corpus, monkeypatch):
    """Give the custom resource of a deployment of another corpus."""
    monkeypatch.setattr(ingestion, "PROJECT", corpus.parent)
    chosen = settings(**DEV, corpus=corpus.name)
    return only(Template.from_stack(DataStack(app(), "Data", settings=chosen)), CUSTOM)


def test_the_chunker_reads_originals_and_exchanges_batches():
    assert may(CHUNK, **DEV) == {
        "TellMissingObjects": {"s3:ListBucket"},
        "ReadOriginals": {"s3:GetObject"},
        "ExchangeBatches": {"s3:GetObject", "s3:PutObject"},
    }
    (originals,) = on(CHUNK, "ReadOriginals", **DEV)
    assert originals.startswith("<BucketsCorpus")
    (batches,) = on(CHUNK, "ExchangeBatches", **DEV)
    assert batches.startswith("<BucketsIntermediate")


def test_the_chunker_has_its_rights_before_bedrock_can_call_it():
    made = template(**DEV)
    (policy,) = [k for k in resources(made, "AWS::IAM::Policy") if k.startswith("ChunkDocuments")]
    assert before(made, policy, the(made, "AWS::Bedrock::DataSource"))


def test_the_chunker_has_time_and_memory_for_large_documents():
    chunk = function("chunk-documents", **DEV)
    assert chunk["Handler"] == "lambdas.chunk_documents.handler.lambda_handler"
    assert (chunk["Timeout"], chunk["MemorySize"]) == (300, 1024)


def test_the_starter_has_all_the_time_that_a_function_may_have():
    start = function("start-ingestion", **DEV)
    assert start["Handler"] == "lambdas.start_ingestion.handler.lambda_handler"
    assert start["Timeout"] == 900
    assert int(trigger(**DEV)["ServiceTimeout"]) > start["Timeout"]


KEEPING = {
    "ReadUploadedCorpus": {"s3:GetObject"},
    "ListCorpus": {"s3:ListBucket"},
    "MirrorCorpus": {"s3:DeleteObject", "s3:GetObject", "s3:PutObject"},
    "RunJobs": {
        "bedrock:GetIngestionJob",
        "bedrock:ListIngestionJobs",
        "bedrock:StartIngestionJob",
        "bedrock:StopIngestionJob",
    },
}


def test_where_data_goes_with_the_stack_the_starter_may_empty_its_buckets():
    assert may(START, **DEV) == KEEPING | {
        "ListVersions": {"s3:ListBucketVersions"},
        "EmptyWithTheStack": {"s3:DeleteObjectVersion"},
    }
    assert trigger(**DEV)["EmptyOnDelete"] is True


def test_where_data_is_kept_the_starter_deletes_no_version_for_good():
    assert may(START, **PROD) == KEEPING | {"UseKey": {"kms:Decrypt", "kms:GenerateDataKey"}}
    assert trigger(**PROD)["EmptyOnDelete"] is False


def test_the_starter_reads_the_one_archive_and_runs_jobs_of_the_one_knowledge_base():
    (archive,) = on(START, "ReadUploadedCorpus", **DEV)
    key = trigger(**DEV)["AssetKey"]
    assert archive.endswith(f"/{key}")
    assert "*" not in archive
    base = the(template(**DEV), "AWS::Bedrock::KnowledgeBase")
    assert on(START, "RunJobs", **DEV) == [f"<{base}.KnowledgeBaseArn>"]


@pytest.mark.parametrize("role", [CHUNK, START])
def test_a_key_of_our_own_is_used_through_s3_only(role):
    use = statements(template(**PROD), role)["UseKey"]
    condition = use["Condition"]["StringEquals"]["kms:ViaService"]
    assert text(condition) == "s3.<AWS::Region>.amazonaws.com"


@pytest.mark.parametrize("role", [CHUNK, START])
def test_no_aws_managed_policy_is_attached(role):
    found = resources(template(**DEV), "AWS::IAM::Role")
    (properties,) = [each["Properties"] for key, each in found.items() if key.startswith(role)]
    assert "ManagedPolicyArns" not in properties


def test_the_starter_is_told_what_its_event_reader_wants():
    from lambdas.start_ingestion.event import read_request

    request = read_request(
        {
            "RequestType": "Create",
            "ResponseURL": "https://example.invalid/",
            "StackId": "stack",
            "RequestId": "request",
            "LogicalResourceId": "Ingestion",
            "ResourceProperties": {key: text(value) for key, value in trigger(**DEV).items()},
        }
    )
    assert request.properties().empty_on_delete


def test_ingestion_runs_on_the_alias_after_everything_that_it_needs():
    made = template(**DEV)
    assert text(trigger(**DEV)["ServiceToken"]).startswith("<StartIngestionStartLive")
    for kind in ("AWS::Bedrock::DataSource", "AWS::OpenSearchServerless::Index"):
        assert before(made, the(made, kind), the(made, CUSTOM))
    for name in ("StartIngestion", "ChunkDocuments"):
        (policy,) = [k for k in resources(made, "AWS::IAM::Policy") if k.startswith(name)]
        assert before(made, policy, the(made, CUSTOM))


def test_the_buckets_are_emptied_before_they_are_deleted():
    made = template(**DEV)
    for bucket in resources(made, "AWS::S3::Bucket"):
        assert before(made, bucket, the(made, CUSTOM))  # deletion goes the other way round


def test_a_new_version_of_the_chunker_ingests_again():
    made = template(**DEV)
    version = text(trigger(**DEV)["Chunker"])
    (alias,) = [
        each["Properties"]
        for key, each in resources(made, "AWS::Lambda::Alias").items()
        if key.startswith("ChunkDocuments")
    ]
    assert version == text(alias["FunctionVersion"])


def test_a_changed_document_ingests_again_and_a_hidden_file_does_not(tmp_path, monkeypatch):
    corpus = tmp_path / "corpus"
    shutil.copytree(ingestion.PROJECT / "knowledge-corpus", corpus)
    first = deployed(corpus, monkeypatch)
    (corpus / ".DS_Store").write_text("x")
    (corpus / "runbooks" / ".git").mkdir()
    (corpus / "runbooks" / ".git" / "HEAD").write_text("x")
    assert deployed(corpus, monkeypatch)["AssetKey"] == first["AssetKey"]

    (corpus / "runbooks" / "new.md").write_text("# New\n")
    assert deployed(corpus, monkeypatch)["AssetKey"] != first["AssetKey"]


def test_the_stack_tells_its_functions_and_how_to_ingest_by_hand():
    made = template(**DEV)
    assert stack(**DEV).chunk_function_name == "knowledge-rag-dev-chunk-documents"
    assert stack(**DEV).starter_function_name == "knowledge-rag-dev-start-ingestion"
    outputs = {key: text(each["Value"]) for key, each in made.to_json()["Outputs"].items()}
    base = the(made, "AWS::Bedrock::KnowledgeBase")
    source = the(made, "AWS::Bedrock::DataSource")
    assert outputs["IngestAgain"] == (
        f"aws bedrock-agent start-ingestion-job --knowledge-base-id <{base}.KnowledgeBaseId>"
        f" --data-source-id <{source}.DataSourceId> --region <AWS::Region>"
    )
    assert outputs["LastIngestion"] == f"<{the(made, CUSTOM)}.Summary>"
