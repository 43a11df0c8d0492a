"""The MCP server over HTTP on some runbooks: the real function, the real model, the SDK's own client."""

from __future__ import annotations

import asyncio
import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from knowledge_rag.core.retrieval import Query
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase, KnowledgeBaseDocuments
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.mcp_server.server import create_server
from knowledge_rag.orchestrator.retrieval import Budget
from tests.support.local import RUNBOOKS, minilm, write_files
from tests.support.mcp_served import served, talking

QUESTION = "How to handle RDS failover?"
SEARCH = {"query": QUESTION}
AMPLE = Budget(30)


@pytest.fixture(scope="module", name="corpus")
def corpus_fixture(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("mcp") / "corpus", RUNBOOKS)


@pytest.fixture(scope="module", name="knowledge_base")
def knowledge_base_fixture(corpus):
    path = corpus.parent / "knowledge.kb"
    ingest(corpus, path, embedder=minilm())
    with KnowledgeBase(path, minilm()) as opened:
        yield opened


@pytest.fixture(scope="module", name="url")
def url_fixture(knowledge_base):
    documents = KnowledgeBaseDocuments(knowledge_base.path)
    with local_retrieval(knowledge_base, budget=AMPLE) as retrieval:
        asyncio.run(retrieval.retrieve(Query("warm up")))
        with served(create_server(retrieval, documents)) as address:
            yield address


@pytest.fixture(params=["legacy", "auto"], name="client")
def client_fixture(request, url):
    """The SDK's own client, with the protocol's sessions and without."""
    with talking(url, request.param) as talk:
        yield talk


def posted(url, body, **headers):
    """Send one request by hand; gives status, headers and body."""
    address = urlsplit(url)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=30)) as made:
        made.request("POST", address.path, body, usual | headers)
        answer = made.getresponse()
        return answer.status, answer.headers, answer.read()


INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    }
)
