"""The collection, its policies and its index."""

import itertools
import json

import aws_cdk as cdk
import pytest
from aws_cdk import aws_iam as iam

from infra.vector_store import PLAIN_TEXT_FIELDS, OpenSearchStore
from knowledge_rag.core.metadata import FRONT_MATTER_FIELDS, to_metadata
from tests.infra.data import before, only, resources, settings, stack, template, text, the

DEV = {"preset": "dev"}
PROD = {"preset": "prod"}
CLASSIC = {"preset": "dev", "generation": "classic"}
PRIVATE = {"preset": "dev", "network": "private"}
OSS = "AWS::OpenSearchServerless::"


def policy(kind, **values):
    found = [
        each["Properties"]
        for each in resources(template(**values), f"{OSS}SecurityPolicy").values()
        if each["Properties"]["Type"] == kind
    ]
    (properties,) = found
    return json.loads(text(properties["Policy"]))


def access(**values):
    return json.loads(text(only(template(**values), f"{OSS}AccessPolicy")["Policy"]))


def index(**values):
    return only(template(**values), f"{OSS}Index")


def collection(**values):
    return only(template(**values), f"{OSS}Collection")


def test_the_next_generation_lives_in_a_group_that_bounds_its_capacity():
    group = only(template(**PROD), f"{OSS}CollectionGroup")
    assert collection(**PROD)["CollectionGroupName"] == group["Name"]
    assert collection(**PROD)["StandbyReplicas"] == group["StandbyReplicas"] == "ENABLED"
    assert group["Generation"] == "NEXTGEN"
    assert group["CapacityLimits"] == {
        "MinIndexingCapacityInOcu": 0,
        "MaxIndexingCapacityInOcu": 4,
        "MinSearchCapacityInOcu": 1,
        "MaxSearchCapacityInOcu": 4,
    }


def test_in_dev_the_next_generation_sleeps_when_idle():
    limits = only(template(**DEV), f"{OSS}CollectionGroup")["CapacityLimits"]
    assert limits["MinSearchCapacityInOcu"] == limits["MinIndexingCapacityInOcu"] == 0


@pytest.mark.parametrize(("standby", "replicas"), [("true", "ENABLED"), ("false", "DISABLED")])
def test_a_classic_collection_has_no_group_and_its_replicas_by_setting(standby, replicas):
    values = CLASSIC | {"standby_replicas": standby}
    assert resources(template(**values), f"{OSS}CollectionGroup") == {}
    assert collection(**values)["StandbyReplicas"] == replicas


def test_encryption_is_under_awss_key_or_our_own():
    assert policy("encryption", **DEV)["AWSOwnedKey"] is True
    (key,) = resources(template(**PROD), "AWS::KMS::Key")
    assert policy("encryption", **PROD)["KmsARN"] == f"<{key}.Arn>"
    assert "AWSOwnedKey" not in policy("encryption", **PROD)


@pytest.mark.parametrize("kind", ["encryption", "network"])
def test_policies_name_this_collection_and_nothing_else(kind):
    content = policy(kind, **DEV)
    (rule,) = content["Rules"] if kind == "encryption" else content[0]["Rules"]
    name = collection(**DEV)["Name"]
    assert rule == {"ResourceType": "collection", "Resource": [f"collection/{name}"]}


def test_a_public_endpoint_is_one_without_a_dashboard():
    (rule,) = policy("network", **DEV)
    assert rule["AllowFromPublic"] is True
    assert {each["ResourceType"] for each in rule["Rules"]} == {"collection"}


def test_a_private_endpoint_lets_in_bedrock_alone():
    (rule,) = policy("network", **PRIVATE)
    assert rule["AllowFromPublic"] is False
    assert rule["SourceServices"] == ["bedrock.amazonaws.com"]
    assert "SourceVPCEs" not in rule


def test_the_knowledge_base_reads_and_writes_its_one_index():
    knowledge_base, _ = access(**DEV)
    (rule,) = knowledge_base["Rules"]
    name = collection(**DEV)["Name"]
    assert rule["Resource"] == [f"index/{name}/{index(**DEV)['IndexName']}"]
    assert rule["Permission"] == ["aoss:DescribeIndex", "aoss:ReadDocument", "aoss:WriteDocument"]
    (principal,) = knowledge_base["Principal"]
    assert principal.startswith("<KnowledgeBaseRole")


def test_the_deployment_makes_and_replaces_indexes_and_reads_no_document():
    _, deployment = access(**DEV)
    (rule,) = deployment["Rules"]
    assert rule["Resource"] == [f"index/{collection(**DEV)['Name']}/knowledge-*"]
    assert sorted(rule["Permission"]) == [
        "aoss:CreateIndex",
        "aoss:DeleteIndex",
        "aoss:DescribeIndex",
        "aoss:UpdateIndex",
    ]
    (principal,) = deployment["Principal"]
    assert "cfn-exec-role" in principal


def test_the_index_holds_vectors_of_the_model_and_text_that_words_are_found_in():
    fields = index(**DEV)["Mappings"]["Properties"]
    assert fields["embedding"] == {
        "Type": "knn_vector",
        "Dimension": 1024,
        "Method": {
            "Name": "hnsw",
            "Engine": "faiss",
            "SpaceType": "l2",
            "Parameters": {"EfConstruction": 512, "M": 16},
        },
    }
    assert fields["AMAZON_BEDROCK_TEXT"] == {"Type": "text", "Index": True}
    assert fields["AMAZON_BEDROCK_METADATA"] == {"Type": "text", "Index": False}
    assert index(**DEV)["Settings"] == {"Index": {"Knn": True}}


def test_the_dimension_is_that_of_the_settings():
    fields = index(**DEV, embedding_dimension="256")["Mappings"]["Properties"]
    assert fields["embedding"]["Dimension"] == 256


def test_what_may_read_like_a_date_is_declared_as_text():
    fields = index(**DEV)["Mappings"]["Properties"]
    for name in PLAIN_TEXT_FIELDS:
        assert fields[name] == {"Type": "text", "Index": True}


def test_declared_fields_are_metadata_that_chunks_really_carry():
    from knowledge_rag.core.chunking import chunk_text
    from knowledge_rag.core.documents import read_document

    document, content = read_document("a.md", b"# 2026-01-15\n\ntext\n")
    (chunk,) = chunk_text(document, content)
    assert set(PLAIN_TEXT_FIELDS) <= {*to_metadata(chunk), *FRONT_MATTER_FIELDS}


def test_rights_come_first_then_the_collection_then_the_index():
    made = template(**DEV)
    order = [f"{OSS}AccessPolicy", f"{OSS}Collection", f"{OSS}Index", "AWS::Bedrock::KnowledgeBase"]
    for early, late in itertools.pairwise(order):
        assert before(made, the(made, early), the(made, late)), (early, late)
    for security in resources(made, f"{OSS}SecurityPolicy"):
        assert before(made, security, the(made, f"{OSS}Collection"))


@pytest.mark.parametrize(
    "change",
    [{"generation": "classic"}, {"customer_managed_key": "true"}],
    ids=lambda change: next(iter(change)),
)
def test_what_replaces_a_collection_renames_it(change):
    assert collection(**DEV)["Name"] != collection(**DEV, **change)["Name"]


def test_what_replaces_an_index_renames_it_and_the_knowledge_base():
    other = DEV | {"embedding_dimension": "512"}
    assert index(**DEV)["IndexName"] != index(**other)["IndexName"]
    names = {only(template(**v), "AWS::Bedrock::KnowledgeBase")["Name"] for v in (DEV, other)}
    assert len(names) == 2
    assert collection(**DEV)["Name"] == collection(**other)["Name"]


def test_names_stay_within_the_services_limits():
    values = DEV | {"name": "a" * 20}
    assert len(collection(**values)["Name"]) <= 28
    for kind in ("SecurityPolicy", "AccessPolicy", "CollectionGroup"):
        for found in resources(template(**values), OSS + kind).values():
            assert 3 <= len(found["Properties"]["Name"]) <= 32


def test_a_stack_that_nobody_deploys_by_name_is_refused():
    app = cdk.App()
    bare = cdk.Stack(app, "Bare", synthesizer=cdk.LegacyStackSynthesizer())
    store = OpenSearchStore(bare, "Store", settings=settings())
    role = iam.Role(bare, "Role", assumed_by=iam.ServicePrincipal("bedrock.amazonaws.com"))
    with pytest.raises(ValueError, match="default synthesizer"):
        store.open_to(role)


def test_the_stack_tells_its_collection():
    assert stack(**DEV).collection_name == collection(**DEV)["Name"]
