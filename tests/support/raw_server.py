"""A real server on loopback that answers byte for byte what a test tells it to, and no more.

Each connection is handed to a *script*: a function that gets the accepted socket and does with it
whatever the fault is. Scripts are queued; the last one stays for all later connections.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

Script = Callable[[socket.socket, "RawServer"], None]


class RawServer:
    """Listens on a free port of 127.0.0.1; close it when done.

    Attributes:
        connections: how many connections were accepted.
        requests: the requests read so far, head and body each.
    """

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self._scripts = list(scripts)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.stopping = threading.Event()
        self.connections = 0
        self.requests: list[tuple[bytes, bytes]] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}" if self._tls else f"http://127.0.0.1:{self.port}"

    def then(self, *scripts: Script) -> None:
        """Replace what is still queued."""
        self._scripts[:] = scripts

    def close(self) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._accepted:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        for thread in self._threads:
            thread.join(5)
        for sock in self._accepted:
            sock.close()

    def _serve(self) -> None:
        while not self.stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._accepted.append(sock)
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            thread = threading.Thread(target=self._run, args=(script, sock), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _run(self, script: Script, sock: socket.socket) -> None:
        with contextlib.suppress(OSError), sock:
            sock.settimeout(10)
            if self._tls is None:
                script(sock, self)
                return
            with self._tls.wrap_socket(sock, server_side=True) as secured:
                script(secured, self)

    def read_request(self, sock: socket.socket) -> tuple[bytes, bytes]:
        """Read one request with its body; raises ConnectionError when the client has gone."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += _some(sock)
        head, body = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(body) < length:
            body += _some(sock)
        self.requests.append((head, body))
        return head, body


def _some(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


def http(
    body: bytes | str | object = b"",
    status: str = "200 OK",
    *,
    content_type: str = "application/json",
    length: int | None = None,
    headers: tuple[str, ...] = (),
) -> bytes:
    """Give the bytes of a response; ``length`` to announce another length than the body has."""
    if not isinstance(body, bytes | str):
        body = json.dumps(body)
    if isinstance(body, str):
        body = body.encode()
    head = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(body) if length is None else length}",
        "x-amzn-requestid: 11111111-2222-3333-4444-555555555555",
        *headers,
    ]
    return "\r\n".join([*head, "", ""]).encode() + body


def answering(*responses: bytes) -> Script:
    """Answer each request on the connection with the next response, then the last one for ever."""

    def script(sock: socket.socket, server: RawServer) -> None:
        queue = list(responses)
        while True:
            server.read_request(sock)
            sock.sendall(queue.pop(0) if len(queue) > 1 else queue[0])

    return script


def answering_once(response: bytes) -> Script:
    """Answer one request, then close the connection without having said so."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(response)

    return script


def silent(sock: socket.socket, server: RawServer) -> None:
    """Read the request and never answer."""
    server.read_request(sock)
    server.stopping.wait(10)


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


def sending(data: bytes) -> Script:
    """Send ``data`` whatever the request was, then close."""

    def script(sock: socket.socket, server: RawServer) -> None:
        server.read_request(sock)
        sock.sendall(data)

    return script


def resetting(sock: socket.socket, server: RawServer) -> None:
    """Reset the connection in place of an answer."""
    server.read_request(sock)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


@contextlib.contextmanager
def serving(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    server = RawServer(*scripts, tls=tls)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def unanswered_port() -> Iterator[int]:
    """Give a port on which a SYN gets no answer: its backlog is full and nobody accepts."""
    with socket.socket() as listener, contextlib.ExitStack() as waiting:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            sock = waiting.enter_context(socket.socket())
            sock.settimeout(0)
            sock.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]


def refused_port() -> int:
    """Give a port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
