"""Rows: a kept connection that is no longer what it was; the caller must not notice."""

from __future__ import annotations

import io
import socket
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.items import item, retrieved
from knowledge_rag.evaluation.faults.model import Fault, Group, degrades
from knowledge_rag.evaluation.faults.scripts import answering, http, reset, sending, silent
from knowledge_rag.evaluation.faults.stage import HEALTHY, HEALTHY_ANSWER, healthy, over_tls, wire

if TYPE_CHECKING:
    from typing import Unpack

    from knowledge_rag.evaluation.faults.model import Details, Expected, Play
    from knowledge_rag.evaluation.faults.server import RawServer, Script

PAUSE_SECONDS: Final = 21.0
"""Longer than a connection is kept unused (``transport.MAX_IDLE_SECONDS``)."""

_READ_SECONDS: Final = 0.3

_ANOTHER: Final = http(retrieved(item("The answer to another question.", start=70)))

_SAYS_CLOSE: Final = HEALTHY.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


def _then(last: Script) -> Play:
    """Answer the first request, and meet the next one on the connection with ``last``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(HEALTHY)
        last(sock, server)

    return wire(script)


def _dies(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)


def _resets(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)
    reset(sock)


def _resets_within_answer(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)
    sock.sendall(HEALTHY[: len(HEALTHY) // 2])
    server.stopping.wait(_READ_SECONDS)  # a reset would take away what has not been read
    reset(sock)


def _half_closes(sock: socket.socket, server: RawServer) -> None:
    sock.shutdown(socket.SHUT_WR)
    server.stopping.wait(PAUSE_SECONDS)


def _speaks_unasked(sock: socket.socket, server: RawServer) -> None:
    sock.sendall(http("", "408 Request Timeout", headers=("Connection: close",)))
    server.stopping.wait(PAUSE_SECONDS)


def _answers_twice(sock: socket.socket, server: RawServer) -> None:
    """Send two answers as one TLS record, the first of which fills a reader's buffer exactly.

    What is left is then neither in that buffer nor to be seen at the socket.
    """
    server.read_request(sock)
    head, _, body = HEALTHY.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    blank = b"\r\n".join([*lines, b"Content-Length: %d", b"", b""])
    room = io.DEFAULT_BUFFER_SIZE - len(blank % io.DEFAULT_BUFFER_SIZE)
    sock.sendall(blank % room + body.ljust(room) + _ANOTHER)
    server.stopping.wait(PAUSE_SECONDS)


def _informs(sock: socket.socket, server: RawServer) -> None:
    while True:
        server.read_request(sock)
        for status in ("102 Processing", "103 Early Hints", "103 Early Hints"):
            sock.sendall(f"HTTP/1.1 {status}\r\nLink: </style.css>\r\n\r\n".encode())
            server.stopping.wait(0.05)
        sock.sendall(HEALTHY)


def _informs_only(sock: socket.socket, server: RawServer) -> None:
    server.read_request(sock)
    sock.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
    server.read_request(sock)  # never comes: this connection is not asked again
    sock.sendall(_ANOTHER)


def _row(
    name: str, what: str, play: Play, expected: Expected = HEALTHY_ANSWER, **more: Unpack[Details]
) -> Fault:
    more.setdefault("connections", 2)
    more["healthy_before"] = 1
    return Fault(name, Group.KEPT, what, play, expected, **more)


ROWS: Final = (
    _row(
        "pause",
        "21 s without a call; the network has forgotten the connection",
        _then(silent),
        pause_seconds=PAUSE_SECONDS,
    ),
    _row("kept", "no fault: five calls share a connection", healthy, calls=5, connections=1),
    _row("stale", "the peer closed it after the last answer", wire(sending(HEALTHY))),
    _row("stale-on-request", "it dies when the request comes", _then(_dies)),
    _row("reset-on-request", "it is reset when the request comes", _then(_resets)),
    _row("half-closed", "the peer has closed its own side only", _then(_half_closes)),
    _row(
        "unasked",
        "the peer sent a 408 that nobody asked for",
        _then(_speaks_unasked),
        pause_seconds=0.5,  # it is to be there before the next question, on a busy machine too
    ),
    _row(
        "answers-twice",
        "the peer sent a second answer behind the first, in the same TLS record",
        over_tls(_answers_twice),
    ),
    _row(
        "informed",
        "102 and 103 come before the answer, each by itself",
        _then(_informs),
        connections=1,
    ),
    _row(
        "informed-only",
        "a 103 and no answer; the answer to another question waits behind it",
        _then(_informs_only),
        degrades(Reason.TIMEOUT),
    ),
    _row("says-close", "each answer says Connection: close", wire(answering(_SAYS_CLOSE))),
    _row(
        "dies-within-answer",
        "it dies after half of an answer, which may not be asked for twice",
        _then(sending(HEALTHY[: len(HEALTHY) // 2])),
        degrades(Reason.MALFORMED_RESPONSE),
    ),
    _row(
        "reset-within-answer",
        "it is reset after half of an answer",
        _then(_resets_within_answer),
        degrades(Reason.UNAVAILABLE, "ConnectionResetError"),
    ),
    _row(
        "swallowed", "it takes the request and is silent", _then(silent), degrades(Reason.TIMEOUT)
    ),
)
