"""The knowledge base, its data source and the role that Bedrock works in."""

import json

import pytest

from infra.buckets import BATCHES
from tests.infra.data import actions, before, only, resources, statements, template, text, the

DEV = {"preset": "dev"}
PROD = {"preset": "prod"}
BASE = "AWS::Bedrock::KnowledgeBase"
SOURCE = "AWS::Bedrock::DataSource"
ROLE = "KnowledgeBaseRole"


def role(**values):
    found = resources(template(**values), "AWS::IAM::Role")
    (logical,) = [key for key in found if key.startswith(ROLE)]
    return found[logical]["Properties"]


def bucket(name, **values):
    (logical,) = [
        key
        for key in resources(template(**values), "AWS::S3::Bucket")
        if key.startswith(f"Buckets{name}")
    ]
    return logical


def test_only_bedrock_for_this_accounts_knowledge_bases_takes_the_role():
    (trust,) = role(**DEV)["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "bedrock.amazonaws.com"}
    assert trust["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    assert text(trust["Condition"]["ArnLike"]["aws:SourceArn"]).endswith(
        ":bedrock:<AWS::Region>:<AWS::AccountId>:knowledge-base/*"
    )
    assert "ManagedPolicyArns" not in role(**DEV)


def test_the_role_may_do_exactly_what_ingestion_and_search_need():
    may = {name: actions(each) for name, each in statements(template(**DEV), ROLE).items()}
    assert may == {
        "Embed": {"bedrock:InvokeModel"},
        "ListCorpus": {"s3:ListBucket"},
        "ReadCorpus": {"s3:GetObject"},
        "ExchangeBatches": {"s3:GetObject", "s3:PutObject"},
        "Chunk": {"lambda:InvokeFunction"},
        "CallCollection": {"aoss:APIAccessAll"},
    }


def test_the_role_reaches_this_stacks_own_and_one_model():
    made = template(**DEV)
    on = {name: text(each["Resource"]) for name, each in statements(made, ROLE).items()}
    corpus, intermediate = bucket("Corpus", **DEV), bucket("Intermediate", **DEV)
    assert on["Embed"].endswith("::foundation-model/amazon.titan-embed-text-v2:0")
    assert on["ListCorpus"] == f"<{corpus}.Arn>"
    assert on["ReadCorpus"] == f"<{corpus}.Arn>/*"
    assert on["ExchangeBatches"] == f"<{intermediate}.Arn>/*"
    (alias,) = [k for k in resources(made, "AWS::Lambda::Alias") if k.startswith("ChunkDocuments")]
    assert on["Chunk"] == f"<{alias}>"
    collection = the(made, "AWS::OpenSearchServerless::Collection")
    assert on["CallCollection"] == f"<{collection}.Arn>"


@pytest.mark.parametrize("name", ["ListCorpus", "ReadCorpus", "ExchangeBatches"])
def test_a_bucket_that_another_account_took_over_is_not_used(name):
    statement = statements(template(**DEV), ROLE)[name]
    assert statement["Condition"] == {
        "StringEquals": {"aws:ResourceAccount": {"Ref": "AWS::AccountId"}}
    }


def test_a_key_of_our_own_is_used_through_s3_only():
    made = template(**PROD)
    use = statements(made, ROLE)["UseKey"]
    assert actions(use) == {"kms:Decrypt", "kms:GenerateDataKey"}
    assert text(use["Resource"]) == f"<{the(made, 'AWS::KMS::Key')}.Arn>"
    condition = use["Condition"]["StringEquals"]["kms:ViaService"]
    assert text(condition) == "s3.<AWS::Region>.amazonaws.com"


def test_it_is_a_vector_knowledge_base_over_the_stacks_index():
    made = template(**DEV)
    storage = only(made, BASE)["StorageConfiguration"]
    fields = storage["OpensearchServerlessConfiguration"]
    index = only(made, "AWS::OpenSearchServerless::Index")
    assert storage["Type"] == "OPENSEARCH_SERVERLESS"
    assert only(made, BASE)["KnowledgeBaseConfiguration"]["Type"] == "VECTOR"
    assert fields["VectorIndexName"] == index["IndexName"]
    assert set(fields["FieldMapping"].values()) <= set(index["Mappings"]["Properties"])


def test_a_model_that_chooses_is_told_the_dimension_of_the_index():
    configuration = only(template(**DEV), BASE)["KnowledgeBaseConfiguration"]
    told = configuration["VectorKnowledgeBaseConfiguration"]["EmbeddingModelConfiguration"]
    assert told == {
        "BedrockEmbeddingModelConfiguration": {"Dimensions": 1024, "EmbeddingDataType": "FLOAT32"}
    }


def test_a_model_with_one_dimension_is_told_none():
    made = template(**DEV, embedding_model="cohere.embed-english-v3")
    vector = only(made, BASE)["KnowledgeBaseConfiguration"]["VectorKnowledgeBaseConfiguration"]
    assert list(vector) == ["EmbeddingModelArn"]
    assert text(vector["EmbeddingModelArn"]).endswith("foundation-model/cohere.embed-english-v3")


def test_another_model_makes_another_knowledge_base():
    other = DEV | {"embedding_model": "cohere.embed-english-v3"}
    assert only(template(**DEV), BASE)["Name"] != only(template(**other), BASE)["Name"]


def test_documents_come_from_the_corpus_bucket_and_are_cut_by_our_function():
    source = only(template(**DEV), SOURCE)
    corpus = source["DataSourceConfiguration"]
    assert corpus["Type"] == "S3"
    assert text(corpus["S3Configuration"]["BucketArn"]) == f"<{bucket('Corpus', **DEV)}.Arn>"
    ingestion = source["VectorIngestionConfiguration"]
    assert ingestion["ChunkingConfiguration"] == {"ChunkingStrategy": "NONE"}
    (transformation,) = ingestion["CustomTransformationConfiguration"]["Transformations"]
    assert transformation["StepToApply"] == "POST_CHUNKING"
    function = transformation["TransformationFunction"]["TransformationLambdaConfiguration"]
    assert text(function["LambdaArn"]).startswith("<ChunkDocumentsChunkLive")
    storage = ingestion["CustomTransformationConfiguration"]["IntermediateStorage"]
    assert text(storage["S3Location"]["URI"]) == f"s3://<{bucket('Intermediate', **DEV)}>/{BATCHES}"


def test_a_data_source_can_be_deleted_when_its_vectors_are_gone_already():
    assert only(template(**DEV), SOURCE)["DataDeletionPolicy"] == "RETAIN"


@pytest.mark.parametrize("values", [DEV, PROD], ids=["dev", "prod"])
def test_the_knowledge_base_waits_for_its_index_and_all_its_rights(values):
    made = template(**values)
    base = the(made, BASE)
    assert before(made, the(made, "AWS::OpenSearchServerless::Index"), base)
    (call,) = [key for key in resources(made, "AWS::IAM::Policy") if key.startswith("StoreCall")]
    assert before(made, call, base)
    assert before(made, base, the(made, SOURCE))


def test_the_ids_are_published_as_parameters_and_not_as_exports():
    made = template(**DEV)
    published = {
        each["Properties"]["Name"]: text(each["Properties"]["Value"])
        for each in resources(made, "AWS::SSM::Parameter").values()
    }
    assert published == {
        "/knowledge-rag-dev/knowledge-base-id": f"<{the(made, BASE)}.KnowledgeBaseId>",
        "/knowledge-rag-dev/data-source-id": f"<{the(made, SOURCE)}.DataSourceId>",
    }
    assert "Export" not in json.dumps(made.to_json()["Outputs"])
