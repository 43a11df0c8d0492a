"""An unmodified boto3 client, and an unmodified langchain-aws retriever, against the local server."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator
from langchain_aws import AmazonKnowledgeBasesRetriever

from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID, operation_model
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.bedrock.wire import service_model
from tests.support.knowledge_bases import knowledge_base_of
from tests.support.local import RUNBOOKS, minilm

QUERY = {"text": "How to handle RDS failover?"}
NOTES = {f"notes/{n}.md": f"# Note {n}\n\nNothing to do with it.\n" for n in range(4)}
ARN = f"arn:aws:bedrock:eu-central-1:123456789012:knowledge-base/{KNOWLEDGE_BASE_ID}"


@pytest.fixture(scope="module")
def bedrock(tmp_path_factory):
    files, folder = {**RUNBOOKS, **NOTES}, tmp_path_factory.mktemp("wire")
    with knowledge_base_of(files, folder, minilm()) as opened, LocalBedrock(opened) as running:
        yield running


def vector_search(**search):
    return {"vectorSearchConfiguration": search}


def retrieve(client, knowledge_base_id=KNOWLEDGE_BASE_ID, query=QUERY, **extra):
    return client.retrieve(knowledgeBaseId=knowledge_base_id, retrievalQuery=query, **extra)


def test_a_result_has_the_services_form(client):
    response = retrieve(client)
    assert response["ResponseMetadata"]["RequestId"]
    result = response["retrievalResults"][0]
    assert result["content"]["type"] == "TEXT"
    source_file = result["metadata"]["source_file"]
    uri = f"s3://local-knowledge-corpus/{source_file}"
    assert result["location"] == {"type": "S3", "s3Location": {"uri": uri}}
    assert result["metadata"]["x-amz-bedrock-kb-source-uri"] == uri
    assert result["metadata"]["x-amz-bedrock-kb-chunk-id"] == result["metadata"]["chunk_id"]
    assert result["metadata"]["x-amz-bedrock-kb-data-source-id"]
    for name in ("start_line", "end_line", "context_length"):  # numbers come back as doubles
        assert isinstance(result["metadata"][name], float)
    assert 0 <= result["score"] <= 1


def test_a_response_fits_the_services_model(client):
    response = retrieve(client)
    del response["ResponseMetadata"]
    report = ParamValidator().validate(response, operation_model().output_shape)
    assert report.generate_report() == ""


def test_five_results_unless_asked_otherwise_and_best_first(client):
    everything = retrieve(client, retrievalConfiguration=vector_search(numberOfResults=100))
    scores = [result["score"] for result in everything["retrievalResults"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) > 5
    assert len(retrieve(client)["retrievalResults"]) == 5
    one = retrieve(client, retrievalConfiguration=vector_search(numberOfResults=1))
    assert one["retrievalResults"] == everything["retrievalResults"][:1]


@pytest.mark.parametrize("search_type", ["HYBRID", "SEMANTIC"])
def test_both_search_types(client, search_type):
    configuration = vector_search(overrideSearchType=search_type)
    (best, *_) = retrieve(client, retrievalConfiguration=configuration)["retrievalResults"]
    assert "rds" in best["metadata"]["source_file"]


@pytest.mark.parametrize(
    ("wanted", "sources"),
    [
        ({"equals": {"key": "service", "value": "lambda"}}, {"runbooks/lambda-throttling.md"}),
        ({"equals": {"key": "document_type", "value": "web"}}, set()),
        ({"equals": {"key": "source_file", "value": "notes/1.md"}}, {"notes/1.md"}),
        ({"equals": {"key": "source_file", "value": "notes/1"}}, set()),
        (
            {"notEquals": {"key": "service", "value": "rds"}},
            {"runbooks/lambda-throttling.md", *NOTES},
        ),
        (
            {
                "andAll": [
                    {"in": {"key": "service", "value": ["rds", "ecs"]}},
                    {"startsWith": {"key": "source_file", "value": "postmortems/"}},
                ]
            },
            {"postmortems/2024-01-rds-incident.md"},
        ),
    ],
)
def test_filters(client, wanted, sources):
    configuration = vector_search(filter=wanted, numberOfResults=100)
    results = retrieve(client, retrievalConfiguration=configuration)["retrievalResults"]
    assert {result["metadata"]["source_file"] for result in results} == sources


def test_a_knowledge_base_may_be_named_by_its_arn(client):
    assert retrieve(client, ARN)["retrievalResults"]


@pytest.mark.parametrize("name", ["ABCDEFGHIJ", ARN[:-10] + "ABCDEFGHIJ"])
def test_another_knowledge_base_does_not_exist(client, name):
    with pytest.raises(client.exceptions.ResourceNotFoundException) as failure:
        retrieve(client, name)
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    assert failure.value.response["Error"]["Message"] == (
        f"Knowledge Base with id {name} does not exist"
    )


RERANKING = {
    "type": "BEDROCK_RERANKING_MODEL",
    "bedrockRerankingConfiguration": {
        "modelConfiguration": {"modelArn": "arn:aws:bedrock:us-east-1::foundation-model/rerank"}
    },
}
INVALID = {
    "query-too-long": ({"query": {"text": "x" * 20_001}}, "length less than or equal to 20000"),
    "query-blank": ({"query": {"text": " \n"}}, "must not be blank"),
    "query-empty": ({"query": {"text": ""}}, "must not be blank"),
    "query-absent": ({"query": {}}, "must not be blank"),
    "query-image": (
        {"query": {"image": {"format": "png", "inlineContent": b"x"}}},
        "this knowledge base has only text",
    ),
    "query-type": ({"query": {"text": "a", "type": "AUDIO"}}, "enum value set: [TEXT, IMAGE]"),
    "results-101": (vector_search(numberOfResults=101), "value less than or equal to 100"),
    "search-type": (
        vector_search(overrideSearchType="VECTOR"),
        "Value 'VECTOR' at 'retrievalConfiguration.vectorSearchConfiguration.overrideSearchType'",
    ),
    "search-type-set": (
        vector_search(overrideSearchType="hybrid"),
        "failed to satisfy constraint: Member must satisfy enum value set: [HYBRID, SEMANTIC]",
    ),
    "id-pattern": ({"knowledge_base_id": "bad id bad"}, "regular expression pattern"),
    "id-long": ({"knowledge_base_id": "A" * 11}, "regular expression pattern"),
    "filter-operand": (
        vector_search(filter={"greaterThan": {"key": "a", "value": "one"}}),
        "vectorSearchConfiguration.filter.greaterThan.value: must be a number",
    ),
    "filter-list": (
        vector_search(filter={"in": {"key": "a", "value": ["x"] * 10_000}}),
        "filter.in.value: must be a list of 1 to 1000 strings, numbers or booleans",
    ),
    "body": (
        vector_search(filter={"in": {"key": "a", "value": ["x"] * 1_000_000}}),
        "Request body exceeds 1048576 bytes",
    ),
    "next-token": ({"nextToken": "abc"}, "nextToken is not valid"),
    "next-token-pattern": ({"nextToken": "a b"}, "regular expression pattern"),
    "guardrail": (
        {"guardrailConfiguration": {"guardrailId": "abc", "guardrailVersion": "1"}},
        "guardrailConfiguration needs a guardrail",
    ),
    "reranking": (vector_search(rerankingConfiguration=RERANKING), "needs a model"),
    "managed": (
        {"retrievalConfiguration": {"managedSearchConfiguration": {"numberOfResults": 3}}},
        "managedSearchConfiguration is for managed knowledge bases",
    ),
}
UNCHECKED = {
    "results-0": (vector_search(numberOfResults=0), "value greater than or equal to 1"),
    "results-text": (vector_search(numberOfResults="five"), "must be of type integer"),
    "results-true": (vector_search(numberOfResults=True), "must be of type integer"),
    "results-half": (vector_search(numberOfResults=2.5), "must be of type integer"),
    "id-short": ({"knowledge_base_id": "ABC"}, "length greater than or equal to 10"),
    "query-null": ({"query": None}, "Value at 'retrievalQuery' failed to satisfy constraint"),
    "query-list": ({"query": {"text": ["a"]}}, "must be of type string"),
    "and-all-of-one": (
        vector_search(filter={"andAll": [{"equals": {"key": "a", "value": 1}}]}),
        "filter.andAll: takes a list of at least 2 filters",
    ),
    "two-operators": (
        vector_search(
            filter={"equals": {"key": "a", "value": 1}, "in": {"key": "a", "value": [1]}}
        ),
        "a filter is an object with exactly one operator",
    ),
}


def arguments(change):
    if "vectorSearchConfiguration" in change:
        return {"retrievalConfiguration": change}
    return change


def assert_invalid(client, change, message):
    with pytest.raises(client.exceptions.ValidationException) as failure:
        retrieve(client, **arguments(change))
    assert failure.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert message in failure.value.response["Error"]["Message"]


@pytest.mark.parametrize(("change", "message"), INVALID.values(), ids=INVALID)
def test_what_botocore_lets_through_the_server_refuses(client, change, message):
    assert_invalid(client, change, message)


@pytest.mark.parametrize(("change", "message"), UNCHECKED.values(), ids=UNCHECKED)
def test_what_other_clients_may_send_the_server_refuses_too(unchecked, change, message):
    assert_invalid(unchecked, change, message)


def test_every_broken_constraint_is_named_at_once(client):
    with pytest.raises(ClientError) as failure:
        retrieve(
            client,
            query={"text": "x" * 20_001},
            retrievalConfiguration=vector_search(numberOfResults=101),
        )
    assert failure.value.response["Error"]["Message"].startswith("2 validation errors detected: ")


@pytest.mark.parametrize("text", ["x" * 20_000, '"', "AND OR NOT NEAR(", "';--", "💥", "a\0b"])
def test_any_other_text_is_a_valid_question(client, text):
    assert retrieve(client, query={"text": text})["retrievalResults"]


@pytest.mark.usefixtures("aws_environment")
def test_langchains_own_retriever_works_unmodified(bedrock):
    retriever = AmazonKnowledgeBasesRetriever(
        knowledge_base_id=KNOWLEDGE_BASE_ID,
        retrieval_config=vector_search(numberOfResults=3, overrideSearchType="HYBRID"),
        endpoint_url=bedrock.endpoint_url,
        region_name="us-east-1",
    )
    documents = retriever.invoke(QUERY["text"])
    retriever.client.close()
    assert len(documents) == 3
    assert "rds" in documents[0].metadata["source_metadata"]["source_file"]
    assert documents[0].metadata["score"] >= documents[1].metadata["score"]


def test_a_profile_of_the_users_that_does_not_exist_is_no_business_of_the_servers(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    operation_model.cache_clear()
    service_model.cache_clear()
    assert operation_model().name == "Retrieve"
