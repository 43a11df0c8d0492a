"""Rows: no connection, a broken one, a slow service, a kept connection that went bad."""

from __future__ import annotations

import io
import socket
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.payloads import item, retrieved
from knowledge_rag.evaluation.faults.scenario import (
    BUNDLE,
    ENDPOINT,
    HEALTHY,
    HEALTHY_ANSWER,
    Fault,
    Group,
    degrades,
    healthy,
    over_tls,
    wire,
)
from knowledge_rag.evaluation.faults.server import (
    answering,
    dripping,
    http,
    mute,
    refused_port,
    resetting,
    secured,
    self_signed,
    sending,
    silent,
    unanswered_port,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from knowledge_rag.evaluation.faults.scenario import Scenario, SetUp
    from knowledge_rag.evaluation.faults.server import RawServer, Script

PAUSE_SECONDS: Final = 21.0
"""Longer than an unused connection is kept (``transport.MAX_IDLE_SECONDS``)."""

_HOST: Final = "kb.game-day.test"
"""The ``test`` domain is reserved (RFC 6761): no real resolver knows it."""
_REPLACED: Final = "socket.getaddrinfo replaced"

_UNAVAILABLE: Final = degrades(Reason.UNAVAILABLE)
_TIMEOUT: Final = degrades(Reason.TIMEOUT)
_WRONG_CERTIFICATE: Final = degrades(Reason.UNAVAILABLE, "SSLCertVerificationError")
_DRIPPING_BODY: Final = dripping(HEALTHY, at_once=300)
_ANOTHER: Final = http(retrieved(item("The answer to another question.", start=70)))


def _occupied(occupied: Callable[[], AbstractContextManager[int]]) -> SetUp:
    """Connect to an unserved port until a healthy server takes it over."""

    def set_up(scenario: Scenario) -> None:
        port = scenario.exit.enter_context(occupied())
        scenario.environment[ENDPOINT] = f"http://127.0.0.1:{port}"

        def serve() -> None:
            scenario.exit.pop_all().close()
            scenario.serve(port=port)

        scenario.mend = serve

    return set_up


def _names(*, fail: bool = False, seconds: float = 0.0) -> SetUp:
    """Replace ``socket.getaddrinfo``, which only queries port 53, until the fault is over."""

    def set_up(scenario: Scenario) -> None:
        real: Any = socket.getaddrinfo
        is_mended = False

        def lookup(host: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - getaddrinfo's own
            if host != _HOST or kwargs.get("flags"):  # an address needs no lookup
                return real(host, *args, **kwargs)
            if not is_mended:
                time.sleep(seconds)
                if fail:
                    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            return real("127.0.0.1", *args, **kwargs)

        def mend() -> None:
            nonlocal is_mended
            is_mended = True

        socket.getaddrinfo = lookup
        scenario.exit.callback(setattr, socket, "getaddrinfo", real)
        scenario.environment[ENDPOINT] = f"http://{_HOST}:{scenario.serve().port}"
        scenario.mend = mend

    return set_up


def _over_https(scenario: Scenario, first: Script, tls: ssl.SSLContext) -> None:
    server = scenario.serve(first, then=secured(answering(HEALTHY), tls))
    scenario.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _plain_port(first: Script) -> SetUp:
    def set_up(scenario: Scenario) -> None:
        _over_https(scenario, first, scenario.trusted().tls)

    return set_up


def _speak_first(sock: socket.socket, _server: RawServer) -> None:
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _unknown_certificate(scenario: Scenario) -> None:
    good = scenario.trusted()
    folder = scenario.folder / "stranger"
    folder.mkdir()
    _over_https(scenario, secured(answering(HEALTHY), self_signed(folder).tls), good.tls)


def _another_host(scenario: Scenario) -> None:
    good = scenario.trusted()
    other = self_signed(scenario.folder, "other.example")
    both = scenario.folder / "both.pem"
    both.write_text("".join(Path(each.bundle).read_text() for each in (good, other)))
    scenario.environment[BUNDLE] = str(both)
    _over_https(scenario, secured(answering(HEALTHY), other.tls), good.tls)


_connection = partial(Fault, group=Group.CONNECTIONS)

CONNECTIONS: Final = (
    _connection("refused", "nothing listens on the port", _occupied(refused_port), _UNAVAILABLE),
    _connection("syn-unanswered", "the SYN gets no answer", _occupied(unanswered_port), _TIMEOUT),
    _connection("dns-failure", "the name does not resolve", _names(fail=True), _UNAVAILABLE,
        hook=_REPLACED),
    _connection("dns-slow", "the name resolves after 4 s", _names(seconds=4.0), _TIMEOUT,
        hook=_REPLACED),
    _connection("reset", "reset instead of an answer", wire(resetting), _UNAVAILABLE,
        connections=2),
    _connection("garbage", "bytes that are not HTTP", wire(sending(b"\x00\xffSSH-2.0\r\n\r\n")),
        _UNAVAILABLE, connections=2),
    _connection("tls-to-plain-mute", "TLS to a port that does not respond to it", _plain_port(mute),
        _TIMEOUT),
    _connection("tls-to-plain", "TLS to a port that speaks plain HTTP", _plain_port(_speak_first),
        _UNAVAILABLE),
    _connection("certificate-unknown", "an untrusted certificate", _unknown_certificate,
        _WRONG_CERTIFICATE),
    _connection("certificate-other-host", "a certificate for another host", _another_host,
        _WRONG_CERTIFICATE),
)  # fmt: skip

_slow = partial(Fault, expected=_TIMEOUT, group=Group.SLOWNESS)

SLOWNESS: Final = (
    _slow("six-drips", "six bodies that drip, one after another", wire(*[_DRIPPING_BODY] * 6),
        calls=6, connections=7),
    _slow("silent", "accepts, never answers", wire(silent), connections=2),
    _slow("drip-body", "the body drips, a byte every 0.3 s", wire(_DRIPPING_BODY), connections=2),
    _slow("drip-headers", "the headers drip", wire(dripping(HEALTHY, at_once=20)), connections=2),
    _slow("drip-body-tls", "the body drips, under TLS", over_tls(_DRIPPING_BODY), connections=2),
)  # fmt: skip


def _then(last: Script) -> SetUp:
    """Answer the first request, and handle the next one on the connection with ``last``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(HEALTHY)
        last(sock, server)

    return wire(script)


def _dies(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)


def _speaks_unasked(sock: socket.socket, server: RawServer) -> None:
    sock.sendall(http("", "408 Request Timeout", headers=("Connection: close",)))
    server.stopping.wait(PAUSE_SECONDS)


def _answers_twice(sock: socket.socket, server: RawServer) -> None:
    """Send two answers as one TLS record, the first of which fills a reader's buffer exactly.

    The rest is then neither in that buffer nor visible at the socket.
    """
    server.read_request(sock)
    head, _, body = HEALTHY.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    blank = b"\r\n".join([*lines, b"Content-Length: %d", b"", b""])
    room = io.DEFAULT_BUFFER_SIZE - len(blank % io.DEFAULT_BUFFER_SIZE)
    sock.sendall(blank % room + body.ljust(room) + _ANOTHER)
    server.stopping.wait(PAUSE_SECONDS)


_reused = partial(
    Fault, expected=HEALTHY_ANSWER, group=Group.REUSED, healthy_before=1, connections=2
)

REUSED: Final = (
    _reused("pause", "21 s without a call; the network has forgotten the connection", _then(silent),
        pause_seconds=PAUSE_SECONDS),
    _reused("kept", "no fault: five calls share a connection", healthy, calls=5, connections=1),
    _reused("stale", "the peer closed it after the last answer", wire(sending(HEALTHY))),
    _reused("stale-on-request", "it dies when the request comes", _then(_dies)),
    _reused(
        "unasked",
        "the peer sent an unrequested 408",
        _then(_speaks_unasked),
        pause_seconds=0.5,  # it has to arrive before the next question, on a busy machine too
    ),
    _reused("answers-twice",
        "the peer sent a second answer after the first, in the same TLS record",
        over_tls(_answers_twice)),
    _reused("dies-within-answer", "it dies after half an answer, and may not be retried",
        _then(sending(HEALTHY[: len(HEALTHY) // 2])), expected=degrades(Reason.MALFORMED_RESPONSE)),
)  # fmt: skip
