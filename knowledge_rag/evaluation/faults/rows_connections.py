"""Rows: no connection comes about, or it breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.outcome import Reason
from knowledge_rag.evaluation.faults.certificates import self_signed
from knowledge_rag.evaluation.faults.dns_server import Names
from knowledge_rag.evaluation.faults.model import Fault, Group, degrades
from knowledge_rag.evaluation.faults.names import resolver
from knowledge_rag.evaluation.faults.ports import refused_port, unanswered_port
from knowledge_rag.evaluation.faults.scripts import (
    answering,
    mute,
    resetting,
    secured,
    sending,
)
from knowledge_rag.evaluation.faults.stage import BUNDLE, ENDPOINT, HEALTHY, wire

if TYPE_CHECKING:
    import socket
    from contextlib import AbstractContextManager
    from typing import Unpack

    from knowledge_rag.evaluation.faults.model import Details, Expected, Play
    from knowledge_rag.evaluation.faults.server import RawServer
    from knowledge_rag.evaluation.faults.stage import Stage

_SLOW_SECONDS: Final = 4.0
"""As FAULTS has it: about what a resolver takes to give up on a dead server and ask the next."""


def _refused(stage: Stage) -> None:
    _held(stage, refused_port())


def _unanswered(stage: Stage) -> None:
    _held(stage, unanswered_port())


def _held(stage: Stage, holding: AbstractContextManager[int]) -> None:
    """Ask at a port that is held by somebody who serves nothing, until a server takes his place."""
    port = stage.exit.enter_context(holding)
    stage.environment[ENDPOINT] = f"http://127.0.0.1:{port}"

    def serve() -> None:
        stage.exit.pop_all().close()
        stage.serve(port=port)

    stage.mend = serve


def _no_such_name(stage: Stage) -> None:
    names = resolver(stage)
    names.names = Names.NONE
    stage.mend = lambda: setattr(names, "names", Names.LOOPBACK)


def _slow_names(stage: Stage) -> None:
    names = resolver(stage)
    names.seconds = _SLOW_SECONDS
    stage.mend = lambda: setattr(names, "seconds", 0.0)


def _plain_port(stage: Stage) -> None:
    tls = stage.trusted().tls
    server = stage.serve(mute, then=secured(answering(HEALTHY), tls))
    stage.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _not_tls(stage: Stage) -> None:
    tls = stage.trusted().tls
    server = stage.serve(_speak_first, then=secured(answering(HEALTHY), tls))
    stage.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _speak_first(sock: socket.socket, _server: RawServer) -> None:
    sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def _unvouched(stage: Stage) -> None:
    good = stage.trusted()
    folder = stage.folder / "stranger"
    folder.mkdir()
    stranger = self_signed(folder).tls
    server = stage.serve(
        secured(answering(HEALTHY), stranger), then=secured(answering(HEALTHY), good.tls)
    )
    stage.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _another_host(stage: Stage) -> None:
    good = stage.trusted()
    other = self_signed(stage.folder, "other.example")
    both = stage.folder / "both.pem"
    both.write_text("".join(Path(c.bundle).read_text() for c in (good, other)))
    stage.environment[BUNDLE] = str(both)
    server = stage.serve(
        secured(answering(HEALTHY), other.tls), then=secured(answering(HEALTHY), good.tls)
    )
    stage.environment[ENDPOINT] = f"https://localhost:{server.port}"


def _row(name: str, what: str, play: Play, expected: Expected, **more: Unpack[Details]) -> Fault:
    return Fault(name, Group.CONNECTIONS, what, play, expected, **more)


_UNAVAILABLE: Final = degrades(Reason.UNAVAILABLE)

ROWS: Final = (
    _row("refused", "nobody listens at the port", _refused, _UNAVAILABLE),
    _row("syn-unanswered", "the SYN gets no answer", _unanswered, degrades(Reason.TIMEOUT)),
    _row("dns-failure", "the name does not resolve", _no_such_name, _UNAVAILABLE, own_network=True),
    _row(
        "dns-slow",
        "the name resolves after 4 s",
        _slow_names,
        degrades(Reason.TIMEOUT),
        own_network=True,
    ),
    _row("reset", "reset in place of an answer", wire(resetting), _UNAVAILABLE, connections=2),
    _row("closed", "closed without a byte", wire(sending(b"")), _UNAVAILABLE, connections=2),
    _row(
        "garbage",
        "bytes that are no HTTP",
        wire(sending(b"\x00\xffSSH-2.0\r\n\r\n")),
        _UNAVAILABLE,
        connections=2,
    ),
    _row(
        "header-too-long",
        "a header line of 70,000 bytes",
        wire(sending(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000)),
        _UNAVAILABLE,
        connections=2,
    ),
    _row(
        "tls-to-plain-mute",
        "TLS to a port that does not answer it",
        _plain_port,
        degrades(Reason.TIMEOUT),
    ),
    _row("tls-to-plain", "TLS to a port that speaks plain HTTP", _not_tls, _UNAVAILABLE),
    _row(
        "certificate-unknown",
        "a certificate that nobody vouches for",
        _unvouched,
        degrades(Reason.UNAVAILABLE, "SSLCertVerificationError"),
    ),
    _row(
        "certificate-other-host",
        "a certificate for another host",
        _another_host,
        degrades(Reason.UNAVAILABLE, "SSLCertVerificationError"),
    ),
)
