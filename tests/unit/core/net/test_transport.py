import http.client
import io
import random
import socket
import threading
from types import SimpleNamespace

import pytest

from knowledge_rag.core.net import deadline as deadlines
from knowledge_rag.core.net import transport as transports
from knowledge_rag.core.net.connect import Connector, Proxy, tls_context
from knowledge_rag.core.net.deadline import MAX_RESPONSE_BYTES, Deadline, ResponseTooLarge
from knowledge_rag.core.net.dns import Resolver
from knowledge_rag.core.net.transport import (
    MAX_IDLE_CONNECTIONS,
    MAX_IDLE_SECONDS,
    LiveBody,
    Transport,
)
from knowledge_rag.evaluation.faults.server import (
    answering,
    resetting,
    self_signed,
    sending,
    serving,
    silent,
)
from knowledge_rag.evaluation.faults.server import http as response

OK = response({"answer": 1})
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def transport():
    transport = Transport(lambda endpoint: Connector(endpoint, Resolver()))
    yield transport
    transport.close()


@pytest.fixture
def live():
    transport = Transport(lambda endpoint: Connector(endpoint, Resolver()), live=True)
    yield transport
    transport.close()


@pytest.fixture
def least(monkeypatch):
    """Return a small limit on a response's size, which is reached fast."""
    for module in (deadlines, transports):
        monkeypatch.setattr(module, "MAX_RESPONSE_BYTES", 2**18)
    return 2**18


def request(server, path="/retrieve?x=1", body=b"{}"):
    return SimpleNamespace(
        method="POST",
        url=server.url + path,
        headers={"X-Test": b"bytes", "Content-Length": str(len(body or b""))},
        body=body,
    )


def send(transport, server, seconds=60.0, **kwargs):
    with Deadline.after(seconds).applied():
        return transport.send(request(server, **kwargs))


def test_it_sends_the_request_as_it_is_and_reads_the_answer(transport):
    with serving(answering(OK)) as server:
        answer = send(transport, server, body=b'{"q": 1}')
        assert (answer.status_code, answer.content) == (200, b'{"answer": 1}')
        assert answer.headers["X-AMZN-RequestId"].startswith("1111")
        head, body = server.requests[0]
    assert head.startswith(b"POST /retrieve?x=1 HTTP/1.1\r\n")
    assert b"Host: 127.0.0.1:%d" % server.port in head
    assert b"X-Test: bytes" in head
    assert body == b'{"q": 1}'


@pytest.mark.parametrize("body", [None, "text", bytearray(b"text")])
def test_bodies_of_other_types_are_sent(transport, body):
    with serving(answering(OK)) as server:
        send(transport, server, body=body)
        assert server.requests[0][1] == (b"text" if body else b"")


def test_a_body_that_could_not_be_sent_twice_is_refused(transport):
    with serving(answering(OK)) as server, pytest.raises(TypeError):
        transport.send(
            SimpleNamespace(method="POST", url=server.url, headers={}, body=iter([b"x"]))
        )


def test_a_connection_is_kept_after_a_response_read_to_its_end(transport):
    chunked = CHUNKED + b"2\r\n{}\r\n0\r\n\r\n"
    with serving(answering(OK, chunked, OK)) as server:
        assert [send(transport, server).content for _ in range(3)] == [
            b'{"answer": 1}', b"{}", b'{"answer": 1}',
        ]  # fmt: skip
        assert server.connections == 1


@pytest.mark.parametrize(
    "data",
    [
        response("{}", "500 Oops"),
        response("{}", "302 Elsewhere"),
        response("{}", headers=("Content-Length: 2",)),
        response("{}", headers=("Transfer-Encoding: gzip",)),
    ],
    ids=["no success", "elsewhere", "two lengths", "two framings"],
)
def test_a_connection_is_not_kept_after_anything_else(transport, data):
    with serving(answering(data), answering(OK)) as server:
        assert send(transport, server).content == b"{}"
        assert send(transport, server).content == b'{"answer": 1}'
        assert server.connections == 2


def interim(code):
    return b"HTTP/1.1 %d Wait\r\nLink: </style.css>; rel=preload\r\n\r\n" % code


def echoing(sock, server):
    """Answer each request with its own body behind interim responses, in pieces and with pauses."""
    dice = random.Random(server.connections)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        _, body = server.read_request(sock)
        codes = dice.choices([100, 102, 103, 199], k=dice.randrange(4))
        data = b"".join(map(interim, codes)) + response(body)
        cut = dice.randrange(1, len(data))
        sock.sendall(data[:cut])
        if dice.random() < 0.3:
            server.stopping.wait(0.002)
        sock.sendall(data[cut:] + (response(b"unasked") if dice.random() < 0.2 else b""))


def test_each_answer_is_the_answer_to_its_own_request_behind_interim_ones(transport):
    wrong = []

    def ask(first):
        for number in range(first, first + 100):
            answer = send(transport, server, body=b"%d" % number)
            if (answer.status_code, answer.content) != (200, b"%d" % number):
                wrong.append((number, answer.status_code, answer.content))

    with serving(echoing) as server:
        threads = [threading.Thread(target=ask, args=(1000 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        transport.close()
    assert not wrong
    assert len(server.requests) >= 800


def test_an_interim_response_without_a_final_one_waits_for_it_until_the_deadline(transport):
    given_up = threading.Event()

    def late(sock, server):
        server.read_request(sock)
        sock.sendall(interim(103))
        given_up.wait(60)
        sock.sendall(response("of another"))
        server.stopping.wait(60)

    with serving(late, answering(OK)) as server:
        with pytest.raises(TimeoutError):
            send(transport, server, seconds=0.2)
        given_up.set()
        assert send(transport, server).content == b'{"answer": 1}'


def test_another_protocol_is_no_answer(transport):
    with serving(sending(interim(101) + OK)) as server, pytest.raises(http.client.BadStatusLine):
        send(transport, server)


@pytest.mark.parametrize(
    "data",
    [response("{}", headers=("Connection: close",)), b"HTTP/1.1 200 OK\r\n\r\n{}"],
    ids=["said so", "no length"],
)
def test_a_connection_that_the_peer_ends_is_not_kept(transport, data):
    with serving(sending(data), answering(OK)) as server:
        assert send(transport, server).content == b"{}"
        send(transport, server)
        assert server.connections == 2


def test_a_connection_is_not_kept_longer_than_it_is_sure_to_live():
    now = [1000.0]
    transport = Transport(lambda endpoint: Connector(endpoint, Resolver()), lambda: now[0])
    with serving(answering(OK)) as server:
        send(transport, server)
        now[0] += MAX_IDLE_SECONDS - 1
        send(transport, server)
        assert server.connections == 1
        now[0] += MAX_IDLE_SECONDS + 1
        send(transport, server)
        now[0] -= 100  # a clock set back says nothing of the age
        send(transport, server)
        assert server.connections == 3
        transport.close()


def test_an_answer_that_nobody_asked_for_is_not_read_as_the_next_one(tmp_path):
    certificate = self_signed(tmp_path)
    first = b"HTTP/1.1 200 OK\r\nContent-Length: 8000\r\nPad: "
    first += b"x" * (io.DEFAULT_BUFFER_SIZE - len(first) - 4 - 8000) + b"\r\n\r\n" + b"1" * 8000

    def twice(sock, server):
        server.read_request(sock)
        sock.sendall(first + response("of another"))  # one TLS record
        server.stopping.wait(60)

    tls = tls_context(certificate.bundle)
    transport = Transport(lambda endpoint: Connector(endpoint, Resolver(), tls))
    with serving(twice, answering(OK), tls=certificate.tls) as server:
        assert send(transport, server).content == b"1" * 8000
        assert send(transport, server).content == b'{"answer": 1}'
        transport.close()


def test_a_kept_connection_is_not_used_by_a_forked_process(transport, monkeypatch):
    with serving(answering(OK)) as server:
        send(transport, server)
        monkeypatch.setattr("os.getpid", lambda: -1)  # as a child sees it
        send(transport, server)
        send(transport, server)
        assert server.connections == 2


def test_a_kept_connection_is_used_for_its_own_endpoint_only(transport):
    with serving(answering(OK)) as one, serving(answering(OK)) as two:
        send(transport, one)
        send(transport, two)
        assert (one.connections, two.connections) == (1, 1)


def test_a_kept_connection_that_died_is_replaced_once(transport):
    with serving(sending(OK), sending(OK), answering(OK)) as server:
        for _ in range(3):
            assert send(transport, server).status_code == 200
        assert server.connections == 3


def test_a_kept_connection_that_falls_silent_is_not_tried_again(transport):
    def once_then_silent(sock, server):
        server.read_request(sock)
        sock.sendall(OK)
        silent(sock, server)

    with serving(once_then_silent, answering(OK)) as server:
        send(transport, server)
        with pytest.raises(TimeoutError):
            send(transport, server, seconds=0.2)
        assert server.connections == 1


def test_a_kept_connection_that_broke_off_within_a_response_is_not_tried_again(transport):
    def once_then_half(sock, server):
        server.read_request(sock)
        sock.sendall(OK)
        server.read_request(sock)
        sock.sendall(OK[:30])
        resetting_now(sock)

    def resetting_now(sock):
        sock.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")  # SOL_SOCKET, SO_LINGER: close by a reset

    with serving(once_then_half, answering(OK)) as server:
        send(transport, server)
        with pytest.raises((OSError, http.client.HTTPException)):
            send(transport, server)
        assert server.connections == 1


def test_a_new_connection_that_dies_is_not_tried_again(transport):
    with serving(resetting, answering(OK)) as server:
        with pytest.raises(ConnectionResetError):
            send(transport, server)
        assert server.connections == 1


def test_a_body_shorter_than_announced_is_an_error_unless_the_status_already_is(transport):
    short = response("{", length=50)
    with serving(sending(short), sending(response("{", "503 Busy", length=50))) as server:
        with pytest.raises(http.client.IncompleteRead):
            send(transport, server)
        assert send(transport, server).status_code == 503


def test_a_body_has_a_largest_size(transport, least):
    announced = response(b"", length=least + 1)
    endless = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (least + 1)
    with serving(sending(announced), sending(endless)) as server:
        for _ in range(2):
            with pytest.raises(ResponseTooLarge):
                send(transport, server)


@pytest.mark.parametrize(
    "body",
    [
        b"-1\r\n{}",
        b"-5\r\n{}\r\n0\r\n\r\n",
        b"-" + b"1" * 18 + b"\r\n{}\r\n0\r\n\r\n",
        b"7FFFFFFFFFFFFFFF\r\n{}",
        b"F" * 40 + b"\r\n{}",
        b"0" * 70_000 + b"2\r\n{}\r\n0\r\n\r\n",
        b"2;" + b"x" * 70_000 + b"\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nx: " + b"y" * 70_000 + b"\r\n\r\n",
        b"two\r\n{}",
    ],
    ids=[
        "-1",
        "-5",
        "far below nothing",
        "huge",
        "huger",
        "long",
        "long extension",
        "long trailer",
        "no number",
    ],
)
def test_chunks_of_no_possible_size_are_an_incomplete_body(transport, body):
    with serving(sending(CHUNKED + body), answering(OK)) as server:
        with pytest.raises(http.client.IncompleteRead):
            send(transport, server)
        assert send(transport, server).status_code == 200
        assert server.connections == 2


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        (CHUNKED + b"-1\r\n", b"x" * 65_536),
        (CHUNKED + b"2\r\n{}\r\n0\r\n", b"x: y\r\n" * 9_000),
        (CHUNKED, b"1\r\n[\r\n" * 9_000),
        (b"HTTP/1.1 200 OK\r\n", b"x: " + b"y" * 65_000 + b"\r\n"),
        (b"", interim(100) * 2_000),
        (b"", interim(102) * 2_000),
    ],
    ids=["chunk of size -1", "trailers", "small chunks", "headers", "continues", "interim"],
)
def test_what_has_no_end_is_not_read_for_long(transport, least, head, unit):
    sent = []

    def endless(sock, server):
        server.read_request(sock)
        sock.sendall(head)
        while True:
            sock.sendall(unit)
            sent.append(len(unit))

    with serving(endless) as server, pytest.raises(ResponseTooLarge):
        send(transport, server)  # the size ends it, however busy the machine
    assert sum(sent) < 3 * least + 8_000_000  # what the kernel's buffers took


def test_of_an_error_without_end_the_status_counts(transport):
    endless = b"HTTP/1.1 503 Busy\r\n\r\n" + b"x" * (MAX_RESPONSE_BYTES + 1)
    with serving(sending(endless), answering(OK)) as server:
        assert send(transport, server).status_code == 503
        assert send(transport, server).status_code == 200
        assert server.connections == 2


def test_threads_never_share_a_connection_and_few_are_kept(transport):
    count = MAX_IDLE_CONNECTIONS + 3
    together = threading.Barrier(count)

    def meeting(sock, server):
        server.read_request(sock)
        together.wait(60)
        sock.sendall(OK)
        server.read_request(sock)
        sock.sendall(OK)

    answers = []
    with serving(meeting) as server:
        threads = [
            threading.Thread(target=lambda: answers.append(send(transport, server)))
            for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [a.status_code for a in answers] == [200] * count
        assert server.connections == count
        assert len(transport._idle) == MAX_IDLE_CONNECTIONS


def test_plain_http_goes_to_a_proxy_as_a_whole_url():
    with serving(answering(OK)) as proxy:
        transport = Transport(
            lambda endpoint: Connector(
                endpoint, Resolver(), proxy=Proxy("127.0.0.1", proxy.port, "Basic eHl6")
            )
        )
        with Deadline.after(60).applied():
            transport.send(
                SimpleNamespace(method="POST", url="http://kb.example:8080/a", headers={}, body=b"")
            )
        transport.close()
        head = proxy.requests[0][0]
    assert head.startswith(b"POST http://kb.example:8080/a HTTP/1.1\r\n")
    assert b"Host: kb.example:8080" in head
    assert b"Proxy-Authorization: Basic eHl6" in head


# bodies that are read while they arrive

END = b"0\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def test_a_piece_can_be_read_before_the_next_one_is_sent(live):
    read = threading.Event()

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(CHUNKED + chunk(b"first"))
        assert read.wait(60)
        sock.sendall(chunk(b"second") + END)
        server.stopping.wait(60)

    with serving(script) as server:
        pieces = send(live, server).raw.stream()
        assert next(pieces) == b"first"
        read.set()
        assert b"".join(pieces) == b"second"


def test_the_connection_is_used_again_behind_the_end_and_only_then(live):
    whole = CHUNKED + chunk(b"{}") + END
    with serving(answering(whole), answering(whole)) as server:
        for _ in range(3):
            assert send(live, server).raw.read() == b"{}"
        assert server.connections == 1
        left = send(live, server).raw
        assert next(left.stream()) == b"{}"
        left.close()
        left.close()
        assert send(live, server).raw.read() == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize(
    "data",
    [
        CHUNKED + chunk(b"first") + b"8\r\ncut",
        CHUNKED + chunk(b"first") + b"nonsense\r\n",
        CHUNKED + chunk(b"first") + b"-5\r\nabcde",
        CHUNKED + chunk(b"first") + b"-" + b"1" * 18 + b"\r\nabcde",
        CHUNKED + chunk(b"first"),
    ],
    ids=["within a chunk", "no size", "below nothing", "far below", "before the last chunk"],
)
def test_a_body_that_is_cut_short_is_no_end(live, data):
    with serving(sending(data), answering(response({}))) as server:
        pieces = send(live, server).raw.stream()
        with pytest.raises((http.client.HTTPException, OSError)):
            list(pieces)
        assert send(live, server).content == b"{}"
        assert server.connections == 2


def test_a_drip_outlasts_no_deadline(live):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(CHUNKED)
        while not server.stopping.wait(0.02):
            sock.sendall(chunk(b"x"))

    with serving(script) as server, pytest.raises(TimeoutError):
        list(send(live, server, seconds=0.3).raw.stream())  # a busy machine may read no head


def test_it_is_no_larger_than_any_body_may_be(live, least):
    half = chunk(b"x" * (least // 2))
    with serving(sending(CHUNKED + half * 3 + END)) as server:
        pieces = send(live, server).raw.stream()
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
def test_whatever_else_comes_is_read_to_its_end_at_once(live, data, connections):
    with serving(answering(data)) as server:
        for _ in range(2):
            answer = send(live, server)
            assert not isinstance(answer.raw, LiveBody)
            assert answer.content == b"{}"
        assert server.connections == connections
