"""Bodies that are read while they arrive, under the one deadline and the one largest size."""

import http.client
import threading
from types import SimpleNamespace

import pytest

from knowledge_rag.core.net.connect import Connector
from knowledge_rag.core.net.deadline import MAX_RESPONSE_BYTES, Deadline
from knowledge_rag.core.net.dns import Resolver
from knowledge_rag.core.net.transport import LiveBody, Transport
from knowledge_rag.evaluation.faults.server import answering, sending, serving
from knowledge_rag.evaluation.faults.server import http as response

HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.fixture
def transport():
    transport = Transport(lambda endpoint: Connector(endpoint, Resolver()), live=True)
    yield transport
    transport.close()


def send(transport, server, seconds=60.0):
    request = SimpleNamespace(
        method="POST", url=f"{server.url}/x", headers={"Content-Length": "2"}, body=b"{}"
    )
    with Deadline.after(seconds).applied():
        return transport.send(request)


def test_a_piece_can_be_read_before_the_next_one_is_sent(transport):
    read = threading.Event()

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD + chunk(b"first"))
        assert read.wait(60)
        sock.sendall(chunk(b"second") + END)
        server.stopping.wait(60)

    with serving(script) as server:
        pieces = send(transport, server).raw.stream()
        assert next(pieces) == b"first"
        read.set()
        assert b"".join(pieces) == b"second"


def test_the_connection_is_used_again_behind_the_end_and_only_then(transport):
    whole = HEAD + chunk(b"{}") + END
    with serving(answering(whole), answering(whole)) as server:
        for _ in range(3):
            assert send(transport, server).raw.read() == b"{}"
        assert server.connections == 1
        left = send(transport, server).raw
        assert next(left.stream()) == b"{}"
        left.close()
        left.close()
        assert send(transport, server).raw.read() == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize(
    "data",
    [
        HEAD + chunk(b"first") + b"8\r\ncut",
        HEAD + chunk(b"first") + b"nonsense\r\n",
        HEAD + chunk(b"first") + b"-5\r\nabcde",
        HEAD + chunk(b"first") + b"-" + b"1" * 18 + b"\r\nabcde",
        HEAD + chunk(b"first"),
    ],
    ids=[
        "within a chunk",
        "no size",
        "a size below nothing",
        "one far below",
        "before the last chunk",
    ],
)
def test_a_body_that_is_cut_short_is_no_end(transport, data):
    with serving(sending(data), answering(response({}))) as server:
        pieces = send(transport, server).raw.stream()
        with pytest.raises((http.client.HTTPException, OSError)):
            list(pieces)
        assert send(transport, server).content == b"{}"
        assert server.connections == 2


def test_a_drip_outlasts_no_deadline(transport):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(HEAD)
        while not server.stopping.wait(0.02):
            sock.sendall(chunk(b"x"))

    with serving(script) as server, pytest.raises(TimeoutError):
        list(send(transport, server, seconds=0.3).raw.stream())  # a busy machine may read no head


def test_it_is_no_larger_than_any_body_may_be(transport):
    half = chunk(b"x" * (MAX_RESPONSE_BYTES // 2))
    with serving(sending(HEAD + half * 3 + END)) as server:
        pieces = send(transport, server).raw.stream()
        with pytest.raises(http.client.HTTPException):
            list(pieces)


@pytest.mark.parametrize(
    ("data", "connections"),
    [
        (response({}), 1),
        (response({}, "500 Oops"), 2),
        (b"HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"{}") + END, 2),
    ],
    ids=["of known length", "an error", "an error in chunks"],
)
def test_whatever_else_comes_is_read_to_its_end_at_once(transport, data, connections):
    with serving(answering(data)) as server:
        for _ in range(2):
            answer = send(transport, server)
            assert not isinstance(answer.raw, LiveBody)
            assert answer.content == b"{}"
        assert server.connections == connections
