from __future__ import annotations

import contextlib
import http.client
import json
import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from knowledge_rag.local import http_server
from knowledge_rag.local.bedrock.retrieve import KNOWLEDGE_BASE_ID
from knowledge_rag.local.bedrock.server import LocalBedrock, serve
from knowledge_rag.local.errors import ModelUnavailable, ServerFailed
from knowledge_rag.local.http_server import LOOPBACK
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import WordHashes
from tests.support.patience import longer

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
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
        yield connection
        connection.close()


def post(connection, body, path=PATH, **headers):
    data = body if isinstance(body, bytes) else json.dumps(body)
    connection.request("POST", path, data, {"Content-Type": "application/json", **headers})
    response = connection.getresponse()
    return response, response.read()


def test_one_connection_serves_many_requests_without_delay(opened):
    with LocalBedrock(opened) as bedrock:
        port = int(bedrock.endpoint_url.rpartition(":")[2])
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
        post(connection, QUERY)
        first = connection.sock
        for _ in range(20):
            response, body = post(connection, QUERY)
            assert response.status == 200
            assert json.loads(body)["retrievalResults"]
        assert connection.sock is first
        (served,) = bedrock._running._server.server_state.connections
        # with Nagle's algorithm on, each would wait 40 ms for the client's acknowledgement
        theirs = served.transport.get_extra_info("socket")
        assert theirs.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        connection.close()


def test_each_response_has_its_own_request_id(connection):
    ids = {post(connection, QUERY)[0].headers["x-amzn-RequestId"] for _ in range(3)}
    assert len(ids) == 3


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "FOO", "POST"])
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
        (b" " * 9_000_000, "Request body exceeds 1048576 bytes"),
        (b'{"x": NaN}', "Request body is not valid JSON"),
    ],
    ids=["empty", "cut", "not-utf8", "deep", "list", "string", "huge", "nan"],
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
    for host in ("runbooks.example.com", "localhost.example.com", "127.0.0.1@evil", ""):
        assert_refused(*post(connection, QUERY, Host=host))
    for host in ("localhost:8080", "LOCALHOST", "[::1]:80"):
        assert post(connection, QUERY, Host=host)[0].status == 200


def test_a_web_page_may_not_ask(connection):
    for origin in ("https://example.com", "null", "http://localhost.example.com", "file://"):
        assert_refused(*post(connection, QUERY, Origin=origin))
    for origin in ("http://localhost:3000", "http://127.0.0.1:8321", "http://[::1]:1"):
        assert post(connection, QUERY, Origin=origin)[0].status == 200


def assert_refused(response, body):
    assert response.status == 403
    assert response.headers["x-amzn-ErrorType"] == "AccessDeniedException"
    assert json.loads(body)["message"].endswith("not allowed")


def test_text_that_is_no_unicode_is_no_reason_to_fail(connection):
    response, _ = post(connection, b'{"retrievalQuery": {"text": "disk \\ud800 full"}}')
    assert response.status == 200


def test_a_defect_is_an_internal_server_error_that_tells_nothing(connection, opened, caplog):
    def broken(*_args, **_kwargs):
        raise RuntimeError("secret detail\nin two lines\x1b[2J")

    opened.search = broken
    with caplog.at_level(logging.ERROR):
        response, body = post(connection, QUERY)
    assert response.status == 500
    assert response.headers["x-amzn-ErrorType"] == "InternalServerException"
    assert json.loads(body) == {"message": "Internal server error"}
    (record,) = caplog.records
    assert record.getMessage().startswith(
        "local retrieve failed: RuntimeError: secret detail in two lines\\x1b[2J (broken, line "
    )
    assert record.exc_info is None
    assert "\n" not in record.getMessage()


def test_a_hundred_thousand_broken_constraints_are_answered_briefly(connection):
    response, body = post(connection, {**QUERY, **{f"x{n}": 1 for n in range(50_000)}})
    assert response.status == 400
    assert len(body) < 10_000


def raw(connection, data):
    """Send bytes as they are and give all that comes back until the server closes."""
    with socket.create_connection((LOOPBACK, connection.port), timeout=60) as client:
        client.sendall(data)
        answer = b""
        while part := client.recv(65536):
            answer += part
        return answer


HEAD = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\n".encode()
LENGTH = b"Content-Length: 20\r\nConnection: close\r\n\r\n"


def assert_service_error(answer, code):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert f"x-amzn-errortype: {code}".lower().encode() in head.lower()
    assert b"application/json" in head
    assert json.loads(body)["message"]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (HEAD.replace(b"/retrieve", b"%0A/retrieve") + LENGTH + b" " * 20, "ValidationException"),
        (HEAD.replace(b"POST ", b"POST http://localhost") + LENGTH, "UnknownOperationException"),
        (HEAD.replace(PATH.encode(), b"*") + LENGTH, "UnknownOperationException"),
        (HEAD.replace(PATH.encode(), b"/%0A") + LENGTH, "UnknownOperationException"),
        (b"nonsense\r\n\r\n", "ValidationException"),
        (HEAD.replace(b"Host", b"Toast") + LENGTH, "ValidationException"),
        (HEAD + b"x: " + b"y" * 20_000, "ValidationException"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "ValidationException"),
        (HEAD.replace(b"1.1", b"1.0").replace(b"Host", b"X") + LENGTH, "AccessDeniedException"),
    ],
    ids=["newline", "absolute", "star", "lone", "nonsense", "no-host", "long", "chunk", "http-1.0"],
)
def test_whatever_is_sent_is_answered_in_the_services_form(connection, data, code):
    assert_service_error(raw(connection, data), code)


@pytest.mark.parametrize(
    "part",
    [b"", b"PO", HEAD, HEAD + LENGTH, HEAD + LENGTH + b"{"],
    ids=["nothing", "method", "headers", "no-body", "half-a-body"],
)
def test_half_a_request_is_not_waited_for_for_ever(connection, monkeypatch, caplog, part):
    for seconds in longer(0.2):
        monkeypatch.setattr(http_server, "REQUEST_SECONDS", seconds)
        started, answer = time.monotonic(), b""
        with contextlib.suppress(ConnectionError):  # a busy machine sends it when its time is over
            answer = raw(connection, part)
        assert time.monotonic() - started > seconds / 2
        if answer or not part:
            break
    if part:
        assert_service_error(answer, "RequestTimeoutException")
    assert caplog.records == []


def test_a_connection_that_is_used_again_has_all_the_time_again(connection, monkeypatch):
    for seconds in longer(0.5):
        monkeypatch.setattr(http_server, "REQUEST_SECONDS", seconds)
        connection.close()
        with contextlib.suppress(ConnectionError):
            for _ in range(4):
                assert post(connection, QUERY)[0].status == 200
                time.sleep(0.4 * seconds)
            break
    else:
        pytest.fail("the second turn was never as long as the first")


def test_a_client_that_leaves_in_the_middle_is_no_news(connection, caplog):
    with socket.create_connection((LOOPBACK, connection.port)) as client:
        client.sendall(HEAD + LENGTH + b"{")
    assert post(connection, QUERY)[0].status == 200
    assert caplog.records == []


@pytest.mark.parametrize("part", [b"", HEAD, HEAD + LENGTH], ids=["nothing", "head", "no-body"])
def test_a_client_that_waits_longest_gives_way_to_a_new_one(connection, monkeypatch, part):
    monkeypatch.setattr(http_server.BoundedConnection, "max_connections", 3)
    with contextlib.ExitStack() as stack:
        address = (LOOPBACK, connection.port)
        slow = [stack.enter_context(socket.create_connection(address, 60)) for _ in range(3)]
        for client in slow:
            client.sendall(part)
        assert post(connection, QUERY)[0].status == 200
        with contextlib.suppress(ConnectionResetError):
            assert slow[0].recv(1) == b""


def test_a_request_that_is_being_answered_gives_way_to_nobody(connection, opened, monkeypatch):
    monkeypatch.setattr(http_server.BoundedConnection, "max_connections", 3)
    begun, go_on, search = threading.Semaphore(0), threading.Event(), opened.search

    def slow(*args, **kwargs):
        begun.release()
        assert go_on.wait(60)
        return search(*args, **kwargs)

    opened.search = slow
    whole = HEAD + f"Connection: close\r\n{as_body(QUERY)}".encode()
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(raw, connection, whole) for _ in range(3)]
        try:
            for _ in answers:
                assert begun.acquire(timeout=60)
            assert_service_error(raw(connection, whole), "ThrottlingException")
        finally:
            go_on.set()
        for answer in answers:
            assert b"retrievalResults" in answer.result()


def as_body(value):
    text = json.dumps(value)
    return f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"


def test_a_client_that_never_reads_is_not_waited_for_for_ever(opened, monkeypatch):
    monkeypatch.setattr(http_server, "RESPONSE_SECONDS", 0.2)
    listen = http_server.listening_on

    def listening_on(*where):
        listening = listen(*where)
        # a buffer that few answers fill: each takes the server's time
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return listening

    monkeypatch.setattr(http_server, "listening_on", listening_on)
    with LocalBedrock(opened) as bedrock, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect((LOOPBACK, int(bedrock.endpoint_url.rpartition(":")[2])))
        with pytest.raises(ConnectionError):
            send_for_ever(client, HEAD + as_body(QUERY).encode())


def send_for_ever(client, data):
    while True:
        client.sendall(data)


def test_a_taken_port_is_named(opened):
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerFailed, match=rf"127\.0\.0\.1:{port}: another process"):
            LocalBedrock(opened, port=port).__enter__()
    with pytest.raises(ServerFailed, match="can't listen on"):
        LocalBedrock(opened, port=99999).__enter__()


class NoModel(WordHashes):
    def embed(self, text):
        del text
        raise ModelUnavailable("which takes long to find out")


def test_a_taken_port_is_named_before_the_model_is_loaded(corpus, kb_path, hashes):
    ingest(corpus, kb_path, embedder=hashes)
    with (
        socket.create_server((LOOPBACK, 0)) as taken,
        KnowledgeBase(kb_path, NoModel()) as knowledge_base,
        pytest.raises(ServerFailed, match="another process uses this port"),
    ):
        serve(knowledge_base, port=taken.getsockname()[1])


def test_leaving_frees_the_port_and_ends_the_thread_even_with_a_connection_open(opened):
    with LocalBedrock(opened) as bedrock:
        port = int(bedrock.endpoint_url.rpartition(":")[2])
        connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
        post(connection, QUERY)
    assert "local-bedrock" not in {thread.name for thread in threading.enumerate()}
    with LocalBedrock(opened, port=port):
        pass
    connection.close()
