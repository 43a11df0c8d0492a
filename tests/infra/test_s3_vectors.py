"""The vector bucket and its index."""

import pytest

from tests.infra.data import actions, only, resources, stack, statements, template, text, the

DEV = {"preset": "dev", "vector_store": "s3-vectors", "search_type": "SEMANTIC"}
KEYED = DEV | {"customer_managed_key": "true"}


def test_the_index_holds_vectors_of_the_model_and_filters_on_metadata_only():
    index = only(template(**DEV), "AWS::S3Vectors::Index")
    assert (index["DataType"], index["Dimension"]) == ("float32", 1024)
    assert index["DistanceMetric"] == "cosine"
    assert index["MetadataConfiguration"] == {
        "NonFilterableMetadataKeys": ["AMAZON_BEDROCK_TEXT", "AMAZON_BEDROCK_METADATA"]
    }


def test_the_knowledge_base_stores_in_the_index():
    made = template(**DEV)
    index = the(made, "AWS::S3Vectors::Index")
    assert only(made, "AWS::Bedrock::KnowledgeBase")["StorageConfiguration"] == {
        "Type": "S3_VECTORS",
        "S3VectorsConfiguration": {"IndexArn": {"Fn::GetAtt": [index, "IndexArn"]}},
    }


def test_the_knowledge_bases_role_uses_this_index_and_no_collection():
    made = template(**DEV)
    use = statements(made, "KnowledgeBaseRole")["UseVectors"]
    assert actions(use) == {
        "s3vectors:DeleteVectors",
        "s3vectors:GetIndex",
        "s3vectors:GetVectors",
        "s3vectors:PutVectors",
        "s3vectors:QueryVectors",
    }
    assert text(use["Resource"]) == f"<{the(made, 'AWS::S3Vectors::Index')}.IndexArn>"
    assert "aoss" not in str(made.to_json())
    assert stack(**DEV).collection_name == ""


def test_without_a_key_of_our_own_the_service_encrypts_under_its_own():
    assert "EncryptionConfiguration" not in only(template(**DEV), "AWS::S3Vectors::VectorBucket")


def test_with_a_key_of_our_own_vectors_are_under_it_and_the_service_can_index_them():
    made = template(**KEYED)
    (key,) = resources(made, "AWS::KMS::Key")
    bucket = only(made, "AWS::S3Vectors::VectorBucket")
    assert bucket["EncryptionConfiguration"] == {
        "SseType": "aws:kms",
        "KmsKeyArn": {"Fn::GetAtt": [key, "Arn"]},
    }
    (indexing,) = [
        each
        for each in only(made, "AWS::KMS::Key")["KeyPolicy"]["Statement"]
        if each.get("Sid") == "AllowVectorIndexing"
    ]
    assert indexing["Principal"] == {"Service": "indexing.s3vectors.amazonaws.com"}
    assert indexing["Action"] == "kms:Decrypt"
    assert set(indexing["Condition"]) == {"StringEquals", "ArnLike"}


@pytest.mark.parametrize("change", [{"embedding_dimension": "256"}])
def test_what_replaces_the_index_renames_it_and_the_knowledge_base(change):
    kinds = ("AWS::S3Vectors::Index", "IndexName"), ("AWS::Bedrock::KnowledgeBase", "Name")
    for kind, name in kinds:
        assert only(template(**DEV), kind)[name] != only(template(**DEV, **change), kind)[name]
