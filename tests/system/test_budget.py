"""Every answer lands within 2.0 s of wall time, whatever the service does, and the next is healthy.

The handler, botocore and the sockets are the real ones; only the service is a loopback server that
misbehaves byte by byte.
"""

import socket
import threading
import time

import pytest

from knowledge_rag.core.deadline import RETRIEVAL_BUDGET_SECONDS
from tests.support.bedrock import item, retrieved
from tests.support.fixtures import invoke
from tests.support.raw_server import (
    answering,
    answering_once,
    dripping,
    http,
    paced,
    refused_port,
    resetting,
    sending,
    silent,
    unanswered_port,
)
from tests.support.tls import server_context

EVENT = {"query": "how do we fail over the database?"}
HEALTHY = http(retrieved(item(), item(start=40)))
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def error(status, code=None, **body):
    return sending(http({"__type": code, **body} if code else body, status))


FAULTS = {
    "silent": (silent, "timeout"),
    "body dripping": (dripping(HEALTHY, at_once=300), "timeout"),
    "headers dripping": (dripping(HEALTHY, at_once=20), "timeout"),
    "status line dripping": (dripping(HEALTHY, at_once=0), "timeout"),
    "chunks dripping": (dripping(CHUNKED + b"1\r\n{\r\n" * 99, at_once=50), "timeout"),
    "error body dripping": (dripping(http("x" * 99, "500 Oops"), at_once=200), "timeout"),
    "continues without end": (dripping(b"HTTP/1.1 100 Continue\r\n\r\n" * 9, at_once=0), "timeout"),
    "reset": (resetting, "unavailable"),
    "closed without a byte": (sending(b""), "unavailable"),
    "garbage": (sending(b"\x00\xffSSH-2.0\r\n\r\n"), "unavailable"),
    "headers too long": (sending(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000), "unavailable"),
    "500": (error("500 Oops", "InternalServerException"), "unavailable"),
    "502 HTML": (sending(http("<html>", "502 Bad", content_type="text/html")), "unavailable"),
    "503 empty": (sending(http(b"", "503 Busy")), "unavailable"),
    "503 truncated": (sending(http("{", "503 Busy", length=99)), "unavailable"),
    "500 with a JSON list": (sending(http([1], "500 Oops")), "unavailable"),
    "500 with no UTF-8": (sending(http(b"\xff\xfe", "500 Oops")), "unavailable"),
    "409": (error("409 Conflict", "ConflictException"), "unavailable"),
    "424": (error("424 Failed", "DependencyFailedException"), "unavailable"),
    "429": (error("429 Slow", "ThrottlingException"), "throttled"),
    "429 to retry after 5 s": (
        sending(http("{}", "429 Slow", headers=("Retry-After: 5", "x-amz-retry-after: 5000"))),
        "throttled",
    ),
    "quota": (error("400 Bad", "ServiceQuotaExceededException"), "throttled"),
    "403": (error("403 No", "AccessDeniedException"), "access_denied"),
    "expired token": (error("403 No", "ExpiredTokenException"), "access_denied"),
    "404": (error("404 None", "ResourceNotFoundException"), "configuration"),
    "ValidationException": (error("400 Bad", "ValidationException"), "configuration"),
    "redirect": (
        sending(http("", "301 Moved", headers=("Location: http://127.0.0.1:9/",))),
        "configuration",
    ),
    "truncated 200": (sending(HEALTHY[:-40]), "malformed_response"),
    "truncated chunks": (sending(CHUNKED + b"ff\r\n{"), "malformed_response"),
    "empty 200": (sending(http(b"")), "malformed_response"),
    "{}": (sending(http({})), "malformed_response"),
    "null results": (sending(http({"retrievalResults": None})), "malformed_response"),
    "results an object": (sending(http({"retrievalResults": {}})), "malformed_response"),
    "a JSON list": (sending(http([])), "malformed_response"),
    "a JSON string": (sending(http('"text"')), "malformed_response"),
    "HTML": (sending(http("<html>hi</html>", content_type="text/html")), "malformed_response"),
    "not UTF-8": (sending(http(b'{"retrievalResults": ["\xff"]}')), "malformed_response"),
    "nested without end": (sending(http("[" * 100_000)), "malformed_response"),
    "too large": (sending(http(b"{", length=9 * 2**20)), "malformed_response"),
    "8 MB of numbers": (
        sending(http(b'{"retrievalResults":[' + b"0," * 4_000_000 + b"0]}")),
        "malformed_response",
    ),
    "2 MB of lists": (
        sending(http(b'{"retrievalResults":[' + b"[]," * 690_000 + b"[]]}")),
        "timeout",
    ),
    "objects until late": (
        paced(http(b'{"retrievalResults":[' + b"{}," * 450_000 + b"{}]}"), seconds=1.4),
        "timeout",
    ),
    "a chunk of size -1": (sending(CHUNKED + b"-1\r\n" + b"x" * 2**22), "malformed_response"),
    "a chunk of size -5": (sending(CHUNKED + b"-5\r\n{}"), "malformed_response"),
    "a long chunk size": (sending(CHUNKED + b"0" * 2**22), "malformed_response"),
    "trailers without end": (
        sending(CHUNKED + b"2\r\n{}\r\n0\r\n" + b"x: y\r\n" * 2**20),
        "malformed_response",
    ),
    "400 with a list for a code": (sending(http({"code": [1]}, "400 Bad")), "configuration"),
    "500 with a list for a code": (sending(http({"code": [1]}, "500 Oops")), "unavailable"),
    "500 without end": (
        sending(b"HTTP/1.1 500 Oops\r\n\r\n" + b"x" * 2**22),
        "unavailable",
    ),
    "a guardrail in a list": (
        sending(http(retrieved(item(), guardrailAction=["INTERVENED"]))),
        "guardrail",
    ),
}


@pytest.mark.parametrize(("script", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_degrades_within_the_budget_and_the_next_call_succeeds(
    knowledge_base, script, reason
):
    server = knowledge_base(script, answering(HEALTHY))
    elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer == {"results": [], "status": "degraded", "reason": reason}
    assert_one_error_is_told(invocation, reason)
    assert_healthy_at_once()
    assert server.connections == 2


@pytest.mark.parametrize("seconds", [0.0, 1.0])
@pytest.mark.parametrize(
    ("unit", "count"), [(b"0,", 1_000_000), (b"[],", 50_000), (b"{},", 50_000)]
)
def test_far_more_items_than_asked_for_are_not_looked_at(knowledge_base, unit, count, seconds):
    body = b'{"retrievalResults":[' + unit * count + unit[:-1] + b"]}"
    knowledge_base(paced(http(body), seconds=seconds), answering(HEALTHY))
    elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer["reason"] == "unverifiable_results"
    assert invocation.logs[0]["dropped"] == {"not_text": 100, "over_limit": count - 99}
    assert_healthy_at_once()


def test_a_refused_connection_degrades(aws_environment):
    use(aws_environment, f"http://127.0.0.1:{refused_port()}")
    elapsed, invocation = timed(EVENT)
    assert elapsed < 1
    assert invocation.answer["reason"] == "unavailable"


def test_an_unanswered_syn_degrades(aws_environment):
    with unanswered_port() as port:
        use(aws_environment, f"http://127.0.0.1:{port}")
        elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer["reason"] == "timeout"


def test_a_slow_resolver_degrades_and_a_healthy_one_is_used_at_once(
    knowledge_base, aws_environment, monkeypatch
):
    server = knowledge_base(answering(HEALTHY))
    use(aws_environment, f"http://kb.invalid:{server.port}")
    stuck = threading.Event()
    real = socket.getaddrinfo

    def slow(host, port, *args, **kwargs):
        if kwargs.get("flags"):
            return real(host, port, *args, **kwargs)
        stuck.wait(4)
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer["reason"] == "timeout"
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, port, *a, **k: real(
            "127.0.0.1" if not k.get("flags") else host, port, *a, **k
        ),
    )
    assert_healthy_at_once()
    stuck.set()


def test_a_name_that_does_not_exist_degrades(aws_environment, monkeypatch):
    def unknown(*_args, **_kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    use(aws_environment, "http://kb.invalid:80")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    elapsed, invocation = timed(EVENT)
    assert elapsed < 1
    assert invocation.answer["reason"] == "unavailable"


def test_a_stale_kept_connection_is_replaced_unnoticed(knowledge_base):
    server = knowledge_base(answering_once(HEALTHY), answering(HEALTHY))
    assert_healthy_at_once()
    time.sleep(0.05)
    assert_healthy_at_once()
    assert server.connections == 2


def test_a_kept_connection_that_dies_on_the_request_is_tried_again_once(knowledge_base):
    def dies_on_the_second(sock, server):
        server.read_request(sock)
        sock.sendall(HEALTHY)
        server.read_request(sock)

    server = knowledge_base(dies_on_the_second, answering(HEALTHY))
    assert_healthy_at_once()
    assert_healthy_at_once()
    assert server.connections == 2
    assert len(server.requests) == 3


def test_a_new_connection_that_dies_is_not_tried_again(knowledge_base):
    server = knowledge_base(sending(b""), answering(HEALTHY))
    assert invoke(EVENT).answer["reason"] == "unavailable"
    assert server.connections == 1


def test_six_drips_in_a_row_leave_the_seventh_call_fast_and_nothing_behind(
    knowledge_base, aws_environment
):
    aws_environment.setenv("DEADLINE_SECONDS", "0.6")
    drip = dripping(HEALTHY, at_once=300, seconds=0.1)
    server = knowledge_base(*[drip] * 6, answering(HEALTHY))
    threads = client_threads()
    for _ in range(6):
        elapsed, invocation = timed(EVENT)
        assert elapsed < 1.2
        assert invocation.answer["reason"] == "timeout"
    assert_healthy_at_once()
    assert server.connections == 7
    assert client_threads() == threads


def test_healthy_calls_share_one_connection(knowledge_base):
    server = knowledge_base(answering(HEALTHY))
    for _ in range(5):
        assert_healthy_at_once()
    assert server.connections == 1


def test_the_budget_holds_under_tls(knowledge_base, aws_environment, tmp_path):
    context, bundle = server_context(tmp_path)
    aws_environment.setenv("AWS_CA_BUNDLE", bundle)
    knowledge_base(
        silent,
        dripping(HEALTHY, at_once=200),
        sending(HEALTHY[:-9]),
        answering(HEALTHY),
        tls=context,
    )
    for reason in ("timeout", "timeout", "malformed_response"):
        elapsed, invocation = timed(EVENT)
        assert elapsed <= RETRIEVAL_BUDGET_SECONDS
        assert invocation.answer["reason"] == reason
    assert_healthy_at_once()
    assert_healthy_at_once()


def test_tls_to_a_plain_port_degrades(knowledge_base, aws_environment):
    server = knowledge_base(silent)
    use(aws_environment, f"https://127.0.0.1:{server.port}")
    elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer["reason"] == "timeout"


def test_a_certificate_that_nobody_vouches_for_degrades(knowledge_base, tmp_path):
    context, _ = server_context(tmp_path)
    knowledge_base(answering(HEALTHY), tls=context)
    elapsed, invocation = timed(EVENT)
    assert elapsed <= RETRIEVAL_BUDGET_SECONDS
    assert invocation.answer["reason"] == "unavailable"
    assert invocation.logs[-1]["code"] == "SSLCertVerificationError"


def test_a_certificate_for_another_host_degrades(knowledge_base, aws_environment, tmp_path):
    context, bundle = server_context(tmp_path, "other.example")
    aws_environment.setenv("AWS_CA_BUNDLE", bundle)
    knowledge_base(answering(HEALTHY), tls=context)
    invocation = invoke(EVENT)
    assert invocation.logs[-1]["code"] == "SSLCertVerificationError"


def use(environment, url):
    environment.setenv("AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME", url)


def client_threads():
    return {t.name for t in threading.enumerate() if t.name == "dns"}


def timed(event):
    started = time.perf_counter()
    invocation = invoke(event)
    return time.perf_counter() - started, invocation


def assert_healthy_at_once():
    elapsed, invocation = timed(EVENT)
    assert invocation.answer["status"] == "ok"
    assert len(invocation.answer["results"]) == 2
    assert elapsed < 0.5


def assert_one_error_is_told(invocation, reason):
    (log,) = invocation.logs
    assert (log["level"], log["reason"]) == ("ERROR", reason)
    assert log["code"]
    assert EVENT["query"] not in invocation.output
    (metrics,) = invocation.metrics
    assert metrics["KnowledgeRetrievalErrors"] == [1.0]
    assert metrics["KnowledgeRetrievalTimeouts"] == [float(reason == "timeout")]
    permanent = reason in ("access_denied", "configuration")
    assert metrics["KnowledgeRetrievalPermanentErrors"] == [float(permanent)]
    assert "KnowledgeRetrievalLatency" not in metrics
