from __future__ import annotations

import http.client
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from knowledge_rag.local.errors import ServerFailed
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.retrieve_operation import KNOWLEDGE_BASE_ID
from knowledge_rag.local.server import LOOPBACK, LocalBedrock
from tests.support.local import PROJECT, WordHashes

PATH = f"/knowledgebases/{KNOWLEDGE_BASE_ID}/retrieve"
QUERY = {"retrievalQuery": {"text": "failover"}}


@pytest.fixture
def opened(corpus, kb_path, hashes):
    ingest(corpus, kb_path, embedder=hashes)
    with KnowledgeBase(kb_path, hashes) as knowledge_base:
        yield knowledge_base


@pytest.fixture
def connection(opened):
    with LocalBedrock(opened) as bedrock:
        port = int(bedrock.endpoint_url.rpartition(":")[2])
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
        yield connection
        connection.close()


def post(connection, body, path=PATH, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body)
    connection.request("POST", path, data, {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    return response, response.read()


def test_one_connection_serves_many_requests_without_delay(connection):
    post(connection, QUERY)
    first = connection.sock
    started = time.monotonic()
    for _ in range(20):
        response, body = post(connection, QUERY)
        assert response.status == 200
        assert json.loads(body)["retrievalResults"]
    assert connection.sock is first
    # with Nagle's algorithm on, each of the twenty waits 40 ms
    assert time.monotonic() - started < 0.6


def test_each_response_has_its_own_request_id(connection):
    ids = {post(connection, QUERY)[0].headers["x-amzn-RequestId"] for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "POST"])
def test_another_operation_is_unknown(connection, method):
    path = PATH if method != "POST" else f"/knowledgebases/{KNOWLEDGE_BASE_ID}/retrieveAndGenerate"
    connection.request(method, path, "{}")
    response = connection.getresponse()
    assert response.status == 404
    assert response.headers["x-amzn-ErrorType"] == "UnknownOperationException"
    assert json.loads(response.read()) == {"message": f"Unknown operation: {method} {path}"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Request body is not valid JSON"),
        (b"{", "Request body is not valid JSON"),
        (b"\xff", "Request body is not valid JSON"),
        (b"[" * 100_000, "Request body is not valid JSON"),
        (b"[]", "Request body is not a JSON object"),
        (b'"x"', "Request body is not a JSON object"),
        (b" " * (8 * 1024 * 1024 + 1), "Request body exceeds 8388608 bytes"),
    ],
    ids=["empty", "cut", "not-utf8", "deep", "list", "string", "huge"],
)
def test_a_body_that_is_no_request_is_refused(connection, body, message):
    response, answer = post(connection, body)
    assert response.status == 400
    assert response.headers["x-amzn-ErrorType"] == "ValidationException"
    assert json.loads(answer) == {"message": message}


def test_a_member_that_the_model_does_not_know_is_refused(connection):
    response, body = post(connection, {**QUERY, "numberOfResults": 3})
    assert response.status == 400
    assert json.loads(body)["message"] == (
        "1 validation error detected: Value at 'numberOfResults' failed to satisfy constraint: "
        "Member is not known to this operation"
    )


@pytest.mark.parametrize(
    ("query", "search", "where", "constraint"),
    [
        (
            {"image": {"format": "png", "inlineContent": "%"}},
            {},
            "retrievalQuery.image.inlineContent",
            "Member must be base64",
        ),
        (
            {"image": {"format": "png", "inlineContent": ""}},
            {},
            "retrievalQuery.image.inlineContent",
            "Member must have length greater than or equal to 1",
        ),
        (
            {"text": "a"},
            {"rerankingConfiguration": {"type": "NONE"}},
            "rerankingConfiguration.type",
            "Member must satisfy enum value set: [BEDROCK_RERANKING_MODEL]",
        ),
        (
            {"text": "a"},
            {"implicitFilterConfiguration": {"modelArn": "m", "metadataAttributes": []}},
            "implicitFilterConfiguration.metadataAttributes",
            "Member must have length greater than or equal to 1",
        ),
        (
            {"text": "a"},
            {"implicitFilterConfiguration": {"modelArn": "m", "metadataAttributes": [{}]}},
            "metadataAttributes.1.member.key",
            "Member must not be null",
        ),
    ],
    ids=["base64", "empty-image", "enum", "empty-list", "list-member"],
)
def test_every_part_of_the_model_is_enforced(connection, query, search, where, constraint):
    configuration = {"vectorSearchConfiguration": search}
    response, body = post(
        connection, {"retrievalQuery": query, "retrievalConfiguration": configuration}
    )
    assert response.status == 400
    expected = f"{where}' failed to satisfy constraint: {constraint}"
    assert expected in json.loads(body)["message"]


def test_a_page_whose_name_was_made_to_point_here_gets_no_answer(connection):
    assert post(connection, QUERY, Host="runbooks.example.com")[0].status == 400
    assert post(connection, QUERY, Host="localhost:8080")[0].status == 200


def test_text_that_is_no_unicode_is_no_reason_to_fail(connection):
    response, _ = post(connection, b'{"retrievalQuery": {"text": "disk \\ud800 full"}}')
    assert response.status == 200


def test_a_defect_is_an_internal_server_error_that_tells_nothing(connection, opened, caplog):
    def broken(*_args, **_kwargs):
        raise RuntimeError("secret detail")

    opened.search = broken
    with caplog.at_level(logging.ERROR):
        response, body = post(connection, QUERY)
    assert response.status == 500
    assert response.headers["x-amzn-ErrorType"] == "InternalServerException"
    assert json.loads(body) == {"message": "Internal server error"}
    assert "secret detail" in caplog.text


def test_a_taken_port_is_named(opened):
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerFailed, match=rf"can't listen on 127\.0\.0\.1:{port}: Address"):
            LocalBedrock(opened, port=port).__enter__()
    with pytest.raises(ServerFailed, match="can't listen on"):
        LocalBedrock(opened, port=99999).__enter__()


def test_leaving_frees_the_port_and_ends_the_thread_even_with_a_connection_open(opened):
    with LocalBedrock(opened) as bedrock:
        port = int(bedrock.endpoint_url.rpartition(":")[2])
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
        post(connection, QUERY)
    assert "local-bedrock" not in {thread.name for thread in threading.enumerate()}
    with LocalBedrock(opened, port=port):
        pass
    connection.close()


def test_serves_in_the_foreground_until_told_to_stop(corpus, kb_path):
    ingest(corpus, kb_path, embedder=WordHashes())
    program = (
        "import sys; from pathlib import Path\n"
        "from knowledge_rag.local.knowledge_base import KnowledgeBase\n"
        "from knowledge_rag.local.server import serve\n"
        "from tests.support.local import WordHashes\n"
        "with KnowledgeBase(Path(sys.argv[1]), WordHashes()) as knowledge_base:\n"
        "    serve(knowledge_base, on_ready=lambda url: print(url, flush=True))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "error::ResourceWarning", "-c", program, str(kb_path)],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        port = int(process.stdout.readline().rpartition(":")[2])
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=10)
        assert post(connection, QUERY)[0].status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)
    finally:
        process.kill()
        process.communicate()
    assert errors == ""
