"""A deployment's name is all that a graph needs to ask it."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import unquote

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.deployment.retrieval import deployed
from knowledge_rag.orchestrator.budget import Budget
from knowledge_rag.orchestrator.node import knowledge_rag_node

ALIAS = "arn:aws:lambda:us-east-1:123456789012:function:knowledge-rag-dev-retrieve-knowledge:live"


@pytest.fixture
def asked(account, aws):
    """A deployment whose function finds nothing; the requests that it got."""
    requests = []

    def answer(path, body):
        assert ALIAS in unquote(path)
        requests.append(json.loads(body))
        return {"results": [], "status": "no_match"}

    account.deploy("knowledge-rag-dev-service", RetrieveFunctionArn=ALIAS)
    account.played.play("lambda", "Invoke", answer)
    aws()
    return requests


def test_a_query_goes_to_the_function_that_the_stack_names(asked):
    retrieval = deployed("knowledge-rag-dev", budget=Budget(seconds=60.0))
    try:
        outcome = asyncio.run(retrieval.retrieve(Query("q")))
    finally:
        retrieval.close()
    assert outcome.status is Status.NO_MATCH
    assert [each["query"] for each in asked] == ["q"]


def test_it_is_what_the_node_takes(asked):
    retrieval = deployed("knowledge-rag-dev", region="us-east-1", budget=Budget(seconds=60.0))
    try:
        state = {"signals": [{"message": "queue is growing"}]}
        result = asyncio.run(knowledge_rag_node(retrieval)(state))
    finally:
        retrieval.close()
    assert result["agent_outputs"]["knowledge-rag"]["status"] == "no_match"
    assert asked


@pytest.mark.usefixtures("asked")
def test_a_deployment_that_is_none_is_told_with_its_region():
    with pytest.raises(InvalidRequest, match=r"no stack other-service .* in us-east-1"):
        deployed("other")
    with pytest.raises(InvalidRequest, match="a deployment's name has"):
        deployed("No Name")


def test_no_region_is_told(monkeypatch, aws):
    aws()
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(InvalidRequest, match="no region is set"):
        deployed("knowledge-rag-dev")
