"""What a misbehaving service does with a connection, and the bytes that it sends."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Final

from knowledge_rag.evaluation.faults.server import PATIENCE_SECONDS

if TYPE_CHECKING:
    import ssl

    from knowledge_rag.evaluation.faults.server import RawServer, Script

REQUEST_ID: Final = "11111111-2222-3333-4444-555555555555"
"""The service's id of every request."""


def http(
    body: bytes | str | object = b"",
    status: str = "200 OK",
    *,
    content_type: str = "application/json",
    length: int | None = None,
    headers: tuple[str, ...] = (),
) -> bytes:
    """Give the bytes of a response; what is neither bytes nor text goes as JSON.

    Args:
        body: NaN and Infinity are written as such, as Python's JSON does.
        status: code and phrase.
        content_type: as announced.
        length: to announce another length than the body has.
        headers: further lines.
    """
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body) if length is None else length}",
        f"x-amzn-requestid: {REQUEST_ID}",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def answering(*responses: bytes) -> Script:
    """Answer each request, on any connection, with the next response, then the last one for ever."""
    queue = list(responses)

    def script(sock: socket.socket, server: RawServer) -> None:
        while True:
            server.read_request(sock)
            sock.sendall(queue.pop(0) if len(queue) > 1 else queue[0])

    return script


def sending(data: bytes) -> Script:
    """Send ``data`` whatever the request was, then close without having said so."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(data)

    return script


def silent(sock: socket.socket, server: RawServer) -> None:
    """Read the request and never answer."""
    server.read_request(sock)
    _wait(server)


def mute(_sock: socket.socket, server: RawServer) -> None:
    """Accept, and neither read nor write."""
    _wait(server)


def dripping(response: bytes, *, at_once: int, seconds: float = 0.3) -> Script:
    """Send ``at_once`` bytes, then one byte each ``seconds``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(response[:at_once])
        for index in range(at_once, len(response)):
            if server.stopping.wait(seconds):
                return
            sock.sendall(response[index : index + 1])

    return script


def paced(response: bytes, *, seconds: float, parts: int = 20) -> Script:
    """Send ``response`` in equal parts, so that it is complete after ``seconds``."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        step = len(response) // parts + 1
        for start in range(0, len(response), step):
            sock.sendall(response[start : start + step])
            server.stopping.wait(seconds / parts)

    return script


def resetting(sock: socket.socket, server: RawServer) -> None:
    """Reset the connection in place of an answer."""
    server.read_request(sock)
    reset(sock)


def reset(sock: socket.socket) -> None:
    """Close a connection so that the peer gets a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


def secured(script: Script, tls: ssl.SSLContext) -> Script:
    """Play a script over TLS, on a server whose other connections may be plain."""

    def over_tls(sock: socket.socket, server: RawServer) -> None:
        with tls.wrap_socket(sock, server_side=True) as wrapped:
            script(wrapped, server)

    return over_tls


def _wait(server: RawServer) -> None:
    server.stopping.wait(PATIENCE_SECONDS)
