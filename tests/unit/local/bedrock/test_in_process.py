"""The answers and errors of the wire, without the wire."""

from __future__ import annotations

import logging
import time

import boto3
import pytest
from botocore.exceptions import ClientError

from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.local.action_group import action_group_of
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID, InProcessBedrock
from knowledge_rag.local.bedrock.server import LocalBedrock
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase

FILTER = {"filter": {"equals": {"key": "document_type", "value": "postmortem"}}}
REQUEST = {"knowledgeBaseId": KNOWLEDGE_BASE_ID, "retrievalQuery": {"text": "failover"}}
FILTERED = {**REQUEST, "retrievalConfiguration": {"vectorSearchConfiguration": FILTER}}
WRONG = {"filter": {"unknown": {"key": "a", "value": "b"}}}
REFUSED = {**REQUEST, "retrievalConfiguration": {"vectorSearchConfiguration": WRONG}}


@pytest.fixture
def opened(corpus, kb_path, hashes):
    ingest(corpus, kb_path, embedder=hashes)
    with KnowledgeBase(kb_path, hashes) as knowledge_base:
        yield knowledge_base


def asked(knowledge_base, request, seconds=60):
    with Deadline.after(seconds).applied():
        return InProcessBedrock(knowledge_base).api.retrieve(**request)


@pytest.mark.parametrize("request_", [REQUEST, FILTERED])
def test_the_results_are_those_that_boto3_reads_from_the_wire(opened, request_):
    with LocalBedrock(opened) as bedrock:
        client = boto3.client(
            "bedrock-agent-runtime",
            region_name="us-east-1",
            endpoint_url=bedrock.endpoint_url,
            aws_access_key_id="local",
            aws_secret_access_key="local",
        )
        results = client.retrieve(**request_)["retrievalResults"]
    assert asked(opened, request_)["retrievalResults"] == results != []


def test_a_request_that_cannot_be_honoured_is_the_services_error(opened):
    with pytest.raises(ClientError, match="ValidationException") as raised:
        asked(opened, REFUSED)
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_defect_is_an_internal_error_that_tells_nothing(opened, caplog):
    def broken(*_args, **_kwargs):
        raise RuntimeError("secret detail")

    opened.search = broken
    with caplog.at_level(logging.ERROR), pytest.raises(ClientError) as raised:
        asked(opened, REQUEST)
    assert raised.value.response == {
        "Error": {"Code": "InternalServerException", "Message": "Internal server error"},
        "ResponseMetadata": {"HTTPStatusCode": 500},
    }
    (record,) = caplog.records
    assert record.getMessage().startswith("local retrieve failed: RuntimeError: secret detail (")


def test_a_search_is_waited_for_until_the_deadline(opened):
    def slow(*_args, **_kwargs):
        time.sleep(0.5)
        return []

    opened.search = slow
    with pytest.raises(DeadlineExceeded, match="took too long"):
        asked(opened, REQUEST, seconds=0.05)
    assert asked(opened, REQUEST) == {"retrievalResults": []}


def test_a_knowledge_base_that_is_opened_within_another_ones_block_gives_it_back(
    opened, tmp_path, hashes
):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tills.md").write_text("# Tills\n\n1. Failover of the tills.\n")
    ingest(tmp_path / "other", tmp_path / "other.kb", embedder=hashes)

    def files(function):
        answer = function.retrieve("failover")
        return {it["citation"]["source_file"] for it in answer.body["results"]}

    with action_group_of(opened) as outer:
        before = files(outer)
        with KnowledgeBase(tmp_path / "other.kb", hashes) as other, action_group_of(other) as inner:
            assert files(inner) == {"tills.md"}
        assert files(outer) == before
